//! Data sets of picture files in the layouts of their authors, from the command line.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use simile_tests::place;

use crate::support::pictures;
use crate::support::program::{complaint, json as answer, json_of, simile, stdout};
use crate::support::recipes::{Edited as _, of_data_set};
use crate::support::run::assert_share_of;

fn picture(path: &Path, shade: u8) {
    pictures::picture(path, [24, 18], |x, y| [shade, (x * 9) as u8, (y * 9) as u8]);
}

/// The JSON document of a check, for any exit code.
fn check(place: &Path, name: &str) -> Value {
    let output = simile(place, &["data", "check", name, "--data", ".", "--json"]).output().unwrap();
    json_of(&output)
}

/// The metrics of a run, whose accuracy is one on its test images.
fn train(place: &Path, recipe: &str) -> Value {
    fs::write(place.join("recipe.toml"), recipe).unwrap();
    let run = answer(place, &["train", "recipe.toml", "--data", ".", "--json"]);
    let metrics = run["arms"][0]["metrics"].clone();
    assert_share_of(&metrics["top1"], run["images"]["test"].as_u64().unwrap() as u32);
    metrics
}

#[test]
fn birds_with_their_attributes() {
    let place = place();
    let root = place.path().join("CUB_200_2011");
    let (mut images, mut labels, mut split, mut attributes) =
        (String::new(), String::new(), String::new(), String::new());
    for id in 1..=12_usize {
        let class = id % 2;
        let name = format!("00{}.Bird_{class}/Bird_{id}.jpg", class + 1);
        picture(&root.join("images").join(&name), (id * 20) as u8);
        images += &format!("{id} {name}\n");
        labels += &format!("{id} {}\n", class + 1);
        split += &format!("{id} {}\n", usize::from(id <= 8));
        for attribute in 1..=312 {
            attributes += &format!("{id} {attribute} {} 3 27.708\n", usize::from((id * attribute) % 5 == 0));
        }
    }
    fs::create_dir(root.join("attributes")).unwrap();
    for (name, text) in [
        ("images.txt", images.as_str()),
        ("image_class_labels.txt", &labels),
        ("train_test_split.txt", &split),
        ("classes.txt", "1 001.Bird_0\n2 002.Bird_1\n"),
        ("attributes/image_attribute_labels.txt", &attributes),
    ] {
        fs::write(root.join(name), text).unwrap();
    }
    let checked = check(place.path(), "cub-200-2011");
    assert_eq!(checked["pictures"], json!({ "listed": 12, "broken": [], "notes": [] }));
    assert!(checked["problem"].as_str().unwrap().contains("the official data set has 11788"), "{checked}");
    stdout(place.path(), &["data", "preview", "cub-200-2011", "--data", ".", "--out", "birds.png"]);
    assert!(image::open(place.path().join("birds.png")).unwrap().width() > 100);
    train(place.path(), &of_data_set("cub-200-2011", "", "attributes"));
    let judged =
        ["train", "recipe.toml", "--data", ".", "--out", "judged", "--set", "data.judged_by=validation"];
    let error = complaint(place.path(), &judged, 2);
    assert!(error.contains("no validation pictures") && error.contains("data.judged_by=test"), "{error}");

    fs::write(root.join("images/001.Bird_0/Bird_2.jpg"), b"no picture").unwrap();
    fs::remove_file(root.join("images/002.Bird_1/Bird_1.jpg")).unwrap();
    let broken = check(place.path(), "cub-200-2011")["pictures"]["broken"].to_string();
    assert!(broken.contains("Bird_1.jpg") && broken.contains("Bird_2.jpg"), "{broken}");
    let refused = complaint(place.path(), &["train", "recipe.toml", "--data", ".", "--out", "refused"], 1);
    assert!(refused.contains("Bird_1.jpg") && refused.contains("data.broken=skip"), "{refused}");
    let skipped = ["train", "recipe.toml", "--data", ".", "--out", "skipped", "--set", "data.broken=skip"];
    simile(place.path(), &skipped).assert().success();
    fs::write(root.join("train_test_split.txt"), split.edited("\n7 1\n", "\n7 2\n")).unwrap();
    let wrong = complaint(place.path(), &["train", "recipe.toml", "--data", ".", "--out", "wrong"], 1);
    assert!(wrong.contains("train_test_split.txt, line 7"), "{wrong}");
}

