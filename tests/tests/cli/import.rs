//! `simile import`: the weights of another program.

use std::fs;

use serde_json::{Value, json};
use simile_core::nn::{Architecture, EncoderConfig};
use simile_tests::{place, repository};

use crate::support::models::{foreign, header, under, write, write_foreign};
use crate::support::pictures::picture;
use crate::support::program::{complaint, json, simile, stderr, stdout};
use crate::support::python::answer;
use crate::support::recipes::place_with;

#[test]
fn a_file_of_pytorch_in_place_of_a_model_is_told_the_next_command() {
    let place = place();
    let corpus = repository::root().join("tests/fuzz");
    fs::copy(corpus.join("torch/checkpoint.pth"), place.path().join("a.pth")).unwrap();
    fs::copy(corpus.join("pickle/checkpoint.pkl"), place.path().join("old.pth")).unwrap();
    let evaluate = ["evaluate", "a.pth", "--on", "digits"];
    let recipe = "[data]\ndataset = \"digits\"\ntrain = 64\ntest = 32\n[encoder]\nname = \"lenet5\"\nweights = \"a.pth\"\n[objective]\nname = \"nt-xent\"\n\
                  [train]\nbatch = 16\niterations = 2\n";
    fs::write(place.path().join("mine.toml"), recipe).unwrap();
    for (command, file) in [
        (&["embed", "a.pth", "b.png"][..], "a"),
        (&["embed", "old.pth", "b.png"], "old"),
        (&evaluate, "a"),
        (&["export", "a.pth", "--to", "pytorch"], "a"),
        (&["train", "mine.toml"], "a"),
    ] {
        let text = complaint(place.path(), command, 2);
        let next = format!("`simile import {file}.pth --encoder NAME --out {file}.safetensors`");
        assert!(text.contains("file of PyTorch") && text.contains(&next), "{command:?}: {text}");
    }
    assert!(!place.path().join("runs").exists(), "a run was begun");
    // The suggested file is another one.
    fs::rename(place.path().join("a.pth"), place.path().join("a.safetensors")).unwrap();
    let text = complaint(place.path(), &["embed", "a.safetensors", "b.png"], 2);
    assert!(text.contains("import a.safetensors --encoder NAME --out a.imported.safetensors`"), "{text}");
}

#[test]
fn a_file_of_another_program_is_imported() {
    let place = place();
    simile(place.path(), &["train", "fair-digits", "--smoke", "--out", "run"]).assert().success();
    let model = fs::read(place.path().join("run/model.safetensors")).unwrap();
    fs::write(place.path().join("theirs.safetensors"), foreign(&model)).unwrap();
    let import = ["import", "theirs.safetensors", "--encoder", "lenet5", "--input-size", "32"];
    let tail = ["--mean", "0,0,0", "--std", "1,1,1", "--out", "made.safetensors", "--json"];
    let answer = json(place.path(), &[&import[..], &tail].concat());
    assert_eq!((&answer["embedding_size"], &answer["unused"]), (&84.into(), &json!([])));
    picture(&place.path().join("a.png"), [32, 32], |x, y| [(x * 8) as u8, (y * 8) as u8, 7]);
    let vectors = |model: &str| json(place.path(), &["embed", model, "a.png", "--json"])["vectors"].clone();
    assert_eq!(vectors("made.safetensors"), vectors("run"));

    let onto = [&import[..], &["--out", "run/../theirs.safetensors"]].concat();
    let text = complaint(place.path(), &onto, 2);
    assert!(text.contains("is the file that is imported"), "{text}");

    // An import would give it another preprocessing.
    let ours = ["import", "run/model.safetensors", "--encoder", "lenet5", "--input-size", "32"];
    let text = complaint(place.path(), &[&ours[..], &["--out", "b.safetensors"]].concat(), 2);
    assert!(text.contains("run/model.safetensors") && text.contains("can be used as it is"), "{text}");

    let other = ["import", "theirs.safetensors", "--encoder", "resnet18", "--out", "b.safetensors"];
    let text = complaint(place.path(), &other, 1);
    assert!(text.contains("resnet18") && text.contains("bn1.weight"), "{text}");
    fs::write(place.path().join("a.pth"), b"<html>not found</html>").unwrap();
    let text =
        complaint(place.path(), &["import", "a.pth", "--encoder", "resnet18", "--out", "b.safetensors"], 1);
    assert!(text.contains("a.pth") && text.contains("torch.save"), "{text}");
    let text =
        complaint(place.path(), &["import", "a", "--encoder", "resnet-18", "--out", "b.safetensors"], 2);
    assert!(text.contains("unknown value `resnet-18`; did you mean `resnet18`?"), "{text}");
}

