//! Mistakes and faults that users meet: a clear message, the right exit code, no partial output.

use std::fs;
use std::path::Path;

use crate::{complaint, place, simile};

const RECIPE: &str = r#"
[data]
dataset = "digits"
train = 64
test = 32

[train]
batch = 16
iterations = 2

[probe]
steps = 5

[objective]
name = "nt-xent"
temperature = 0.5
"#;

/// Bytes of an idx file: type 8 (unsigned byte), the sizes, the values.
fn idx(sizes: &[u32], values: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0, 0, 8, sizes.len() as u8];
    bytes.extend(sizes.iter().flat_map(|size| size.to_be_bytes()));
    bytes.extend_from_slice(values);
    bytes
}

/// The four files of MNIST with `count` images of each split, of the class that `label` returns.
pub(crate) fn mnist(folder: &Path, count: u32, label: impl Fn(u32) -> u32) {
    fs::create_dir_all(folder).unwrap();
    let labels: Vec<u8> = (0..count).map(|i| label(i) as u8).collect();
    for split in ["train", "t10k"] {
        let pixels = vec![7; count as usize * 28 * 28];
        fs::write(folder.join(format!("{split}-images-idx3-ubyte")), idx(&[count, 28, 28], &pixels)).unwrap();
        fs::write(folder.join(format!("{split}-labels-idx1-ubyte")), idx(&[count], &labels)).unwrap();
    }
}

#[test]
fn an_unknown_recipe_key_names_file_line_and_nearest() {
    let place = place();
    fs::write(place.path().join("mine.toml"), RECIPE.replace("iterations", "iteratoins")).unwrap();
    let text = complaint(place.path(), &["train", "mine.toml"], 2);
    assert!(text.contains("mine.toml") && text.contains("line 9") && text.contains("`iterations`"), "{text}");
    assert!(!place.path().join("runs").exists(), "a run was begun");
}

#[test]
fn missing_files_are_named() {
    let place = place();
    assert!(complaint(place.path(), &["train", "no-such.toml"], 2).contains("no-such.toml"));
    let text = complaint(place.path(), &["train", "colour-mnist", "--smoke"], 2);
    assert!(text.contains("--data"), "{text}");
    let text = complaint(place.path(), &["train", "colour-mnist", "--smoke", "--data", "nowhere"], 1);
    assert!(text.contains("nowhere"), "{text}");
    mnist(&place.path().join("mnist"), 20, |i| i % 10);
    fs::remove_file(place.path().join("mnist/t10k-labels-idx1-ubyte")).unwrap();
    let text = complaint(place.path(), &["train", "colour-mnist", "--smoke", "--data", "mnist"], 1);
    assert!(text.contains("t10k-labels-idx1-ubyte"), "{text}");
    complaint(place.path(), &["report", "nowhere"], 2);
    assert!(complaint(place.path(), &["embed", "nowhere.safetensors", "a.png"], 1).contains("nowhere"));
}

#[test]
fn truncated_and_corrupt_files_are_named() {
    let place = place();
    let folder = place.path().join("mnist");
    let file = folder.join("train-images-idx3-ubyte");
    // The faults of the files are the answer, and go to stdout; the exit code reports that there are some.
    let check = || {
        let output =
            simile(place.path(), &["data", "check", "colour-mnist", "--data", "mnist"]).output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        assert!(String::from_utf8_lossy(&output.stderr).contains("not sound"));
        let answer = String::from_utf8(output.stdout).unwrap();
        let text = complaint(place.path(), &["train", "colour-mnist", "--data", "mnist"], 1);
        assert!(!place.path().join("runs").exists(), "a run was begun");
        answer.lines().find(|line| line.starts_with("corrupt")).unwrap().to_owned() + &text
    };

    mnist(&folder, 20, |i| i % 10);
    let whole = fs::read(&file).unwrap();
    fs::write(&file, &whole[..whole.len() / 2]).unwrap();
    let text = check();
    assert!(text.contains("train-images-idx3-ubyte") && text.contains("truncated"), "{text}");

    fs::write(&file, &whole[..3]).unwrap();
    assert!(check().contains("train-images-idx3-ubyte"));

    let mut corrupt = whole.clone();
    corrupt[2] = 13;
    fs::write(&file, corrupt).unwrap();
    assert!(check().contains("train-images-idx3-ubyte"));

    fs::write(&file, whole).unwrap();
    fs::write(folder.join("train-labels-idx1-ubyte"), idx(&[20], &[11; 20])).unwrap();
    let text = check();
    assert!(text.contains("train-labels-idx1-ubyte") && text.contains("11"), "{text}");
}

#[test]
fn no_images_and_no_classes_are_refused() {
    let place = place();
    mnist(&place.path().join("mnist"), 0, |i| i % 10);
    let text = complaint(place.path(), &["train", "colour-mnist", "--data", "mnist"], 1);
    assert!(text.contains("no images") || text.contains("no classes") || text.contains("0 "), "{text}");
}

#[test]
fn a_folder_that_cannot_be_written_to_is_named() {
    let place = place();
    fs::write(place.path().join("mine.toml"), RECIPE).unwrap();
    fs::write(place.path().join("file"), "").unwrap();
    assert!(complaint(place.path(), &["train", "mine.toml", "--out", "file/run"], 1).contains("file/run"));
    assert!(complaint(place.path(), &["train", "mine.toml", "--out", "file"], 2).contains("is a file"));
    if cfg!(target_os = "linux") {
        let text = complaint(place.path(), &["train", "mine.toml", "--out", "/proc/simile"], 1);
        assert!(text.contains("/proc/simile"), "{text}");
    }
    let closed = place.path().join("closed");
    fs::create_dir(&closed).unwrap();
    let mut permissions = fs::metadata(&closed).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(&closed, permissions).unwrap();
    // A superuser can write there; `/proc` is closed even to a superuser.
    if fs::write(closed.join("probe"), "").is_err() {
        assert!(complaint(place.path(), &["train", "mine.toml", "--out", "closed"], 1).contains("closed"));
    }
}

#[test]
fn a_folder_that_holds_something_is_left_alone() {
    let place = place();
    fs::write(place.path().join("mine.toml"), RECIPE).unwrap();
    fs::create_dir(place.path().join("mine")).unwrap();
    fs::write(place.path().join("mine/notes.txt"), "precious").unwrap();
    let text = complaint(place.path(), &["train", "mine.toml", "--out", "mine"], 2);
    assert!(text.contains("not empty"), "{text}");
    assert_eq!(fs::read_dir(place.path().join("mine")).unwrap().count(), 1);
}

#[test]
fn resuming_what_is_no_run_is_a_usage_error() {
    let place = place();
    assert!(complaint(place.path(), &["train", "--resume", "."], 2).contains("not a run folder"));
    let output = simile(place.path(), &["train", "fair-digits", "--resume", "."]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
}
