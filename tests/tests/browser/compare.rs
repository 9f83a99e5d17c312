//! Training in a page by a visitor, who compares two networks. The longest test of the browser: by its name it is the first, because
//! the last one has the processor to itself and leaves half of it idle.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use simile_core::data::synthetic::colour_mnist::Colours;
use simile_core::data::synthetic::digits::draw_digits;
use simile_tests::program;

use crate::data::evaluate;
use crate::{Where, is_ready, run, succeed};

/// Accuracy in percent that Fair-CCLK has to reach during training, and its least lead over SimCLR.
const LEVEL: f64 = 60.0;
const LEAD: f64 = 45.0;

/// Steps of each network: the level is reached in about 50.
const STEPS: u32 = 80;

#[test]
fn a_visitor_can_train_two_networks() {
    if !is_ready() {
        return;
    }
    let folder = simile_tests::place();
    let result = run(
        "compare/training.mjs",
        Where::Cpu,
        json!({
            "settings": { "iterations": STEPS, "batch": 128, "seed": 0 },
            "level": LEVEL,
            "lead": LEAD,
            "patience": 900,
            "own": own_images(folder.path()),
            "folder": folder.path(),
        }),
    );
    println!("{}; passed at {}, {} at last", result["rate"], result["passed"], result["final"]);
    files_give_the_metrics_of_the_page(&result["final"], folder.path());
}

#[test]
fn images_of_a_visitor_are_trained_on() {
    if !is_ready() {
        return;
    }
    let folder = simile_tests::place();
    let folder = folder.path();
    let job = json!({ "own": own_images(folder), "plain": plain_images(folder), "folder": folder });
    run("compare/images.mjs", Where::Cpu, job);
    // The command line takes the network of the page.
    let mut command = Command::new(program());
    command.arg("embed").arg(folder.join("own.safetensors")).arg(folder.join("own/1/00.png"));
    succeed(command.arg("--out").arg(folder.join("own.npy")));
}

#[test]
fn networks_of_a_run_that_failed_are_kept() {
    if !is_ready() {
        return;
    }
    let folder = simile_tests::place();
    run("compare/failure.mjs", Where::Cpu, json!({ "folder": folder.path() }));
}

/// Asserts that the command line, which draws the same digits again, measures what the page shows.
fn files_give_the_metrics_of_the_page(shown: &Value, folder: &Path) {
    let numbers = |name: &str| -> [f64; 2] { serde_json::from_value(shown[name].clone()).unwrap() };
    for (at, name) in ["left", "right"].into_iter().enumerate() {
        let metrics = evaluate(&folder.join(format!("{name}.safetensors")));
        let top1 = 100.0 * metrics["top1"].as_f64().unwrap();
        let in_page = numbers("digit")[at];
        // The page rounds to a tenth of a percent; a digit on the border may fall to either side.
        assert!((top1 - in_page).abs() < 0.36, "{name}: {top1} by the command line, {in_page} in the page");
        let leak = metrics["condition_r2"].as_f64().unwrap();
        let in_page = numbers("colour")[at];
        assert!((leak - in_page).abs() < 2e-3, "{name}: {leak} by the command line, {in_page} in the page");
    }
    evaluate(&folder.join("early.safetensors"));
}

/// The red, green and blue of a picture by its number.
type Colouring = fn(u8) -> [u8; 3];

/// Folders of pictures of one colour each: one grey, two shades of it, and colours far apart.
fn plain_images(folder: &Path) -> Value {
    let colours: [(&str, Colouring); 3] = [
        ("grey", |_| [100; 3]),
        ("alike", |at| [100 + at % 2; 3]),
        ("apart", |at| [at % 3, at / 3 % 3, at / 9].map(|level| 40 + 80 * level)),
    ];
    let write = |(name, colour): (&str, fn(u8) -> [u8; 3])| {
        for at in 0..12 {
            let class = folder.join(name).join((at % 2).to_string());
            fs::create_dir_all(&class).unwrap();
            let image = image::RgbImage::from_pixel(8, 8, image::Rgb(colour(at)));
            image.save(class.join(format!("{at:02}.png"))).unwrap();
        }
        (name.to_owned(), json!(folder.join(name)))
    };
    colours.into_iter().map(write).collect()
}

/// A folder with a folder of drawn digits for each class.
fn own_images(folder: &Path) -> PathBuf {
    let folder = folder.join("own");
    let digits = draw_digits(60, Colours::Palette, 11).unwrap();
    let mut counts = [0; 10];
    for (pixels, &label) in digits.images.in_memory().unwrap().iter().zip(&digits.labels) {
        let class = folder.join(label.to_string());
        fs::create_dir_all(&class).unwrap();
        let image = image::RgbImage::from_raw(32, 32, pixels.to_vec()).unwrap();
        image.save(class.join(format!("{:02}.png", counts[label]))).unwrap();
        counts[label] += 1;
    }
    folder
}
