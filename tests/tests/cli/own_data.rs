//! A user's own pictures and table: their faults, and the verdict on each attribute.

use std::fs;
use std::path::Path;

use serde_json::Value;
use simile_tests::place;

use crate::support::pictures::{picture, tabled, tabled_with};
use crate::support::program::{
    complaint, json, json_of, simile, stderr, stderr_of, stdout, stdout_of, text_of,
};
use crate::support::recipes::Edited as _;
use crate::support::run::result;
use crate::support::scans::scans;

/// The size of a photograph.
const WIDE: [u32; 2] = [120, 90];

/// The colours of a photograph by its number, with a shade outside of its middle square.
fn photograph(at: usize, shade: u8, x: u32, y: u32) -> [u8; 3] {
    match x {
        15..105 => [(at * 37 % 200) as u8 + (x % 7) as u8, (y * 2) as u8, 90],
        _ => [shade; 3],
    }
}

#[test]
fn photographs_are_cropped_whole_and_every_reader_sees_their_middle() {
    let place = place();
    let row = |at: usize| format!("{},{}", ["ill", "well"][at % 2], ["north", "south"][at / 2 % 2]);
    let dark = |at, x, y| photograph(at, 0, x, y);
    tabled_with(&place.path().join("scans"), "label,site", (0..36).map(row), WIDE, dark);
    stdout(place.path(), &["init", "scans", "--hide", "site"]);
    let recipe = fs::read_to_string(place.path().join("scans.toml")).unwrap();
    for line in ["\nfit = \"aspect\" ", "\nside = 56 ", "\nsize = 32 ", "\ncrop = { scale = [0.45, 1.0] } "] {
        assert!(recipe.contains(line), "no {line:?} in\n{recipe}");
    }
    assert!(stdout(place.path(), &["data", "check", "scans.toml", "--data", "scans"]).contains("is sound"));
    let short = ["--set", "train.iterations=1", "--set", "probe.steps=5", "--device", "cpu"];
    let train = ["train", "scans.toml", "--data", "scans", "--out", "run"];
    simile(place.path(), &[&train[..], &short].concat()).assert().success();
    stdout(place.path(), &["evaluate", "run", "--data", "scans", "--device", "cpu"]);
    for (format, out) in [("onnx", "made.onnx"), ("pytorch", "made")] {
        stdout(place.path(), &["export", "run", "--to", format, "--out", out]);
    }
    let embed = ["embed", "run", "scans/3.png", "--device", "cpu"];
    let before = stdout(place.path(), &embed);
    let replace = |by| picture(&place.path().join("scans/3.png"), WIDE, |x, y| photograph(by, 255, x, y));
    replace(3);
    assert_eq!(stdout(place.path(), &embed), before, "only the edges have changed");
    replace(4);
    assert_ne!(stdout(place.path(), &embed), before);
}

fn verdict(run: &Path) -> Vec<String> {
    let said: Vec<Value> = result(run)["verdict"].as_array().unwrap().clone();
    said.iter().map(|sentence| sentence.as_str().unwrap().to_owned()).collect()
}

#[test]
fn an_attribute_of_one_value_in_the_test_pictures_is_noted_before_a_run() {
    let place = place();
    let row = |at: usize| {
        let (label, site) = (["ill", "well"][at % 2], ["north", "south"][at / 2 % 2]);
        if at < 8 { format!("{label},{site},train") } else { format!("{label},north,test") }
    };
    tabled(&place.path().join("scans"), "label,site,split", (0..12).map(row));
    let checked = json(place.path(), &["data", "check", "scans", "--json"]);
    let notes = checked["survey"]["notes"].as_array().unwrap();
    // No attribute was chosen, so that there is none to name in its place.
    let said = "`site` is north in all 4 test images; its leak cannot be measured";
    assert!(notes.iter().any(|note| note == said) && checked["sound"] == true, "{checked}");
}

