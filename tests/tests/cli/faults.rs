//! Mistakes and faults that users meet: a clear message, the right exit code, no partial output.

use std::fs;

use simile_tests::place;

use crate::support::mnist::{idx, mnist};
use crate::support::models;
use crate::support::program::{complaint, simile, stderr_of, stdout, stdout_of, train};
use crate::support::recipes::{Edited as _, TWO_VARIANTS, one, place_with, with_one};
use crate::support::scans::scans;

#[test]
fn an_unknown_recipe_key_names_file_line_and_nearest() {
    let place = place_with("mine.toml", &one().edited("iterations", "iteratoins"));
    let text = complaint(place.path(), &["train", "mine.toml"], 2);
    assert!(
        text.contains("mine.toml") && text.contains("line 12") && text.contains("`iterations`"),
        "{text}"
    );
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
        assert!(stderr_of(&output).contains("is not the complete official data set"));
        let answer = stdout_of(&output);
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
fn a_file_without_images_is_refused() {
    let place = place();
    mnist(&place.path().join("mnist"), 0, |i| i % 10);
    let text = complaint(place.path(), &["train", "colour-mnist", "--data", "mnist"], 1);
    let said = "error: mnist/train-images-idx3-ubyte holds no images; give a data set that is not empty\n";
    assert!(text.ends_with(said) && !place.path().join("runs").exists(), "{text}");
}

#[test]
fn a_folder_that_cannot_be_written_to_is_named() {
    let place = place_with("mine.toml", &one());
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
    let place = place_with("mine.toml", &one());
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

#[test]
fn a_folder_of_one_run_is_none_of_several_and_none_of_pictures() {
    let place = place();
    fs::create_dir(place.path().join("run")).unwrap();
    for file in ["recipe.toml", "report.html", "model.safetensors"] {
        fs::write(place.path().join("run").join(file), "precious").unwrap();
    }
    fs::create_dir(place.path().join("pictures")).unwrap();
    fs::write(place.path().join("pictures/a.png"), "").unwrap();
    let held_out = ["--set", "data.validation=64", "--grid", "train.batch=16,32", "--out", "run"];
    let sweep = [&["sweep", "fair-digits", "--variant", "SimCLR"][..], &held_out].concat();
    for (command, reason) in [
        (&sweep[..], "run holds a run, and not several"),
        (&["reproduce", "cclk-table3", "--out", "run"], "run holds a run, and not several"),
        (&["train", "fair-digits", "--seeds", "2", "--out", "run"], "run holds a run, and not several"),
        (
            &["train", "fair-digits", "--seeds", "2", "--out", "pictures"],
            "pictures holds a.png, which is no run",
        ),
        (&["init", "run"], "`simile train --resume run` resumes it"),
        (&["data", "check", "run"], "`simile train --resume run` resumes it"),
        (&["report", "run", "--out", "run/model.safetensors"], "let its name end with .html"),
    ] {
        let text = complaint(place.path(), command, 2);
        assert!(text.contains(reason), "{command:?}: {text}");
    }
    for file in ["recipe.toml", "report.html", "model.safetensors"] {
        assert_eq!(fs::read_to_string(place.path().join("run").join(file)).unwrap(), "precious", "{file}");
    }
    assert_eq!(fs::read_dir(place.path().join("run")).unwrap().count(), 3, "something was written");
}

#[test]
fn a_name_of_another_command_or_in_another_case_is_told_the_right_one() {
    let place = place();
    for (command, reason) in [
        (
            &["train", "cclk-table3"][..],
            "`cclk-table3` is a published table or figure: `simile reproduce cclk-table3`",
        ),
        (&["reproduce", "fair-digits"], "`fair-digits` is a recipe: `simile train fair-digits`"),
        (&["data", "measure", "digits"], "`digits` is a data set"),
        (&["data", "list", "fair-digits"], "`fair-digits` is a recipe"),
        (&["data", "check", "cclk-table3"], "`cclk-table3` is a published table or figure"),
        (&["recipes", "show", "digits"], "`digits` is a data set"),
        (&["reproduce", "CCLK-table3"], "did you mean `cclk-table3`?"),
        (&["train", "Fair-Digits"], "did you mean `fair-digits`?"),
        (&["objectives", "InfoNCE"], "did you mean `info-nce`?"),
        (&["keys", "trian"], "did you mean `train`?"),
        (&["keys", "optimizer.learning_rat"], "did you mean `optimizer.learning_rate`?"),
        (&["train", "--profile", "fair-digits"], "the recipe stands before `--profile`"),
    ] {
        let text = complaint(place.path(), command, 2);
        assert!(text.contains(reason), "{command:?}: {text}");
    }
}

#[test]
fn a_table_and_pictures_are_found_as_a_shell_completes_them() {
    let place = place();
    scans(place.path(), 60);
    let checked = |csv: &str| stdout(place.path(), &["data", "check", "scans", "--csv", csv]);
    assert_eq!(checked("scans/images.csv"), checked("images.csv"));
    let config = simile_core::nn::EncoderConfig::default();
    models::write(&place.path().join("m.safetensors"), config, None);
    let text = complaint(place.path(), &["embed", "m.safetensors", "scans"], 2);
    assert!(text.contains("scans is a folder; name its pictures, such as scans/*.png"), "{text}");
    let text = complaint(place.path(), &["embed", "m.safetensors", "none/*.png"], 1);
    assert!(text.contains("no file matches the pattern") && !text.contains("repair"), "{text}");
}

#[test]
fn a_name_leads_nowhere() {
    let place = with_one();
    let outside = place.path().join("evil");
    let absolute = outside.display().to_string();
    fs::create_dir(place.path().join("inside")).unwrap();
    for name in ["../evil", "../../evil", &absolute, "a/b", "..", "a\\u001b[31mb"] {
        fs::write(place.path().join("inside/evil.toml"), format!("name = \"{name}\"\n{}", one())).unwrap();
        let text = complaint(&place.path().join("inside"), &["train", "evil.toml"], 2);
        assert!(text.contains("line 1") && text.contains("cannot be that of a file"), "{name}: {text}");
        assert!(!text.contains('\u{1b}'), "{text:?}");
        let variant = TWO_VARIANTS.edited("name = \"Fair\"", &format!("name = \"{name}\""));
        fs::write(place.path().join("inside/evil.toml"), variant).unwrap();
        let text = complaint(&place.path().join("inside"), &["train", "evil.toml"], 2);
        assert!(text.contains("cannot be that of a file"), "{name}: {text}");
    }
    complaint(place.path(), &["train", "one.toml", "--set", "name=../evil"], 2);
    assert!(!outside.exists() && !place.path().join("runs").exists());
    assert_eq!(fs::read_dir(place.path().join("inside")).unwrap().count(), 1);

    // The names of variants may have spaces.
    let variant = TWO_VARIANTS.edited("name = \"Fair\"", "name = \"Fair, 2 of 2\"");
    fs::write(place.path().join("spaces.toml"), variant).unwrap();
    train(place.path(), &["spaces.toml", "--smoke", "--out", "run"]);
    assert!(place.path().join("run/model-fair-2-of-2.safetensors").exists());
}

#[test]
fn a_terminal_obeys_no_name_and_a_cause_is_told_once() {
    let place = place();
    let text = complaint(place.path(), &["report", "a\u{1b}[31mb\u{7}"], 2);
    assert!(text.contains("a\\u{1b}[31mb\\u{7}") && !text.contains('\u{1b}'), "{text:?}");
    fs::write(place.path().join("a\u{1b}[31m.toml"), one().edited("batch", "bacth")).unwrap();
    let text = complaint(place.path(), &["train", "a\u{1b}[31m.toml"], 2);
    assert!(text.contains("bacth") && !text.contains('\u{1b}'), "{text:?}");
    for arguments in [&["embed", "nowhere.safetensors", "a.png"][..], &["evaluate", "nowhere.safetensors"]] {
        let text = complaint(place.path(), arguments, 1);
        assert_eq!(text.matches("No such file").count(), 1, "{text}");
    }
}

#[test]
fn options_without_effect_are_refused() {
    let place = place();
    // A folder of one's own may be named as a recipe or a data set that ships.
    fs::create_dir(place.path().join("celeba")).unwrap();
    fs::create_dir(place.path().join("run")).unwrap();
    let recipe = "name = \"mine\"\n[data]\ndataset = \"digits\"\ntrain = 64\ntest = 32\n[train]\nbatch = 16\niterations = 2\n\
                  [objective]\nname = \"nt-xent\"\n";
    fs::write(place.path().join("run/recipe.toml"), recipe).unwrap();
    let refused: [(&[&str], &str); 11] = [
        (&["completions", "bash", "--json"], "leave out --json"),
        (&["data", "preview", "digits", "--out", "a.jpg"], "let its name end with .png"),
        (&["train", "fair-digits", "--data", "nope"], "--data names nope, which is not there"),
        (&["train", "--resume", "run", "--data", "nope"], "--data names nope, which is not there"),
        (
            &["train", "fair-digits", "--data", "celeba"],
            "--data names celeba, which would not be read; `digits` is drawn",
        ),
        (&["data", "check", "digits", "--data", "celeba"], "`simile init celeba` writes a recipe"),
        (
            &[
                "sweep",
                "fair-digits",
                "--variant",
                "SimCLR",
                "--grid",
                "train.batch=16,32",
                "--set",
                "data.validation=64",
                "--data",
                "nope",
            ],
            "--data names nope, which is not there",
        ),
        (&["data", "check", "digits", "--data", "nope"], "--data names nope, which is not there"),
        (
            &["train", "fair-digits", "--seed", "3", "--set", "train.seed=4"],
            "--seed 3 and --set train.seed=4 differ",
        ),
        (&["train", "celeba", "--hide", "hospital"], "write ./celeba for the folder"),
        (&["data", "check", "celeba", "--label", "hospital"], "write ./celeba for the folder"),
    ];
    for (command, reason) in refused {
        let text = complaint(place.path(), command, 2);
        assert!(text.contains(reason), "{text}");
    }
}