#[test]
fn a_model_that_is_there_is_not_replaced() {
    let place = place();
    let config = EncoderConfig { name: Architecture::LeNet5, ..EncoderConfig::default() };
    write_foreign(&place.path().join("theirs.safetensors"), config);
    fs::write(place.path().join("mine.safetensors"), "precious").unwrap();
    let import = ["import", "theirs.safetensors", "--encoder", "lenet5", "--out"];
    let text = complaint(place.path(), &[&import[..], &["mine.safetensors"]].concat(), 2);
    assert!(text.contains("mine.safetensors is there already"), "{text}");
    assert_eq!(fs::read_to_string(place.path().join("mine.safetensors")).unwrap(), "precious");
    // Without --input-size the network has the side that it takes.
    let answer = json(place.path(), &[&import[..], &["new.safetensors", "--json"]].concat());
    assert_eq!(answer["encoder"]["input_size"], 32);
}

#[test]
fn a_setting_that_does_not_fit_is_named_by_its_option() {
    let place = place();
    let import = ["import", "absent.pth", "--encoder", "lenet5", "--out", "m.safetensors"];
    let text = complaint(place.path(), &import, 1);
    assert!(text.contains("cannot read absent.pth"), "{text}");
    for (more, words) in [
        (["--input-size", "64"], "`--input-size` is 64, lenet5 takes 32"),
        (["--stem", "cifar"], "`--stem` is given"),
    ] {
        let text = complaint(place.path(), &[&import[..], &more].concat(), 2);
        assert!(text.contains(words), "{text}");
    }
    let help = stdout(place.path(), &["import", "--help"]);
    assert!(help.contains("[default: 0.485,0.456,0.406]"), "{help}");
}

/// A safetensors file with one more tensor, of one number.
fn with_tensor(bytes: &[u8], name: &str) -> Vec<u8> {
    let (mut header, start) = header(bytes);
    let numbers = &bytes[start..];
    let offsets = [numbers.len(), numbers.len() + 4];
    header[name] = json!({ "dtype": "F32", "shape": [1], "data_offsets": offsets });
    let header = header.to_string();
    [&(header.len() as u64).to_le_bytes(), header.as_bytes(), numbers, &1.0_f32.to_le_bytes()].concat()
}

#[test]
fn tensors_of_another_network_are_left_out_on_purpose_alone() {
    let place = place();
    simile(place.path(), &["train", "fair-digits", "--smoke", "--out", "run"]).assert().success();
    let bytes = foreign(&fs::read(place.path().join("run/model.safetensors")).unwrap());
    fs::write(place.path().join("deeper.safetensors"), with_tensor(&bytes, "conv4.weight")).unwrap();
    let import = [
        "import",
        "deeper.safetensors",
        "--encoder",
        "lenet5",
        "--input-size",
        "32",
        "--out",
        "m.safetensors",
    ];
    let text = complaint(place.path(), &import, 1);
    assert!(text.contains("`conv4.weight`") && text.contains("another network"), "{text}");
    assert!(text.contains("--leave-out") && !place.path().join("m.safetensors").exists(), "{text}");
    let absent = complaint(place.path(), &[&import[..], &["--leave-out", "conv5."]].concat(), 2);
    assert!(absent.contains("`conv5.`"), "{absent}");
    simile(place.path(), &[&import[..], &["--leave-out", "conv4."]].concat()).assert().success();
}