#[test]
fn finished_runs_of_other_labels_are_not_taken_for_these() {
    let place = place();
    scans(place.path(), 60);
    stdout(place.path(), &["init", "scans", "--hide", "hospital"]);
    fs::create_dir(place.path().join("other")).unwrap();
    for at in 0..60 {
        let name = format!("{at}.png");
        fs::copy(place.path().join("scans").join(&name), place.path().join("other").join(&name)).unwrap();
    }
    // Each picture has the class of the next one.
    let table = fs::read_to_string(place.path().join("scans/images.csv")).unwrap();
    let rows: Vec<Vec<&str>> = table.lines().map(|row| row.split(',').collect()).collect();
    let mut moved = rows.clone();
    for at in 1..rows.len() {
        moved[at][1] = rows[at % (rows.len() - 1) + 1][1];
    }
    let moved: Vec<String> = moved.iter().map(|cells| cells.join(",")).collect();
    fs::write(place.path().join("other/images.csv"), moved.join("\n") + "\n").unwrap();

    let run = |data: &str, seeds: &str| {
        let settings = ["--set", "train.iterations=1", "--set", "probe.steps=5", "--device", "cpu"];
        let words = ["train", "scans.toml", "--data", data, "--seeds", seeds, "--out", "all"];
        simile(place.path(), &[&words[..], &settings].concat()).assert()
    };
    run("scans", "1").success();
    let refused = run("other", "2").failure().code(2);
    let text = stderr_of(refused.get_output());
    assert!(text.contains("the data of") && text.contains("have changed"), "{text}");
    assert!(!place.path().join("all/seed-1").exists(), "nothing is trained beside it");
    run("scans", "2").success();
}

/// The table of a folder with its rows in another order.
fn reorder(table: &Path) {
    let rows = fs::read_to_string(table).unwrap();
    let (header, rows) = rows.split_once('\n').unwrap();
    let mut rows: Vec<&str> = rows.lines().collect();
    rows.reverse();
    fs::write(table, format!("{header}\n{}\n", rows.join("\n"))).unwrap();
}

#[test]
fn a_run_is_not_judged_on_another_split_of_its_pictures() {
    let place = place();
    scans(place.path(), 60);
    let train = ["--set", "train.iterations=1", "--device", "cpu"];
    let first = ["train", "scans", "--hide", "hospital", "--out", "run"];
    simile(place.path(), &[&first[..], &train].concat()).assert().success();
    let table = place.path().join("scans/images.csv");
    let before = fs::read_to_string(&table).unwrap();
    let judge = ["evaluate", "run", "--data", "scans", "--device", "cpu"];
    let embed = ["embed", "run", "--data", "scans", "--out", "run.parquet", "--device", "cpu"];
    let longer = ["train", "--resume", "run", "--set", "train.iterations=2"];
    reorder(&table);
    for command in [&judge[..], &embed] {
        let text = complaint(place.path(), command, 2);
        assert!(text.contains("the data of run have changed"), "{text}");
    }
    // Where the state was deleted, the result knows the pictures.
    fs::remove_dir_all(place.path().join("run/state")).unwrap();
    assert!(complaint(place.path(), &judge, 2).contains("not those of its result"));
    assert!(complaint(place.path(), &longer, 2).contains("cannot be made longer"));
    fs::write(&table, before).unwrap();
    simile(place.path(), &judge).assert().success();
    simile(place.path(), &embed).assert().success();
    let unused = ["evaluate", "run", "--table", "nothing.csv", "--label", "hospital"];
    assert!(complaint(place.path(), &unused, 2).contains("cannot be used with"));
}

/// The rows of `validation` were called `test`, and so were training pictures that `data.validation` held out.
#[test]
fn a_run_that_is_judged_by_validation_is_embedded_with_the_words_of_its_table() {
    let place = place();
    let row = |at: usize| {
        let (label, site) = (["ill", "well"][at % 2], ["north", "south"][at / 2 % 2]);
        format!("{label},{site},{}", if at < 40 { "train" } else { "validation" })
    };
    tabled(&place.path().join("scans"), "label,site,split", (0..60).map(row));
    stdout(place.path(), &["init", "scans", "--hide", "site"]);
    // The answer on the run, that on its table, and all that the command says beside that.
    let judged = |out: &str, more: &[&str]| {
        let train = ["train", "scans.toml", "--data", "scans", "--out", out, "--device", "cpu"];
        let short = ["--variant", "plain", "--set", "train.iterations=1"];
        let train = [&train[..], &short, more].concat();
        simile(place.path(), &train).assert().success();
        let table = format!("{out}.parquet");
        let said = stderr(place.path(), &["embed", out, "--out", &table, "--device", "cpu"]);
        let knn = ["--condition", "site", "--probe", "knn", "--json"];
        let of_run = json(place.path(), &[&["evaluate", out, "--device", "cpu"], &knn[..]].concat());
        let of_table = json(place.path(), &[&["evaluate", "--vectors", &table], &knn[..]].concat());
        for (name, value) in of_run["metrics"].as_object().unwrap() {
            let values = [value, &of_table["metrics"][name]].map(|value| value.as_f64().unwrap());
            assert!((values[0] - values[1]).abs() < 1e-6, "{name}: {values:?}");
        }
        (of_table["protocol"].as_str().unwrap().to_owned(), said)
    };
    let (protocol, _) = judged("run", &[]);
    assert!(
        protocol.contains("fitted to 40 training vectors and measured on 20 validation vectors"),
        "{protocol}"
    );
    let held_out = ["--set", "data.validation=10", "--set", "selection.held_out=8"];
    let (protocol, said) = judged("other", &held_out);
    assert!(
        protocol.contains("fitted to 22 training vectors and measured on 10 validation vectors"),
        "{protocol}"
    );
    assert!(said.contains("note: 8 images by which the encoder was chosen have no row"), "{said}");
}

