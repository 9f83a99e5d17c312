//! The page that embeds a visitor's images.

use std::fs;
use std::path::Path;

use serde_json::json;

use crate::data::{Data, IMAGES};
use crate::{Where, is_ready, largest_difference, run, screenshots, workspace};

#[test]
fn a_visitor_can_embed_a_folder() {
    if !is_ready() {
        return;
    }
    let data = Data::write();
    let folder = simile_tests::place();
    let result = run(
        "embed.mjs",
        Where::Cpu.job(),
        json!({
            "site": workspace().join("www/dist"),
            "data": data.folder.path(),
            "checkpoint": Data::CHECKPOINT,
            "images": data.images,
            "folder": folder.path(),
            "screenshots": screenshots(),
        }),
    );
    assert_eq!(result["violations"], json!([]), "accessibility");
    assert_eq!(result["overflow"], false, "the page is wider than a phone");
    assert!(result["encoder"].as_str().unwrap().starts_with("model: lenet5"), "{}", result["encoder"]);
    assert!(result["device"].as_str().unwrap().starts_with("CPU"), "{}", result["device"]);
    assert_eq!(result["photograph"], json!([48, 32]), "a photograph is shown turned, and embedded as stored");
    let decoded = result["decoded"].as_u64().unwrap();
    assert!((1..=2).contains(&decoded), "{decoded} pictures of 30 million pixels are decoded at once");
    assert_eq!(result["single"], json!(["1 vector of 84 numbers.", "to 00.png: there is no other image"]));
    assert!(result["middle"].as_u64().unwrap() > 0, "one image lies in a corner of the map");
    let together = &result["together"];
    assert!(together[0].as_str().unwrap().starts_with("model: lenet5"), "{together}");
    assert!(together[1].as_str().unwrap().starts_with("3 vectors"), "{together}");
    assert_eq!(together[2], "", "no shipped encoder is in use");
    let after_failure: Vec<String> = serde_json::from_value(result["kept"].clone()).unwrap();
    assert!(
        after_failure[0].starts_with("Fair-CCLK") && after_failure[1].starts_with("2 vectors"),
        "{after_failure:?}"
    );
    assert!(after_failure[2].contains("checkpoint"), "{after_failure:?}");
    assert_eq!(result["focused"], 1, "a neighbour that was pressed keeps the focus");
    assert_eq!(result["dropped"], result["chosen"], "a folder that is dropped is one that is chosen");
    let omissions = result["omissions"].as_str().unwrap();
    assert!(
        omissions.contains("embedded. pictures/notes.txt was left out: no image to this browser."),
        "{omissions}"
    );
    let pictures: Vec<String> = data.images.iter().map(|name| format!("pictures/{name}")).collect();
    assert_eq!(result["second"], json!([pictures[1], format!("to {}", pictures[1])]));
    assert_ne!(result["neighbour"], result["second"][1]);
    assert!(result["pointed"].as_u64().unwrap() > 5, "{} names were shown", result["pointed"]);
    assert_eq!(result["last"], json!(format!("to {}", pictures.last().unwrap())));
    assert_eq!(result["address"], "https://example.org/a.safetensors");
    assert_eq!((&result["similarity"], &result["itself"]), (&json!("1.00"), &json!(pictures[5])));

    files_are_those_of_the_command_line(folder.path(), &data, &pictures);
}

/// Asserts that the files that the page wrote hold the vectors of `simile embed`.
fn files_are_those_of_the_command_line(folder: &Path, data: &Data, pictures: &[String]) {
    let expected = data.embed_natively();
    let table = fs::read_to_string(folder.join("vectors.csv")).unwrap();
    let mut lines = table.lines();
    assert!(lines.next().unwrap().starts_with("image,v0,v1,"));
    let (names, rows): (Vec<&str>, Vec<Vec<f64>>) = lines
        .map(|line| {
            let (name, numbers) = line.split_once(',').unwrap();
            // The fewest digits that identify the 32-bit number.
            (name, numbers.split(',').map(|number| f64::from(number.parse::<f32>().unwrap())).collect())
        })
        .unzip();
    assert_eq!(names, pictures);
    assert!(largest_difference(&rows, &expected) < 1e-4);
    let array = npy(&folder.join("vectors.npy"), IMAGES);
    assert!(largest_difference(&array, &rows) == 0.0, "both files hold the same numbers");
}

/// The rows of a NumPy file of 32-bit numbers.
fn npy(path: &Path, rows: usize) -> Vec<Vec<f64>> {
    let bytes = fs::read(path).unwrap();
    assert_eq!(&bytes[..8], b"\x93NUMPY\x01\x00");
    let data = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    let header = std::str::from_utf8(&bytes[10..data]).unwrap();
    assert!(data % 64 == 0 && header.contains(&format!("'shape': ({rows}, 84)")), "{header}");
    let numbers: Vec<f64> = bytes[data..]
        .chunks_exact(4)
        .map(|word| f64::from(f32::from_le_bytes(word.try_into().unwrap())))
        .collect();
    numbers.chunks_exact(84).map(<[f64]>::to_vec).collect()
}
