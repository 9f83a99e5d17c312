//! `simile data`: lists data sets, checks them and shows their pictures.

use std::fs;
use std::path::Path;

use serde_json::Value;
use simile_tests::place;

use crate::support::pictures::{picture, tabled_with};
use crate::support::program::{complaint, json, json_of, simile, stderr_of, stdout};
use crate::support::recipes::{place_with, with_two_variants};
use crate::support::run::assert_share_of;

#[test]
fn data_sets_are_listed() {
    let place = place();
    let listed = json(place.path(), &["data", "list", "--json"]);
    let names: Vec<&str> =
        listed.as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"digits") && names.contains(&"colour-mnist"), "{names:?}");
    let birds = json(place.path(), &["data", "list", "cub-200-2011", "--json"]);
    assert_eq!(birds["home"], "https://data.caltech.edu/records/65de6-vp158");
    assert_eq!(birds["downloads"][0]["md5"], "97eceeb196236b17998738112f37df78");
    assert!(stdout(place.path(), &["data", "list", "celeba"]).contains("follow the authors' page"));
    assert!(complaint(place.path(), &["data", "list", "celebb"], 2).contains("`celeba`"));
    let refused = complaint(place.path(), &["data", "fetch", "chexpert", "--data", "."], 1);
    assert!(
        refused.contains("register") && refused.contains("https://stanfordmlgroup.github.io"),
        "{refused}"
    );
}

#[test]
fn drawn_digits_are_sound() {
    let place = place();
    let answer = json(place.path(), &["data", "check", "digits", "--json"]);
    assert_eq!(answer["train"]["classes"], 10);
    assert_eq!(answer["train"]["size"], serde_json::json!([32, 32, 3]));
    assert!(
        answer["train"]["images"].as_u64().unwrap() > 0 && answer["test"]["images"].as_u64().unwrap() > 0
    );
    assert!(answer["train"]["variables"].as_array().unwrap().iter().any(|name| name == "colour"));
    assert!(complaint(place.path(), &["data", "check", "digit"], 2).contains("`digits`"));
}

#[test]
fn a_preview_is_a_picture() {
    let place = place();
    stdout(place.path(), &["data", "preview", "digits", "--out", "a.png", "--count", "20"]);
    let png = fs::read(place.path().join("a.png")).unwrap();
    assert!(png.starts_with(b"\x89PNG\r\n\x1a\n"));
}

#[test]
fn the_speed_of_a_recipes_images_is_measured_without_a_network() {
    let place = with_two_variants();
    let measured = |resident: &str| -> Value {
        let measure = ["data", "measure", "tiny.toml", "--epochs", "3", "--json"];
        json_of(
            simile(place.path(), &measure).env("SIMILE_RESIDENT", resident).assert().success().get_output(),
        )
    };
    for resident in ["100", "0"] {
        let answer = measured(resident);
        let epochs = answer["epochs"].as_array().unwrap();
        assert_eq!((&answer["recipe"], epochs.len()), (&"tiny".into(), 3));
        for epoch in epochs {
            let [images, seconds, speed] =
                ["images", "seconds", "images_per_second"].map(|key| epoch[key].as_f64().unwrap());
            assert!(images > 0.0 && (speed * seconds / images - 1.0).abs() < 1e-9, "{epoch}");
            assert_eq!(epoch["waited_seconds"].is_null(), resident != "0");
        }
    }
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1, "nothing is written");
    assert!(
        complaint(place.path(), &["data", "measure", "tiny.toml", "--epochs", "0"], 2).contains("--epochs")
    );
}

#[test]
fn a_part_of_the_official_files_is_sound() {
    let mnist = simile_tests::data().join("mnist");
    let place = place();
    let answer =
        json(place.path(), &["data", "check", "colour-mnist", "--json", "--data", mnist.to_str().unwrap()]);
    assert_eq!(answer["sound"], true);
    assert_eq!((&answer["train"]["images"], &answer["test"]["images"]), (&1000.into(), &500.into()));
    assert!(
        answer["files"].as_array().unwrap().iter().all(|file| file["state"] == "well-formed"),
        "{answer}"
    );
}

const TABLE: &str = r#"
[data]
dataset = "table"

[data.table]
csv = "images.csv"
label = "shape"
split = "split"
conditions = { site = ["site"], tint = ["red", "blue"] }

[augment]
crop = { scale = [0.5, 1.0] }

[optimizer]
name = "adam"

[train]
batch = 8
iterations = 3

[probe]
condition = "site"
steps = 5

[objective]
name = "fair-cclk"
condition = "tint"
kernel = { name = "rbf", sigma = 20.0 }
"#;

/// Stripes and grids on backgrounds of two tints, one file each, 16 of them to train on.
fn pictures(folder: &Path) {
    let is_grid = |at: usize| at.is_multiple_of(2);
    let is_north = |at: usize| at.is_multiple_of(3);
    let tints = |at: usize| if is_north(at) { [200 - at as u8, 40] } else { [50, 180 + at as u8] };
    let row = |at: usize| {
        let shape = if is_grid(at) { "grid" } else { "stripes" };
        let split = if at < 16 { "train" } else { "test" };
        let site = if is_north(at) { "north" } else { "south" };
        let [red, blue] = tints(at);
        format!("{shape},{split},{site},{red},{blue}")
    };
    tabled_with(folder, "shape,split,site,red,blue", (0..24).map(row), [40, 30], |at, x, y| {
        let is_ink = (x / 4) % 2 == 0 || (is_grid(at) && (y / 4) % 2 == 0);
        let [red, blue] = tints(at);
        if is_ink { [0; 3] } else { [red, 90, blue] }
    });
}