#[test]
fn runs_that_are_collected_are_of_the_same_pictures() {
    let place = place();
    scans(place.path(), 60);
    stdout(place.path(), &["init", "scans", "--hide", "hospital"]);
    let sweep = |more: &[&str]| {
        let words = [
            "sweep",
            "scans.toml",
            "--data",
            "scans",
            "--variant",
            "plain",
            "--out",
            "all",
            "--device",
            "cpu",
        ];
        let set = [
            "--set",
            "train.iterations=1",
            "--set",
            "data.validation=12",
            "--grid",
            "optimizer.learning_rate=1e-3,1e-2",
        ];
        simile(place.path(), &[&words[..], &set, more].concat()).assert()
    };
    sweep(&["--task", "0"]).success();
    reorder(&place.path().join("scans/images.csv"));
    sweep(&["--task", "1"]).success();
    let refused = sweep(&[]).failure().code(2);
    let text = stderr_of(refused.get_output());
    assert!(text.contains("were trained on different pictures"), "{text}");
}

#[test]
fn a_vector_that_holds_no_number_is_named_by_its_file_and_row() {
    let place = place();
    let rows = |from: usize| {
        let row = |at: usize| if at == 7 { "1,nan\n".to_owned() } else { format!("{at},{}\n", at * at) };
        (from..from + 6).map(row).collect::<String>()
    };
    fs::write(place.path().join("a.csv"), format!("id,v\n{}", rows(0))).unwrap();
    fs::write(place.path().join("b.csv"), format!("id,v\n{}", rows(6))).unwrap();
    let table: String = (0..12).map(|at| format!("{}\n", ["x", "y"][at % 2])).collect();
    fs::write(place.path().join("table.csv"), format!("label\n{table}")).unwrap();
    let text =
        complaint(place.path(), &["evaluate", "--vectors", "a.csv", "b.csv", "--table", "table.csv"], 1);
    assert!(text.contains("b.csv") && text.contains("vector 2, number 1 is NaN"), "{text}");
}

#[test]
fn each_variant_is_judged_by_its_own_attribute() {
    let place = place();
    scans(place.path(), 60);
    let train = ["--set", "train.iterations=2", "--device", "cpu", "--data", "scans"];
    let wishes: [&[&str]; 2] =
        [&["--hide", "hospital", "--hide", "age"], &["--keep", "age", "--hide", "hospital"]];
    for (wish, name) in wishes.iter().zip(["hidden", "kept"]) {
        let file = format!("{name}.toml");
        stdout(place.path(), &[&["init", "scans", "--out", &file], *wish].concat());
        simile(place.path(), &[&["train", &file, "--out", name], &train[..]].concat()).assert().success();
    }
    let said = verdict(&place.path().join("hidden"));
    let of_age = said.iter().find(|sentence| sentence.starts_with("hide age: ")).unwrap();
    assert!(of_age.starts_with("hide age: age can be predicted with an R² of"), "{said:?}");
    assert!(of_age.contains("hospital can be named"), "{said:?}");
    assert!(!said.iter().any(|sentence| sentence.contains("hide age.objective.condition")), "{said:?}");

    let said = verdict(&place.path().join("kept"));
    let of_age: Vec<&String> = said.iter().filter(|sentence| sentence.starts_with("keep age: ")).collect();
    assert!(of_age[0].starts_with("keep age: age can be predicted with an R² of"), "{said:?}");
    assert_eq!(of_age.len(), 1, "an attribute to keep needs no advice on hiding it: {said:?}");
    assert!(!said.iter().any(|sentence| sentence.contains("variant.keep age")), "{said:?}");
}