#[test]
fn shoes_with_their_attributes() {
    let place = place();
    let root = place.path().join("ut-zappos50k");
    let groups = [
        ("Category", 4),
        ("SubCategory", 21),
        ("HeelHeight", 7),
        ("Insole", 20),
        ("Closure", 19),
        ("Gender", 8),
    ];
    let groups = groups.into_iter().chain([("Material", 54), ("ToeStyle", 18)]);
    let columns: Vec<String> =
        groups.flat_map(|(group, n)| (0..n).map(move |i| format!("\"{group}.V{i}\""))).collect();
    assert_eq!(columns.len(), 151);
    let mut table = format!("\"CID\",{}\n", columns.join(","));
    for i in 0..20_usize {
        picture(
            &root.join(format!("ut-zap50k-images/Shoes/Flats/A Brand/{}.{i}.jpg", 7000 + i)),
            (i * 10) as u8,
        );
        let bits = (0..151).map(|at| if at == 4 + i % 3 || at == 25 + i { ",1" } else { ",0" });
        table += &format!("{}-{i}{}\n", 7000 + i, bits.collect::<String>());
    }
    fs::create_dir(root.join("ut-zap50k-data")).unwrap();
    fs::write(root.join("ut-zap50k-data/meta-data-bin.csv"), table).unwrap();
    assert_eq!(check(place.path(), "ut-zappos50k")["pictures"]["listed"], 20);
    let keys = "fit = \"whole\"\nsplit = { test = 0.3, seed = 4 }";
    train(place.path(), &of_data_set("ut-zappos50k", keys, "attributes"));
    let misplaced = of_data_set("ut-zappos50k", "faces = { seed = 1 }", "attributes");
    fs::write(place.path().join("misplaced.toml"), misplaced).unwrap();
    let error = complaint(place.path(), &["train", "misplaced.toml", "--data", "."], 2);
    assert!(error.contains("misplaced.toml, line 3") && error.contains("data.faces"), "{error}");
    let misspelt = of_data_set("ut-zappos50k", "split = { tset = 0.3 }", "attributes");
    fs::write(place.path().join("misspelt.toml"), misspelt).unwrap();
    let error = complaint(place.path(), &["train", "misspelt.toml", "--data", "."], 2);
    assert!(error.contains("`tset`") && error.contains("`test`"), "{error}");
}