#[test]
fn a_fault_that_an_option_mends_names_the_option() {
    let place = place();
    let config = EncoderConfig { name: Architecture::LeNet5, channels: 1, ..EncoderConfig::default() };
    write_foreign(&place.path().join("grey.safetensors"), config);
    let import = ["import", "grey.safetensors", "--encoder", "lenet5", "--input-size", "32"];
    let import = [&import[..], &["--out", "m.safetensors"]].concat();
    let grey = ["--mean", "0.5", "--std", "0.5"];
    let none: &[&str] = &[];
    for (more, code, said) in [
        (&["--mean", "0.5,0.5"][..], 2, "--mean and --std have as many numbers"),
        (&["--mean", "0.5,0.5", "--std", "0.5,0.5"], 2, "1 or 3"),
        (&["--mean", "123.675,116.28,103.53"], 2, "divide --mean and --std by 255"),
        (&["--std", "58.395,57.12,57.375"], 2, "divide --mean and --std by 255"),
        (&["--mean=-0.5,0.5,0.5"], 2, "--mean: -0.5"),
        (&["--std", "0,0.5,0.5"], 2, "--std: 0,"),
        (&[&["--prefix", "encoder_q"][..], &grey].concat(), 2, "`encoder_q` (--prefix)"),
        (none, 1, "`--mean` and `--std` of one number each"),
    ] {
        let text = complaint(place.path(), &[&import[..], more].concat(), code);
        assert!(text.contains(said), "{more:?}: {text}");
    }
    simile(place.path(), &[&import[..], &grey].concat()).assert().success();
}

#[test]
fn of_two_encoders_the_prefix_is_asked_for_and_taken_without_its_dot() {
    let place = place();
    let file = place.path().join("moco.safetensors");
    write_foreign(&file, EncoderConfig { name: Architecture::LeNet5, ..EncoderConfig::default() });
    let both = under(&fs::read(&file).unwrap(), &["encoder_k.", "encoder_q."]);
    fs::write(&file, both).unwrap();
    let import = ["import", "moco.safetensors", "--encoder", "lenet5", "--input-size", "32"];
    let import = [&import[..], &["--out", "m.safetensors", "--json"]].concat();
    let text = complaint(place.path(), &import, 1);
    assert!(text.contains("`--prefix encoder_k.`") && text.contains("`encoder_q.`"), "{text}");
    let answer = json(place.path(), &[&import[..], &["--prefix", "encoder_q"]].concat());
    assert_eq!(answer["prefix"], "encoder_q.");
}

/// Random networks of torchvision in their usual file formats, and their features of a picture.
const TORCHVISION: &str = r#"
import json, torch, torchvision
from PIL import Image
picture = Image.new("RGB", (64, 64))
picture.putdata([((x * 5) % 256, (y * 3) % 256, (x * y) % 256) for y in range(64) for x in range(64)])
picture.save("picture.png")
image = torchvision.transforms.functional.to_tensor(picture)
image = torchvision.transforms.functional.normalize(image, [0.485, 0.456, 0.406], [0.229, 0.224, 0.225])
answer = {}
def save_wrapped(network, state):
    wrapped = {"module.encoder." + key: value for key, value in state.items() if not key.startswith("fc.")}
    optimizer = torch.optim.SGD(network.parameters(), 0.1, momentum=0.9)
    whole = {"epoch": 7, "arch": "resnet18", "state_dict": wrapped, "optimizer": optimizer.state_dict()}
    torch.save(whole, "resnet18.tar")
    torch.save(state, "resnet18-old.pth", _use_new_zipfile_serialization=False)