/// The fit of the probe of the attribute replaced that of the class.
#[test]
fn an_attribute_that_is_called_class_has_results_of_its_own() {
    let place = place();
    let row = |at: usize| {
        let (label, site) = (["ill", "well"][at % 2], ["north", "south"][at / 2 % 2]);
        format!("{label},{site},{}", ["low", "middle", "high"][at % 3])
    };
    tabled(&place.path().join("scans"), "label,site,class", (0..60).map(row));
    stdout(place.path(), &["init", "scans", "--hide", "site", "--keep", "class"]);
    let recipe = fs::read_to_string(place.path().join("scans.toml")).unwrap();
    assert!(recipe.contains("also = [\"class\"]"), "{recipe}");
    let train = ["train", "scans.toml", "--data", "scans", "--out", "run", "--device", "cpu"];
    let short = ["--set", "train.iterations=1", "--set", "probe.steps=5"];
    simile(place.path(), &[&train[..], &short].concat()).assert().success();
    let run = place.path().join("run");
    let result = result(&run);
    let probes: Vec<&String> = result["arms"][0]["probes"].as_object().unwrap().keys().collect();
    let of_class = ["attribute_class", "attribute_class_nonlinear"];
    assert_eq!(probes, [&of_class[..], &["class", "condition", "condition_nonlinear"]].concat());
    let metrics = &result["arms"][0]["metrics"];
    assert!(metrics["attribute_class_top1"].is_number() && metrics["class_top1"].is_null(), "{metrics}");
    let verdict = verdict(&run);
    assert!(verdict.iter().any(|said| said.starts_with("keep class: class can be named")), "{verdict:?}");
}

#[test]
fn a_leak_that_cannot_be_measured_is_said() {
    let place = place();
    let split = |at: usize| if at < 24 { "train" } else { "test" };
    let row = |site: fn(usize) -> &'static str| {
        move |at: usize| format!("{},{},{}", ["a", "b"][at % 2], split(at), site(at))
    };
    tabled(
        &place.path().join("new"),
        "label,split,site",
        (0..36).map(row(|at| if at < 24 { ["x", "y"][at / 2 % 2] } else { "new" })),
    );
    tabled(
        &place.path().join("some"),
        "label,split,site",
        (0..36).map(row(|at| match at {
            0..24 => ["x", "y"][at / 2 % 2],
            24..30 => "x",
            _ => "new",
        })),
    );
    let train = |name: &str| {
        let words = [
            "train",
            name,
            "--hide",
            "site",
            "--set",
            "train.iterations=2",
            "--set",
            "train.batch=8",
            "--out",
        ];
        let out = format!("run-{name}");
        let ran = simile(place.path(), &[&words[..], &[&out, "--device", "cpu"]].concat()).assert().success();
        (stderr_of(ran.get_output()), verdict(&place.path().join(out)))
    };
    let (warned, said) = train("new");
    assert!(warned.contains("no training image has the `site` of any test image, such as new"), "{warned}");
    assert!(said[0].contains("how much of site leaks could not be measured"), "{said:?}");
    assert!(!said.iter().any(|sentence| sentence.contains("hardly reveals")), "{said:?}");
    let (warned, said) = train("some");
    assert!(
        warned.contains("6 of 12 test images have a value of `site` that no training image has"),
        "{warned}"
    );
    assert!(said[0].contains("site can be named"), "{said:?}");
}

#[test]
fn data_that_every_run_refuses_are_not_sound() {
    let place = place();
    for at in 0..6 {
        picture(&place.path().join(format!("one/alone/{at}.png")), [32, 32], |_, _| [9 * at, 80, 200]);
    }
    let refused = simile(place.path(), &["data", "check", "one"]).assert().code(1);
    let text = stdout_of(refused.get_output());
    assert!(text.contains("a classifier needs at least two classes"), "{text}");
    assert_eq!(json_of_failure(place.path(), &["data", "check", "one", "--json"])["sound"], false);

    tabled(
        &place.path().join("untrained"),
        "label,split",
        (0..12).map(|at| match at {
            0..8 => format!("{},train", ["a", "b"][at % 2]),
            _ => format!("{},test", ["a", "c"][at % 2]),
        }),
    );
    let text = complaint(place.path(), &["data", "check", "untrained"], 1);
    assert!(text.contains("the class `c` has no training picture"), "{text}");

    tabled(&place.path().join("twice"), "label", (0..12).map(|at| ["a", "b"][at % 2].to_owned()));
    let table = place.path().join("twice/images.csv");
    let rows = fs::read_to_string(&table).unwrap();
    fs::write(&table, format!("{rows}3.png,b\n")).unwrap();
    let checked = stdout(place.path(), &["data", "check", "twice"]);
    assert!(checked.contains("lines 5 and 14: the picture `3.png` appears twice"), "{checked}");
    for path in ["3.png", "./3.png"] {
        fs::write(&table, format!("{rows}{path},a\n")).unwrap();
        let text = complaint(place.path(), &["train", "twice"], 1);
        assert!(text.contains("`3.png` has two classes, `b` and `a`"), "{path}: {text}");
    }
}