#[test]
fn faces_with_their_bias() {
    let place = place();
    for i in 0..40_usize {
        let name = format!(
            "{}_{}_{}_20170116{i:09}.jpg.chip.jpg",
            3 * (i % 20),
            i % 2,
            if i % 5 == 0 { i % 2 } else { (i + 1) % 2 * 2 }
        );
        picture(&place.path().join("UTKFace").join(name), (i * 6) as u8);
    }
    picture(&place.path().join("UTKFace/61_1_20170109142408075.jpg.chip.jpg"), 0);
    let checked = check(place.path(), "utkface");
    let note = checked["pictures"]["notes"][0].as_str().unwrap();
    assert!(note.starts_with("left out 1 file without age") && note.contains("61_1_2017"), "{checked}");
    // Those too that the published sampling, the default, leaves out.
    assert_eq!(checked["pictures"]["listed"], 40, "{checked}");
    let all = "faces = { sampling = \"all\", bias = \"race\" }";
    train(place.path(), &of_data_set("utkface", all, "bias"));

    let mut attributes = "24\nBlond_Hair Heavy_Makeup Male\n".to_owned();
    let mut partition = String::new();
    for i in 0..24_usize {
        let sign = |bit: bool| if bit { "1" } else { "-1" };
        attributes += &format!("{i:06}.jpg {} {} {}\n", sign(i % 3 == 0), sign(i % 2 == 0), sign(i % 4 < 2));
        partition += &format!("{i:06}.jpg {}\n", if i < 14 { 0 } else { 1 + i % 2 });
        picture(&place.path().join(format!("celeba/img_align_celeba/{i:06}.jpg")), (i * 9) as u8);
    }
    fs::write(place.path().join("celeba/list_attr_celeba.txt"), attributes).unwrap();
    // Where a list is missing, the pictures, which are there, were called missing too.
    let checked = check(place.path(), "celeba");
    assert!(checked["problem"].as_str().unwrap().contains("list_eval_partition.txt (or .csv)"), "{checked}");
    assert_eq!(checked["files"], json!([]), "{checked}");
    fs::write(place.path().join("celeba/list_eval_partition.txt"), partition).unwrap();
    let (faces, elsewhere) = (place.path().join("celeba/img_align_celeba"), place.path().join("elsewhere"));
    fs::rename(&faces, &elsewhere).unwrap();
    let broken = check(place.path(), "celeba")["pictures"]["broken"].clone();
    assert_eq!(broken.as_array().unwrap().len(), 24, "{broken}");
    assert!(broken.to_string().contains("img_align_celeba/000000.jpg"), "{broken}");
    fs::rename(&elsewhere, &faces).unwrap();
    let checked = check(place.path(), "celeba");
    assert_eq!(checked["pictures"]["listed"], 24, "{checked}");
    assert!(checked["problem"].as_str().unwrap().contains("the official data set has 202599"), "{checked}");
    let keys = "judged_by = \"validation\"\nfaces = { target = \"heavy-makeup\", bias = \"male\", sampling = \"all\" }";
    train(place.path(), &of_data_set("celeba", keys, "attributes"));
    train_published(place.path());

    // The encoder is chosen on the official validation split, and evaluated on the test split.
    let selection = "\n[selection]\nofficial = true\nevery = 1\n";
    let chosen = of_data_set("celeba", keys, "attributes") + selection;
    fs::write(place.path().join("chosen.toml"), &chosen).unwrap();
    let error = complaint(place.path(), &["train", "chosen.toml", "--data", "."], 2);
    assert!(error.contains("selection.official") && error.contains("data.judged_by"), "{error}");
    let keys = keys.edited("judged_by = \"validation\"\n", "");
    fs::write(place.path().join("chosen.toml"), of_data_set("celeba", &keys, "attributes") + selection)
        .unwrap();
    let run = answer(place.path(), &["train", "chosen.toml", "--data", ".", "--json"]);
    let protocol = run["arms"][0]["protocol"].as_str().unwrap();
    assert!(protocol.contains("5 images of the validation split"), "{protocol}");
}

fn train_published(place: &Path) {
    let out = ["--out", "published"];
    fs::write(place.join("published.toml"), of_data_set("celeba", "", "bias")).unwrap();
    let arguments = ["train", "published.toml", "--data", ".", "--json"];
    let run = answer(place, &[&arguments[..], &out].concat());
    assert!(run["arms"].is_array());
}

#[test]
fn radiographs_with_uncertain_labels() {
    let place = place();
    let root = place.path().join("CheXpert-v1.0-small");
    let header = "Path,Sex,Age,Frontal/Lateral,AP/PA,No Finding,Enlarged Cardiomediastinum,Cardiomegaly,Lung Opacity,Lung \
                  Lesion,Edema,Consolidation,Pneumonia,Atelectasis,Pneumothorax,Pleural Effusion,Pleural Other,Fracture,Support \
                  Devices\n";
    let rows = |split: &str, n: usize| {
        let row = |i: usize| {
            let path = format!("{split}/patient{i:05}/study1/view1_frontal.jpg");
            picture(&root.join(&path), (i * 9) as u8);
            let state = ["1.0", "0.0", "-1.0", ""][if split == "train" { i % 4 } else { i % 2 }];
            format!("CheXpert-v1.0-small/{path},Male,50,Frontal,AP,,,{state},,,{state},,,1.0,,{state},,,\n")
        };
        (0..n).map(row).collect::<String>()
    };
    fs::create_dir(&root).unwrap();
    fs::write(root.join("train.csv"), format!("{header}{}", rows("train", 16))).unwrap();
    fs::write(root.join("valid.csv"), format!("{header}{}", rows("valid", 6))).unwrap();
    let checked = check(place.path(), "chexpert");
    // A quarter of the training labels are uncertain and left out.
    assert_eq!(
        (&checked["train"]["images"], &checked["test"]["images"]),
        (&12.into(), &6.into()),
        "{checked}"
    );
    assert_eq!(checked["pictures"]["listed"], 22, "{checked}");
    let keys = "chexpert = { target = \"edema\", uncertain = \"present\" }";
    let metrics = train(place.path(), &of_data_set("chexpert", keys, "pleural-effusion"));
    assert!(metrics["condition_top1"].is_number(), "{metrics}");
}