for name in ["resnet18", "resnet34", "resnet50", "resnet101"]:
    torch.manual_seed(3)
    network = getattr(torchvision.models, name)()
    with torch.no_grad():
        for module in network.modules():
            if isinstance(module, torch.nn.BatchNorm2d):
                module.running_mean.normal_(0, 0.1)
                module.running_var.uniform_(0.5, 1.5)
    network.eval()
    state = network.state_dict()
    torch.save(state, name + ".pth")
    if name == "resnet18":
        save_wrapped(network, state)
    network.fc = torch.nn.Identity()
    with torch.no_grad():
        answer[name] = network(image[None])[0].tolist()
torch.save(network, "module.pth")
print(json.dumps(answer))
"#;

#[test]
fn files_of_torch_give_torchvisions_features() {
    let Some(python) = simile_tests::python("torch, torchvision, PIL") else { return };
    let place = place();
    let expected = answer(&python, place.path(), TORCHVISION, &[]);
    for (encoder, end, prefix) in [
        ("resnet18", ".pth", ""),
        ("resnet18", ".tar", "state_dict.module.encoder."),
        ("resnet18", "-old.pth", ""),
        ("resnet34", ".pth", ""),
        ("resnet50", ".pth", ""),
        ("resnet101", ".pth", ""),
    ] {
        let file = format!("{encoder}{end}");
        let model = format!("{file}.safetensors");
        let import = ["import", &file, "--encoder", encoder, "--input-size", "64", "--out", &model];
        let answer = json(place.path(), &[&import[..], &["--json"]].concat());
        assert_eq!(answer["prefix"], prefix, "{file}");
        let unused = answer["unused"].as_array().unwrap();
        assert_eq!(unused.contains(&"fc.weight".into()), prefix.is_empty(), "{file}: {unused:?}");
        let embedded = json(place.path(), &["embed", &model, "picture.png", "--json"]);
        let numbers = |values: &Value| -> Vec<f64> {
            values.as_array().unwrap().iter().map(|value| value.as_f64().unwrap()).collect()
        };
        let (vector, expected) = (numbers(&embedded["vectors"][0]), numbers(&expected[encoder]));
        assert_eq!(vector.len(), expected.len());
        let largest = expected.iter().fold(0.0_f64, |most, value| most.max(value.abs()));
        for (value, expected) in vector.iter().zip(&expected) {
            assert!((value - expected).abs() < 1e-4 * largest.max(1.0), "{file}: {value} {expected}");
        }
    }
    let module = ["import", "module.pth", "--encoder", "resnet101", "--out", "m.safetensors"];
    let text = complaint(place.path(), &module, 1);
    assert!(text.contains("torchvision.models.resnet.ResNet") && text.contains("state_dict()"), "{text}");
}

/// Random vision transformers of timm and torchvision, a file in the form of DINO's checkpoints, and features of a picture of each side.
const TRANSFORMERS: &str = r#"
import argparse, json, timm, torch, torchvision
from PIL import Image
def image(side, mean, std):
    picture = Image.new("RGB", (side, side))
    picture.putdata([((x * 5) % 256, (y * 3) % 256, (x * y) % 256) for y in range(side) for x in range(side)])
    picture.save(f"{side}.png")
    tensor = torchvision.transforms.functional.to_tensor(picture)
    return torchvision.transforms.functional.normalize(tensor, mean, std)[None]
def spread(network):
    torch.manual_seed(3)
    with torch.no_grad():
        for name, tensor in network.named_parameters():
            if tensor.dim() == 1:
                tensor.add_(torch.randn_like(tensor), alpha=0.2)
    return network.eval()
