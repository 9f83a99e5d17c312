//! `simile import`: the weights of another program.

use crate::{complaint, json, place, simile};

/// A model's own tensors under their names are a file of another program.
#[test]
fn a_file_of_another_program_is_imported() {
    let place = place();
    simile(place.path(), &["train", "fair-digits", "--smoke", "--out", "run"]).assert().success();
    let import = ["import", "run/model.safetensors", "--encoder", "lenet5", "--input-size", "32"];
    let tail = ["--mean", "0,0,0", "--std", "1,1,1", "--out", "made.safetensors", "--json"];
    let answer = json(place.path(), &[&import[..], &tail].concat());
    assert_eq!((&answer["embedding_size"], &answer["unused"]), (&84.into(), &serde_json::json!([])));
    let picture = image::RgbImage::from_fn(32, 32, |x, y| image::Rgb([(x * 8) as u8, (y * 8) as u8, 7]));
    picture.save(place.path().join("a.png")).unwrap();
    let vectors = |model: &str| json(place.path(), &["embed", model, "a.png", "--json"])["vectors"].clone();
    assert_eq!(vectors("made.safetensors"), vectors("run"));

    let other = ["import", "run/model.safetensors", "--encoder", "resnet18", "--out", "b.safetensors"];
    let text = complaint(place.path(), &other, 1);
    assert!(text.contains("resnet18") && text.contains("conv1.weight"), "{text}");
    let text =
        complaint(place.path(), &["import", "a.pth", "--encoder", "resnet18", "--out", "b.safetensors"], 2);
    assert!(text.contains("save_file"), "{text}");
    let text =
        complaint(place.path(), &["import", "a", "--encoder", "resnet19", "--out", "b.safetensors"], 2);
    assert!(text.contains("resnet18"), "{text}");
}