#[test]
fn folders_of_classes_with_features_of_another_network() {
    let place = place();
    let mut paths = String::new();
    let mut features: Vec<u8> = Vec::new();
    for i in 0..12_usize {
        let name = format!("train/n0{}/images/n0{}_{i}.JPEG", i % 2, i % 2);
        picture(&place.path().join("tiny-imagenet-200").join(&name), (i * 20) as u8);
        paths += &format!("/other/machine/{name}\n");
        features.extend([i as f32, 1.0].map(f32::to_le_bytes).concat());
    }
    let mut annotations = String::new();
    for i in 0..4_usize {
        picture(&place.path().join(format!("tiny-imagenet-200/val/images/val_{i}.JPEG")), 100);
        annotations += &format!("val_{i}.JPEG\tn0{}\t0\t32\t44\t62\n", i % 2);
    }
    fs::write(place.path().join("tiny-imagenet-200/val/val_annotations.txt"), annotations).unwrap();
    fs::write(place.path().join("tiny-imagenet-200/wnids.txt"), "n00\nn01\n").unwrap();
    fs::write(place.path().join("paths.txt"), &paths).unwrap();
    let header = "{'descr': '<f4', 'fortran_order': False, 'shape': (12, 2), }\n";
    let length = (header.len() as u16).to_le_bytes();
    let npy = [b"\x93NUMPY\x01\x00", &length[..], header.as_bytes(), &features].concat();
    fs::write(place.path().join("clip.npy"), npy).unwrap();
    let keys = "features = { file = \"clip.npy\", paths = \"paths.txt\", name = \"clip\" }";
    let text =
        of_data_set("tiny-imagenet", keys, "clip").edited("name = \"fair-cclk\"", "name = \"weaksup-cclk\"");
    fs::write(place.path().join("tiny.toml"), &text).unwrap();
    let checked = answer(place.path(), &["data", "check", "tiny.toml", "--data", ".", "--json"]);
    assert_eq!(
        (&checked["train"]["variables"], &checked["test"]["images"]),
        (&json!(["clip"]), &4.into()),
        "{checked}"
    );
    fs::write(place.path().join("paths.txt"), paths.edited("n01_3", "n01_33")).unwrap();
    let error = complaint(place.path(), &["data", "check", "tiny.toml", "--data", "."], 1);
    assert!(error.contains("n01_3.JPEG") && error.contains("clip.npy"), "{error}");
}

#[test]
fn objects_are_split_by_class() {
    let place = place();
    for (class, count) in [("bass", 6), ("beaver", 5), ("BACKGROUND_Google", 9)] {
        for i in 0..count {
            picture(
                &place.path().join(format!("caltech-101/101_ObjectCategories/{class}/image_{i:04}.jpg")),
                i * 20,
            );
        }
    }
    let text = of_data_set("caltech-101", "split = { per_class = 3, seed = 1 }", "colour");
    fs::write(place.path().join("objects.toml"), text).unwrap();
    let checked = answer(place.path(), &["data", "check", "objects.toml", "--data", ".", "--json"]);
    assert_eq!(
        (&checked["train"]["class_counts"], &checked["test"]["class_counts"]),
        (&json!([3, 3]), &json!([3, 2]))
    );
    // The usual thirty images of each class are missing.
    let usual = check(place.path(), "caltech-101");
    assert!(
        usual["problem"].as_str().unwrap().contains("`per_class` is 30, but `bass` has 6 pictures"),
        "{usual}"
    );
}

