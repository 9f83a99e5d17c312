//! The page that embeds a visitor's images.

use std::fs;
use std::path::Path;

use serde_json::json;

use crate::data::{Data, IMAGES};
use crate::{Where, is_ready, largest_difference, run};

#[test]
fn images_and_checkpoints_of_a_visitor_are_embedded() {
    if is_ready() {
        embed("embed/images.mjs", &Data::write(), simile_tests::place().path());
    }
}

#[test]
fn a_folder_is_embedded_searched_and_taken_along() {
    if !is_ready() {
        return;
    }
    let data = Data::write();
    let folder = simile_tests::place();
    embed("embed/folder.mjs", &data, folder.path());
    files_are_those_of_the_command_line(folder.path(), &data);
}

fn embed(story: &str, data: &Data, folder: &Path) {
    let job = json!({
        "data": data.folder.path(),
        "checkpoint": Data::CHECKPOINT,
        "images": data.images,
        "folder": folder,
    });
    run(story, Where::Cpu, job);
}

/// Asserts that the files that the page wrote hold the vectors of `simile embed`.
fn files_are_those_of_the_command_line(folder: &Path, data: &Data) {
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
    assert_eq!(names, data.images.iter().map(|name| format!("pictures/{name}")).collect::<Vec<_>>());
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
