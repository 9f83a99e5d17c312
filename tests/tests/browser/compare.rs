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
use crate::{Where, is_ready, run, screenshots, succeed, workspace};

/// Accuracy in percent that Fair-CCLK has to reach during training, and its least lead over SimCLR.
const LEVEL: f64 = 60.0;
const LEAD: f64 = 45.0;

/// The end of the message about a run that failed.
const KEPT: &str = "The curves, and each network whose worker still answers, are kept until you press Reset.";

/// Steps of each network: the level is reached in about 50.
const STEPS: u32 = 80;

#[test]
fn a_visitor_can_train_two_networks() {
    if !is_ready() {
        return;
    }
    let folder = simile_tests::place();
    let result = run(
        "compare.mjs",
        Where::Cpu.job(),
        json!({
            "site": workspace().join("www/dist"),
            "settings": { "iterations": STEPS, "batch": 128, "seed": 0 },
            "level": LEVEL,
            "lead": LEAD,
            "patience": 900,
            "own": own_images(folder.path()),
            "plain": plain_images(folder.path()),
            "folder": folder.path(),
            "screenshots": screenshots(),
        }),
    );
    println!("{}; passed at {}, {} at last", result["rate"], result["passed"], result["final"]);
    assert_eq!(result["violations"], json!([]), "accessibility");
    assert_eq!(result["overflow"], false, "the page is wider than a phone");
    assert_eq!(result["invalid"], 1, "a field that is empty is pointed out");
    assert_eq!(result["steps"], "400", "an address without a number of steps leaves the usual one");
    let refused = result["refused"].as_str().unwrap();
    assert!(refused.contains("iterations=many, which is out of range"), "{refused}");
    assert!(result["late"].as_str().unwrap().contains("press Reset"), "{}", result["late"]);
    assert!(result["device"].as_str().unwrap().starts_with("CPU"), "{}", result["device"]);

    let [unconditional, fair] = numbers(&result["final"]["digit"]);
    assert!(fair >= LEVEL && fair >= unconditional + LEAD, "{}", result["final"]);
    let [colour, left] = numbers(&result["final"]["colour"]);
    assert!(left < colour - 0.1, "{}", result["final"]);
    assert_eq!(numbers(&result["final"]["step"]), [f64::from(STEPS); 2]);
    assert_eq!(result["frames"]["still"], 0, "the map moves for a visitor who wants no motion");
    assert!(result["frames"]["moving"].as_u64().unwrap() > 1, "{}", result["frames"]);
    assert_eq!(result["still"][0], result["still"][1], "a paused run stands still");
    assert_eq!(result["focused"], 1, "the button that was pressed keeps the focus");
    assert!(result["map"].as_str().unwrap().contains(&format!("{fair:.1} %")), "{}", result["map"]);
    assert_eq!(result["saved"], json!(["simclr.safetensors", "fair-cclk.safetensors"]));
    assert_eq!((&result["cleared"], &result["workers"]), (&json!("–"), &json!(0)), "reset frees both");
    let address = format!("?iterations={STEPS}&batch=128&temperature=0.5&lambda=0.01&seed=0&device=auto");
    let shared = (&result["address"], &result["again"]);
    assert_eq!(shared, (&json!(address), &json!(STEPS.to_string())), "a run can be shared");

    let failed = &result["failed"];
    let status = failed["status"].as_str().unwrap();
    let end = format!(": the device broke. {KEPT}");
    assert!(status.contains(" failed after step ") && status.contains(&end), "{status}");
    let steps = numbers(&failed["step"]);
    assert!(steps.iter().all(|&step| step > 0.0), "a run that failed keeps its figures: {failed}");
    assert_eq!(failed["saved"], result["saved"], "a run that failed keeps its networks");
    assert_eq!(result["asks"], json!([true, false]), "a page that trains asks before it is left");

    files_give_the_metrics_of_the_page(&result["final"], folder.path());
    plain_colours_are_warned_of(&result["plain"]);
    images_of_ones_own_are_trained_on(&result, folder.path());
}