#[test]
fn what_a_random_split_does_to_classes_and_two_columns_of_a_name_are_said() {
    let place = place();
    tabled(&place.path().join("rare"), "label", (0..24).map(|at| format!("{}", at / 2)));
    stdout(place.path(), &["init", "rare", "--out", "rare.toml"]);
    let recipe = fs::read_to_string(place.path().join("rare.toml")).unwrap();
    let check = ["data", "check", "rare.toml", "--data", "rare"];
    fs::write(place.path().join("rare.toml"), recipe.edited("\ntest = ", "\ntest = 12 # ")).unwrap();
    let said = stdout(place.path(), &check);
    for part in ["no picture to test on is of `", "; no picture to train on is of `"] {
        assert!(said.contains(part), "no {part:?} in\n{said}");
    }
    let table = place.path().join("rare/images.csv");
    let rows = fs::read_to_string(&table).unwrap();
    let twice: String =
        rows.lines().map(|row| format!("{row},{}\n", row.split(',').nth(1).unwrap())).collect();
    fs::write(&table, twice).unwrap();
    let refused = simile(place.path(), &check).assert().failure();
    let said = text_of(refused.get_output());
    assert!(said.contains("two columns `label`"), "{said}");
}

#[test]
fn what_is_passed_over_in_folders_of_classes_is_said() {
    let place = place();
    let folder = place.path().join("half");
    let scan = |at: u16| {
        image::ImageBuffer::from_fn(24, 24, move |x, y| image::Luma([254 + at * 8 + (x * 20 + y) as u16]))
    };
    for (class, first) in [("cat", 0), ("dog", 5)] {
        fs::create_dir_all(folder.join(class)).unwrap();
        for at in 0..5 {
            scan(first + at).save(folder.join(format!("{class}/{at}.png"))).unwrap();
        }
    }
    scan(10).save(folder.join("loose.png")).unwrap();
    let checked = stdout(place.path(), &["data", "check", "half"]);
    for part in [
        "the picture loose.png lies in no folder of a class, and is left out",
        "values of 10 16-bit pictures go from 254 to ",
        // The two that are held out are of one class.
        "no picture to test on is of `",
        "`: an accuracy says nothing of these classes",
    ] {
        assert!(checked.contains(part), "no `{part}` in\n{checked}");
    }
}

/// The answer of a command that fails.
fn json_of_failure(place: &Path, arguments: &[&str]) -> Value {
    json_of(simile(place, arguments).assert().failure().get_output())
}

#[test]
fn a_word_among_numbers_and_an_empty_column_are_named() {
    let place = place();
    let weight = |at: usize| if at % 7 == 3 { "NA".to_owned() } else { format!("{}.5", at * 3) };
    tabled(
        &place.path().join("words"),
        "label,weight,empty",
        (0..40).map(|at| format!("{},{},", ["a", "b"][at % 2], weight(at))),
    );
    let said = stderr(place.path(), &["data", "check", "words"]);
    assert!(said.contains("`NA` is not a number"), "{said}");
    let text = complaint(place.path(), &["init", "words", "--hide", "weight"], 2);
    assert!(text.contains("`NA` is not a number"), "{text}");
    let text = complaint(place.path(), &["init", "words", "--hide", "empty"], 2);
    assert!(text.contains("column `empty` is empty"), "{text}");
}

#[test]
fn another_attribute_is_measured_beside_that_of_the_run() {
    let place = place();
    scans(place.path(), 60);
    stdout(place.path(), &["init", "scans", "--hide", "hospital", "--keep", "age"]);
    let train = [
        "train",
        "scans.toml",
        "--data",
        "scans",
        "--set",
        "train.iterations=1",
        "--device",
        "cpu",
        "--out",
        "run",
    ];
    simile(place.path(), &train).assert().success();
    let evaluate = ["evaluate", "run", "--data", "scans", "--condition", "age", "--device", "cpu", "--json"];
    let metrics = json(place.path(), &evaluate)["metrics"].clone();
    for metric in ["condition_r2", "hospital_top1", "hospital_top1_nonlinear"] {
        assert!(metrics[metric].is_number(), "{metric}: {metrics}");
    }
    assert!(metrics.get("age_r2").is_none(), "{metrics}");
}

#[test]
fn a_task_that_cannot_begin_leaves_nothing_to_collect() {
    let place = place();
    let task = ["reproduce", "difficulty-digits", "--scale", "smoke", "--task", "0", "--out", "rep"];
    let text = complaint(place.path(), &task, 2);
    assert!(text.contains("--data DIR"), "{text}");
    assert!(!place.path().join("rep/by-task.txt").exists());
}
