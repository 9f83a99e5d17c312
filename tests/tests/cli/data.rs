//! `simile data`: what there is, whether it is sound, how it looks.

use crate::{complaint, json, place, stdout};

#[test]
fn data_sets_are_listed() {
    let place = place();
    let listed = json(place.path(), &["data", "list", "--json"]);
    let names: Vec<&str> =
        listed.as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"digits") && names.contains(&"colour-mnist"), "{names:?}");
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
    let png = std::fs::read(place.path().join("a.png")).unwrap();
    assert!(png.starts_with(b"\x89PNG\r\n\x1a\n"));
}

#[test]
fn the_official_files_are_sound() {
    let Some(mnist) = simile_tests::data().map(|data| data.join("mnist")).filter(|folder| folder.is_dir())
    else {
        eprintln!("skipped: MNIST is not there (SIMILE_DATA)");
        return;
    };
    let place = place();
    let answer =
        json(place.path(), &["data", "check", "colour-mnist", "--json", "--data", mnist.to_str().unwrap()]);
    assert_eq!(answer["sound"], true);
    assert_eq!((&answer["train"]["images"], &answer["test"]["images"]), (&60_000.into(), &10_000.into()));
    assert!(answer["files"].as_array().unwrap().iter().all(|file| file["state"] == "official"), "{answer}");
}
