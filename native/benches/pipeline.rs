//! Reading, decoding and augmenting pictures beside PyTorch's DataLoader on the same machine in one run:
//! `cargo bench --bench pipeline [-- PYTHON [VIEWS [PICTURES [SIDE]]]]`; 2048 pictures by default, kept with a side of 500
//! pixels, as `imagenet-100` keeps them. VIEWS selects the views whose names contain it: `du` (crop, flip, jitter, grey),
//! `simclr-imagenet` (bicubic crop, and a blur of 23 pixels too).
//!
//! The pictures are made, since no photographs come with this code: noise with the spectrum of photographs, 500 x 375 pixels,
//! JPEG of quality 90, which has the size and the bytes of ImageNet's mean picture. Decoding is measured first, on one core and
//! without keeping a picture. Then our side is `simile data measure`, the code of a training run without its network: it decodes
//! every picture once, squeezed to SIDE x SIDE pixels, into a file, then reads it from there and makes two views of 224 x 224
//! pixels on the device. PyTorch decodes in every epoch, by Pillow or by torchvision, whichever is faster here; two workers
//! apply torchvision's transforms v2 for the same views. Both get two processor cores and run in turn. PYTHON names an
//! interpreter with torch, torchvision and numpy.
#![allow(missing_docs, clippy::print_stdout)]

#[path = "../src/allocator.rs"]
mod allocator;
#[path = "peer/process.rs"]
mod process;

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Value, json};
use simile_core::augment::preprocess::squeeze;
use simile_core::data::formats::picture::decode;

use process::Peer;

const CLASSES: usize = 8;
const VIEWS: [&str; 2] = ["du", "simclr-imagenet"];
/// Side of the views.
const SIZE: usize = 224;
const BATCH: usize = 128;
const THREADS: &str = "2";
const ROUNDS: usize = 3;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> Result<()> {
    allocator::keep_freed_memory();
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    let python = arguments.first().map_or("python3", String::as_str);
    let filter = arguments.get(1).map_or("", String::as_str);
    let pictures: usize = arguments.get(2).map_or(Ok(2048), |count| count.parse())?;
    let side: usize = arguments.get(3).map_or(Ok(500), |side| side.parse())?;
    let selected: Vec<&str> = VIEWS.into_iter().filter(|name| name.contains(filter)).collect();
    if selected.is_empty() {
        bail!("no views are named `{filter}`; there are {}", VIEWS.join(" and "));
    }
    ensure!(pictures >= 4 * BATCH, "at least {} pictures are needed", 4 * BATCH);
    let place = tempfile::tempdir()?;
    let mut peer = Peer::start(python, "pipeline/pipeline.py", "torch, torchvision and numpy")?;
    let folder = place.path().join("pictures");
    let description =
        peer.ask(&json!({ "task": "make", "folder": folder, "pictures": pictures, "classes": CLASSES }))?;
    println!(
        "{pictures} JPEG files of {} x {} pixels, quality {}, {:.0} KB each\n",
        description["width"],
        description["height"],
        description["quality"],
        description["bytes"].as_f64().context("no bytes")? / 1e3
    );
    decoding(&mut peer, &folder, pictures, side)?;
    println!("\n| views | epoch | images/s | PyTorch's images/s | times as fast |\n|---|---|---|---|---|");
    for views in selected {
        epochs(&mut peer, place.path(), views, pictures, side)?;
    }
    Ok(())
}

/// Prints pictures a second of decoding and resizing on one thread.
fn decoding(peer: &mut Peer, folder: &Path, pictures: usize, side: usize) -> Result<()> {
    println!("| decoding and resizing, one core | pictures/s | ours / theirs |\n|---|---|---|");
    let files = files_of(&folder.join("train"))?;
    ensure!(files.len() == pictures, "{} of {pictures} pictures were made", files.len());
    let (mut ours, mut pillow, mut torchvision) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let began = Instant::now();
        for file in &files {
            black_box(squeeze(&decode(&std::fs::read(file)?)?, side, side, 3)?);
        }
        ours.push(pictures as f64 / began.elapsed().as_secs_f64());
        for (how, speeds) in [("pillow", &mut pillow), ("tensor", &mut torchvision)] {
            let answer = peer.ask(&json!({ "task": "decode", "how": how, "side": side }))?;
            speeds.push(pictures as f64 / seconds(&answer, "seconds")?);
        }
    }
    let ours = median(ours);
    println!("| simile | {ours:.0} | |");
    for (name, speeds) in [("Pillow", pillow), ("torchvision's decode_image and Resize", torchvision)] {
        let theirs = median(speeds);
        println!("| {name} | {theirs:.0} | {:.2} |", ours / theirs);
    }
    Ok(())
}