#[test]
fn pictures_of_ones_own_are_trained_on() {
    let place = place_with("mine.toml", TABLE);
    pictures(place.path());
    let checked = json(place.path(), &["data", "check", "mine.toml", "--data", ".", "--json"]);
    assert_eq!(checked["train"]["class_counts"], serde_json::json!([8, 8]));
    assert_eq!(checked["test"]["variables"], serde_json::json!(["site", "tint"]));
    let answer = json(place.path(), &["train", "mine.toml", "--data", ".", "--out", "run", "--json"]);
    let metrics = &answer["arms"][0]["metrics"];
    for metric in ["top1", "condition_top1"] {
        assert_share_of(&metrics[metric], 8);
    }
    let arguments = ["train", "mine.toml", "--data", ".", "--out", "streamed", "--json"];
    let run = simile(place.path(), &arguments).env("SIMILE_RESIDENT", "0").assert().success();
    let streamed = json_of(run.get_output());
    assert_eq!(
        (&streamed["arms"][0]["metrics"], &streamed["arms"][0]["final_loss"]),
        (metrics, &answer["arms"][0]["final_loss"])
    );
    let told = stderr_of(run.get_output());
    assert!(told.contains("images/s") && told.contains("% waiting for data"), "{told}");

    is_judged_on_middles_unless_told_otherwise(place.path());

    // Options that would be ignored are refused.
    for (words, reason) in [
        ("embed run --shard 0/2 --out own.parquet", "--shard"),
        ("train . --data elsewhere", "--data"),
        ("train --resume run --hide site", "--resume"),
    ] {
        let text = complaint(place.path(), &words.split(' ').collect::<Vec<_>>(), 2);
        assert!(text.contains(reason), "{words}: {text}");
    }
}

/// Asserts that the network of `run` sees the middles of pictures, and one that is trained with `data.fit=whole` all of them.
fn is_judged_on_middles_unless_told_otherwise(place: &Path) {
    // Two pictures with the same middle and other edges: a network that was judged on middles sees no difference, one that was
    // judged on whole pictures does.
    for (file, shade) in [("dark.png", 0), ("light.png", 250)] {
        picture(&place.join(file), [30, 20], |x, _| [if (5..25).contains(&x) { 90 } else { shade }; 3]);
    }
    let whole = ["train", "mine.toml", "--data", ".", "--smoke", "--set", "data.fit=whole", "--out", "whole"];
    stdout(place, &whole);
    for (run, is_same) in [("run", true), ("whole", false)] {
        let vectors = json(place, &["embed", run, "dark.png", "light.png", "--json"]);
        let [dark, light] = [0, 1].map(|row| &vectors["vectors"][row]);
        assert!(dark.is_array() && (dark == light) == is_same, "{run}: {vectors}");
    }
}

#[cfg(unix)]
#[test]
fn the_name_of_a_folder_need_not_be_unicode() {
    use std::os::unix::ffi::OsStrExt as _;
    let place = place_with("mine.toml", TABLE);
    let folder = std::ffi::OsStr::from_bytes(b"m\xfcnster");
    pictures(&place.path().join(folder));
    let begin = ["train", "mine.toml", "--smoke", "--out", "latin", "--data"];
    simile(place.path(), &begin).arg(folder).assert().success();
}

#[test]
fn a_picture_that_is_none_is_named_and_can_be_left_out() {
    let place = place_with("mine.toml", TABLE);
    pictures(place.path());
    fs::write(place.path().join("7.png"), b"not a picture").unwrap();
    let arguments = ["train", "mine.toml", "--smoke", "--data", ".", "--out", "run"];
    let refused = complaint(place.path(), &arguments, 1);
    assert!(refused.contains("7.png"), "{refused}");
    let skip = ["--set", "data.broken=skip", "--json"];
    assert!(json(place.path(), &[&arguments[..], &skip].concat())["arms"].is_array());
}

#[test]
fn many_pictures_are_decoded_once() {
    let place = place();
    for (class, background) in [("red", [200, 30, 30]), ("blue", [30, 30, 200])] {
        for i in 0..200 {
            picture(&place.path().join(format!("{class}/{i}.png")), [20, 20], |_, _| background);
        }
    }
    let recipe = |name: &str, split: &str| {
        let train = "[train]\nbatch = 8\niterations = 2\n\n[objective]\nname = \"nt-xent\"\n";
        let text = format!("[data]\ndataset = \"folders\"\n{split}\n{train}");
        fs::write(place.path().join(name), text).unwrap();
    };
    recipe("mine.toml", "");
    let check = |name: &str| json(place.path(), &["data", "check", name, "--data", ".", "--json"]);
    let first = check("mine.toml");
    assert_eq!(first["train"]["images"], 280);
    let records = || -> Vec<u64> {
        let entries = fs::read_dir(place.path().join("cache")).unwrap().map(Result::unwrap);
        let of_records =
            entries.filter(|entry| entry.path().extension().is_some_and(|kind| kind == "records"));
        of_records.map(|entry| entry.metadata().unwrap().len()).collect()
    };
    // The test pictures are too few to be cached.
    let of_first = records();
    assert_eq!(of_first.len(), 1);
    assert_eq!(check("mine.toml"), first);
    assert_eq!(records(), of_first);
    // Another split adds the pictures that were tested on before, of which there are 120, and no other.
    recipe("split.toml", "split = { seed = 1 }\n");
    assert_eq!(check("split.toml")["train"]["images"], 280);
    let of_both = records();
    assert_eq!(of_both.len(), 1);
    let added = of_both[0] - of_first[0];
    assert!(added > 0 && added <= of_first[0] * 120 / 280, "{added} of {of_first:?}");
    let off = simile(place.path(), &["data", "check", "folders", "--data", "."])
        .env("SIMILE_CACHE", "off")
        .assert()
        .success();
    assert!(off.get_output().stderr.is_empty());
}