answer = {}
half, imagenet = ([0.5] * 3, [0.5] * 3), ([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])
with torch.no_grad():
    for name, model in [("vit-s16", "vit_small_patch16_224"), ("vit-b16", "vit_base_patch16_224")]:
        network = spread(timm.create_model(model, num_classes=0))
        torch.save(network.state_dict(), name + ".pth")
        answer[name] = network(image(224, *half))[0].tolist()
    network = spread(timm.create_model("vit_small_patch16_224"))
    state = network.state_dict()
    torch.save(state, "classes.pth")
    small = timm.create_model("vit_small_patch16_224", img_size=96)
    small.load_state_dict(timm.models.vision_transformer.checkpoint_filter_fn(dict(state), small))
    answer["classes"] = small.eval().forward_head(small.forward_features(image(96, *half)), pre_logits=True)[0].tolist()
    backbone = {key: value for key, value in state.items() if not key.startswith("head.")}
    named = lambda before: {before + key: value for key, value in backbone.items()} | {before.replace("backbone", "head") + "mlp.0.weight": torch.zeros(4, 4)}
    torch.save({"student": named("module.backbone."), "teacher": named("backbone."), "epoch": 5, "args": argparse.Namespace(arch="vit_small")}, "dino.pth")
    network.reset_classifier(0)
    answer["dino"] = network(image(224, *imagenet))[0].tolist()
    network = spread(torchvision.models.vit_b_16())
    torch.save(network.state_dict(), "torchvision.pth")
    network.heads = torch.nn.Identity()
    answer["torchvision"] = network(image(224, *imagenet))[0].tolist()
print(json.dumps(answer))
"#;

#[test]
fn files_of_timm_dino_and_torchvision_give_their_vision_transformers_features() {
    let Some(python) = simile_tests::python("torch, torchvision, timm, PIL") else { return };
    let place = place();
    let expected = answer(&python, place.path(), TRANSFORMERS, &[]);
    let half = ["--mean", "0.5,0.5,0.5", "--std", "0.5,0.5,0.5"];
    let none: &[&str] = &[];
    for (file, encoder, side, more, unused) in [
        ("vit-s16", "vit-s16", "224", &half[..], none),
        ("vit-b16", "vit-b16", "224", &half, none),
        ("classes", "vit-s16", "96", &half, &["head.bias", "head.weight"]),
        ("dino", "vit-s16", "224", &["--prefix", "teacher.backbone."], none),
        ("torchvision", "vit-b16", "224", none, &["heads.head.bias", "heads.head.weight"]),
    ] {
        let (source, model) = (format!("{file}.pth"), format!("{file}.safetensors"));
        let import =
            ["import", &source, "--encoder", encoder, "--input-size", side, "--out", &model, "--json"];
        let answer = json(place.path(), &[&import[..], more].concat());
        if file != "dino" {
            assert_eq!(answer["unused"], json!(unused), "{file}");
        }
        let resampled: &[&str] = if side == "96" { &["pos_embed"] } else { &[] };
        assert_eq!(answer["resampled"], json!(resampled), "{file}");
        let embedded = json(place.path(), &["embed", &model, &format!("{side}.png"), "--json"]);
        let numbers = |values: &Value| -> Vec<f64> { serde_json::from_value(values.clone()).unwrap() };
        let (vector, expected) = (numbers(&embedded["vectors"][0]), numbers(&expected[file]));
        assert_eq!(vector.len(), expected.len(), "{file}");
        let worst = vector.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0_f64, f64::max);
        let largest = expected.iter().fold(0.0_f64, |most, value| most.max(value.abs()));
        assert!(largest > 1.0 && worst < 1e-4, "{file}: {worst} of {largest}");
    }
    let both = ["import", "dino.pth", "--encoder", "vit-s16", "--out", "m.safetensors"];
    let text = complaint(place.path(), &both, 1);
    assert!(text.contains("`student.module.backbone.` and `teacher.backbone.`"), "{text}");
}