/// The files of the classes in a folder.
fn files_of(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for class in std::fs::read_dir(folder)? {
        for file in std::fs::read_dir(class?.path())? {
            files.push(file?.path());
        }
    }
    Ok(files)
}

/// Prints images a second of the first epoch, with decoding, and of a later one.
fn epochs(peer: &mut Peer, place: &Path, views: &str, pictures: usize, side: usize) -> Result<()> {
    let request = |how: &str, pictures: usize| {
        let sizes = json!({ "size": SIZE, "batch": BATCH, "pictures": pictures });
        let mut request = json!({ "task": "epochs", "how": how, "views": views });
        request
            .as_object_mut()
            .into_iter()
            .for_each(|all| all.extend(sizes.as_object().cloned().unwrap_or_default()));
        request
    };
    let mut how = ("", f64::MAX);
    for name in ["pillow", "tensor"] {
        let later = epoch_seconds(&peer.ask(&request(name, 4 * BATCH))?, 1)?;
        if later.1 < how.1 {
            how = (name, later.1);
        }
    }
    let (mut ours, mut theirs) = ([Vec::new(), Vec::new()], [Vec::new(), Vec::new()]);
    for _ in 0..ROUNDS {
        let measurement = measured(place, &recipe_of(views, side))?;
        let answer = peer.ask(&request(how.0, pictures))?;
        for at in 0..2 {
            let (images, own) = epoch_seconds(&measurement, at)?;
            let read = if at == 0 { seconds(&measurement, "read_seconds")? } else { 0.0 };
            ours[at].push(images / (own + read));
            let (images, own) = epoch_seconds(&answer, at)?;
            theirs[at].push(images / own);
        }
    }
    for (epoch, (ours, theirs)) in ["first", "second"].iter().zip(ours.into_iter().zip(theirs)) {
        let (ours, theirs) = (median(ours), median(theirs));
        println!("| {views} | {epoch} | {ours:.0} | {theirs:.0} ({}) | {:.2} |", how.0, ours / theirs);
    }
    Ok(())
}

/// The answer of `simile data measure` with an empty cache.
fn measured(place: &Path, recipe_text: &str) -> Result<Value> {
    let cache = place.join("cache");
    if cache.exists() {
        std::fs::remove_dir_all(&cache)?;
    }
    let recipe = place.join("pipeline.toml");
    std::fs::write(&recipe, recipe_text)?;
    let output = Command::new(env!("CARGO_BIN_EXE_simile"))
        .args(["data", "measure", "--json", "--device", "cpu", "--epochs", "2"])
        .arg("--data")
        .arg(place.join("pictures"))
        .arg(recipe)
        .env("RAYON_NUM_THREADS", THREADS)
        // Pictures are read as those of a set beyond memory.
        .env("SIMILE_RESIDENT", "0")
        .env("SIMILE_CACHE", &cache)
        .stderr(Stdio::inherit())
        .output()?;
    ensure!(output.status.success(), "`simile data measure` failed");
    Ok(serde_json::from_slice(&output.stdout)?)
}

fn recipe_of(views: &str, side: usize) -> String {
    format!(
        "[data]\ndataset = \"folders\"\nnormalise = \"imagenet\"\nfit = \"aspect\"\nside = {side}\n\n\
         [encoder]\nname = \"resnet50\"\ninput_size = {SIZE}\n\n\
         [augment]\npreset = \"{views}\"\nsize = {SIZE}\n\n\
         [train]\nbatch = {BATCH}\niterations = 1\ndrop_last = true\n\n\
         [objective]\nname = \"nt-xent\"\n"
    )
}

/// Images and seconds of an epoch.
fn epoch_seconds(answer: &Value, at: usize) -> Result<(f64, f64)> {
    let epoch = &answer["epochs"][at];
    Ok((epoch["images"].as_f64().context("no images")?, seconds(epoch, "seconds")?))
}

fn seconds(answer: &Value, key: &str) -> Result<f64> {
    answer[key].as_f64().with_context(|| format!("no {key}"))
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