/// The numbers of both networks.
fn numbers(value: &Value) -> [f64; 2] {
    serde_json::from_value(value.clone()).unwrap()
}

/// Asserts that the command line, which draws the same digits again, measures what the page shows.
fn files_give_the_metrics_of_the_page(shown: &Value, folder: &Path) {
    for (at, name) in ["left", "right"].into_iter().enumerate() {
        let metrics = evaluate(&folder.join(format!("{name}.safetensors")));
        let top1 = 100.0 * metrics["top1"].as_f64().unwrap();
        let in_page = numbers(&shown["digit"])[at];
        // The page rounds to a tenth of a percent; a digit on the border may fall to either side.
        assert!((top1 - in_page).abs() < 0.36, "{name}: {top1} by the command line, {in_page} in the page");
        let leak = metrics["condition_r2"].as_f64().unwrap();
        let in_page = numbers(&shown["colour"])[at];
        assert!((leak - in_page).abs() < 2e-3, "{name}: {leak} by the command line, {in_page} in the page");
    }
    evaluate(&folder.join("early.safetensors"));
}

/// Asserts that a visitor's pictures are trained on, and what is said of those that cannot be.
fn images_of_ones_own_are_trained_on(result: &Value, folder: &Path) {
    assert!(result["classless"].as_str().unwrap().contains("one for each class"), "{}", result["classless"]);
    let parts = result["parts"].as_str().unwrap();
    assert!(parts.contains("the parts of a data set (train, val)"), "{parts}");
    let source = result["source"].as_str().unwrap();
    assert!(source.contains("60 images of 10 classes"), "{source}");
    assert_eq!(numbers(&result["own"]["step"]), [20.0, 20.0]);
    assert!(numbers(&result["own"]["accuracy"]).iter().all(|accuracy| (0.0..=100.0).contains(accuracy)));
    for text in result["broken"].as_array().unwrap() {
        let text = text.as_str().unwrap();
        assert!(text.contains("own/0/broken.png was left out: no image could be read, or one of more than 67 million pixels."), "{text}");
        assert!(text.contains("2 files, such as own/1/a.txt, were left out"), "{text}");
    }
    let status = result["broken"][0].as_str().unwrap();
    assert!(status.contains("A step takes all 48 images."), "{status}");
    assert!(result["drawn"].as_str().unwrap().contains("digits that this page draws"), "{}", result["drawn"]);
    assert_eq!(result["unprepared"], 0, "a reset ends the preparation");
    let mut command = Command::new(program());
    let vectors = folder.join("own.npy");
    command.arg("embed").arg(folder.join("own.safetensors"));
    succeed(command.arg(folder.join("own/1/00.png")).arg("--out").arg(vectors));
}

/// Asserts that the page says of images of plain colours that they tell nothing, whatever else it says of the run.
fn plain_colours_are_warned_of(plain: &Value) {
    let note = "A step takes all 9 images. Fair-CCLK:";
    let one = "the images of this run hardly differ in mean colour, so there is no colour to set aside.";
    let apart = "almost no two images of a step have a similar colour, so each has few to be compared with; \
                 take a folder with more images.";
    for (folder, said) in [("grey", one), ("alike", one), ("apart", apart)] {
        assert_eq!(plain["finished"][folder], format!("Both networks have learnt. {note} {said}"));
    }
    let (failed, standing) = plain["standing"].as_array().unwrap().split_last().unwrap();
    let refusal = "There is a run on other images; press Reset to learn from these. This run: ";
    let beginnings = ["CPU: ", "Paused. ", refusal, "the device broke. "];
    assert_eq!(standing.len(), beginnings.len());
    for (text, beginning) in standing.iter().zip(beginnings) {
        let text = text.as_str().unwrap();
        assert!(text.starts_with(beginning) && text.ends_with(&format!("{note} {one}")), "{text}");
    }
    let failed = failed.as_str().unwrap();
    let end = format!(": the device broke. {KEPT} {note} {one}");
    assert!(failed.contains(" failed after step ") && failed.ends_with(&end), "{failed}");
    assert_eq!(plain["moved"], 0, "a warning moves the buttons");
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