#[test]
fn a_narrow_network_is_told_its_width() {
    let place = place();
    let config = EncoderConfig { name: Architecture::ResNet18, width: Some(6), ..EncoderConfig::default() };
    write_foreign(&place.path().join("theirs.safetensors"), config);
    let import = [
        "import",
        "theirs.safetensors",
        "--encoder",
        "resnet18",
        "--input-size",
        "32",
        "--out",
        "m.safetensors",
    ];
    let text = complaint(place.path(), &import, 1);
    assert!(text.contains("conv1.weight") && text.contains("`--width 6`"), "{text}");
    let answer = json(place.path(), &[&import[..], &["--width", "6", "--json"]].concat());
    assert_eq!((&answer["embedding_size"], &answer["encoder"]["width"]), (&48.into(), &6.into()));
}

/// A classifier behind the features is left out, unless `--output` says that the encoder ends with it.
#[test]
fn a_linear_layer_at_the_end_is_taken_where_its_width_is_given() {
    let place = place();
    let config = EncoderConfig {
        name: Architecture::ResNet18,
        width: Some(6),
        output: Some(10),
        ..EncoderConfig::default()
    };
    write(&place.path().join("ours.safetensors"), config, None);
    let ours = fs::read(place.path().join("ours.safetensors")).unwrap();
    fs::write(place.path().join("theirs.safetensors"), foreign(&ours)).unwrap();
    let import = ["import", "theirs.safetensors", "--encoder", "resnet18", "--input-size", "32"];
    // The preprocessing of `ours`.
    let tail = ["--mean", "0.4,0.4,0.4", "--std", "0.3,0.3,0.3", "--json", "--out"];
    let import = [&import[..], &["--width", "6"], &tail].concat();
    let features = json(place.path(), &[&import[..], &["features.safetensors"]].concat());
    assert_eq!(features["embedding_size"], 48);
    assert!(features["unused"].as_array().unwrap().contains(&"fc.weight".into()), "{features}");
    let text = complaint(place.path(), &[&import[..], &["wider.safetensors", "--output", "12"]].concat(), 1);
    assert!(text.contains("`fc.weight` has shape [10, 48], expected [12, 48]"), "{text}");
    let whole = json(place.path(), &[&import[..], &["whole.safetensors", "--output", "10"]].concat());
    assert_eq!((&whole["embedding_size"], &whole["encoder"]["output"]), (&10.into(), &10.into()));
    picture(&place.path().join("a.png"), [32, 32], |x, y| [(x * 8) as u8, (y * 8) as u8, 7]);
    let vectors = |model: &str| json(place.path(), &["embed", model, "a.png", "--json"])["vectors"].clone();
    assert_eq!(vectors("whole.safetensors"), vectors("ours.safetensors"));
}

const FINE_TUNE: &str = r#"
[data]
dataset = "digits"
train = 16
test = 8
[encoder]
name = "vit-s16"
input_size = 32
weights = "imported.safetensors"
[objective]
name = "nt-xent"
[method]
name = "cached"
chunk = 8
statistics = "batch"
[train]
batch = 16
iterations = 1
[probe]
steps = 5
"#;

/// A vision transformer whose positions were learned for 64 pixels goes on at 32, in chunks too.
#[test]
fn a_vision_transformer_is_trained_from_imported_weights() {
    let place = place_with("mine.toml", FINE_TUNE);
    let config = EncoderConfig { name: Architecture::VitS16, input_size: 64, ..EncoderConfig::default() };
    write_foreign(&place.path().join("theirs.safetensors"), config);
    let import = ["import", "theirs.safetensors", "--encoder", "vit-s16", "--input-size", "64"];
    simile(place.path(), &[&import[..], &["--out", "imported.safetensors"]].concat()).assert().success();
    let said = stderr(place.path(), &["train", "mine.toml", "--out", "run"]);
    assert!(said.contains("pos_embed") && said.contains("64 pixels, resampled for 32"), "{said}");
    picture(&place.path().join("a.png"), [32, 32], |_, _| [9, 200, 70]);
    let answer = json(place.path(), &["embed", "run", "a.png", "--json"]);
    assert_eq!(answer["vectors"][0].as_array().map(Vec::len), Some(384), "{answer}");
}