/// ImageNet as its authors lay it out, in small: so many training and validation pictures of each of four classes. The
/// validation pictures lie in folders of their classes, or flat with a list.
fn imagenet(place: &Path, is_flat: bool) {
    let root = place.join("ILSVRC2012");
    let mut list = String::new();
    let mut of_val = 0;
    for (class, train, val) in [("n01", 6, 1), ("n02", 5, 2), ("n03", 7, 3), ("n04", 4, 4)] {
        for i in 0..train {
            picture(&root.join(format!("train/{class}/{class}_{i}.JPEG")), i * 30);
        }
        for _ in 0..val {
            of_val += 1;
            let name = format!("ILSVRC2012_val_{of_val:08}.JPEG");
            let folder = if is_flat { String::new() } else { format!("{class}/") };
            picture(&root.join(format!("val/{folder}{name}")), of_val * 20);
            list += &format!("{name} {class}\n");
        }
    }
    if is_flat {
        fs::write(root.join("val.txt"), list).unwrap();
    }
}

/// A step on photographs of their own shape, judged by the centre of larger ones, with further keys of `[data]`.
fn one_step(dataset: &str, keys: &str) -> String {
    format!(
        "[data]\ndataset = \"{dataset}\"\nfit = \"aspect\"\nside = 40\ncentre_crop = true\n{keys}\n\n[encoder]\nname = \
         \"lenet5\"\n\n[augment]\npreset = \"contex\"\nsize = 32\n\n[train]\nbatch = 4\niterations = 1\n\n[probe]\nsteps = \
         3\n\n[objective]\nname = \"supcon\"\n"
    )
}

#[test]
fn imagenet_and_a_hundred_of_its_classes_in_small() {
    for is_flat in [false, true] {
        let place = place();
        imagenet(place.path(), is_flat);
        let counts = |recipe: &str| {
            fs::write(place.path().join("recipe.toml"), recipe).unwrap();
            let checked = answer(place.path(), &["data", "check", "recipe.toml", "--data", ".", "--json"]);
            [&checked["train"]["class_counts"], &checked["test"]["class_counts"]].map(Value::clone)
        };
        assert_eq!(counts(&one_step("imagenet", "")), [json!([6, 5, 7, 4]), json!([1, 2, 3, 4])]);
        train(place.path(), &one_step("imagenet", ""));

        // Classes are numbered in order of their names, whatever their order in the list and the rest of its lines.
        let listed = one_step("imagenet-100", "folders = { classes = \"classes.txt\" }");
        fs::write(place.path().join("classes.txt"), "n04 goldfish\nn02\nn01 tench, Tinca tinca\n").unwrap();
        assert_eq!(counts(&listed), [json!([6, 5, 4]), json!([1, 2, 4])]);
        train(place.path(), &listed);
        fs::write(place.path().join("classes.txt"), "n02\nn09 sea lion\n").unwrap();
        let error = complaint(place.path(), &["train", "recipe.toml", "--data", ".", "--out", "absent"], 1);
        assert!(error.contains("n09") && error.contains("not a folder"), "{error}");
        fs::remove_file(place.path().join("classes.txt")).unwrap();
        let error = complaint(place.path(), &["train", "recipe.toml", "--data", ".", "--out", "absent"], 1);
        assert!(error.contains("classes.txt"), "{error}");
    }
}

#[test]
fn the_validation_pictures_of_imagenet_need_their_classes() {
    let place = place();
    imagenet(place.path(), true);
    fs::remove_file(place.path().join("ILSVRC2012/val.txt")).unwrap();
    fs::write(place.path().join("recipe.toml"), one_step("imagenet", "")).unwrap();
    let error = complaint(place.path(), &["train", "recipe.toml", "--data", "."], 1);
    assert!(error.contains("ILSVRC2012_val_00000001.JPEG") && error.contains("val.txt"), "{error}");
}
