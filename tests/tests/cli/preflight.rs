//! Faults and doubts that are known before a run trains, and are said then.

use std::fs;

use crate::support::mnist::mnist;
use crate::support::pictures::tabled;
use crate::support::program::{complaint, stderr};
use crate::support::recipes::{classifier, place_with, with_one, with_two_variants};
use crate::support::run::result;

#[test]
fn what_would_fail_after_training_is_said_before() {
    let place = with_one();
    for (set, reason) in [
        ("probe.ridge=-1", "`probe.ridge` is -1"),
        ("probe.ridge=nan", "ridge"),
        ("data.test=1", "at least 2 test images, and has 1: raise `data.test`"),
        ("train.checkpoint_minutes=0", "`train.checkpoint_minutes`"),
        ("probe.sgd.batch=0", "probe"),
    ] {
        let text = complaint(place.path(), &["train", "one.toml", "--set", set], 2);
        assert!(text.contains(reason), "{set}: {text}");
    }
    let selection = ["--set", "selection={ held_out = 8, metric = \"roc_auc\" }"];
    let text = complaint(place.path(), &[&["train", "one.toml"], &selection[..]].concat(), 2);
    assert!(text.contains("`selection.metric` is `roc_auc`"), "{text}");
    assert!(!place.path().join("runs").exists(), "a run was begun");

    mnist(&place.path().join("mnist"), 20, |_| 3);
    let text = complaint(place.path(), &["train", "colour-mnist", "--smoke", "--data", "mnist"], 2);
    assert!(text.contains("20 training images are of the class `3`"), "{text}");
    let train = ["train", "one.toml", "--set", "selection={ held_out = 95 }", "--set", "data.train=96"];
    let text = complaint(place.path(), &train, 2);
    assert!(
        text.contains("all 1 training images are of the class") && !text.contains("--set data"),
        "{text}"
    );
    assert!(text.contains("; raise data.train, or lower selection.held_out"), "{text}");
    tabled(
        &place.path().join("pictures"),
        "label,site",
        (0..20).map(|at| format!("a,{}", ["x", "y"][at % 2])),
    );
    let text = complaint(place.path(), &["train", "pictures", "--hide", "site"], 2);
    assert!(text.contains("are of the class `a`"), "{text}");
    assert!(text.contains("name the column of the class with --label"), "{text}");
    assert!(!place.path().join("runs").exists(), "a run was begun");
}

#[test]
fn what_would_stop_a_run_later_is_refused_before_it_has_a_folder() {
    let place = place_with("mine.toml", &classifier());
    for (setting, reason) in [
        ("probe.condition=height", "no attribute `height` to probe"),
        ("probe.also=[\"height\"]", "no attribute `height` to probe"),
        ("objective={ name = \"biasbal\", bias = \"height\" }", "no attribute `height` to be the bias"),
        ("objective={ name = \"fair-info-nce\", condition = \"height\", clusters = 3 }", "to cluster"),
    ] {
        let train = ["train", "mine.toml", "--set", setting, "--out", "never"];
        let text = complaint(place.path(), &train, 2);
        assert!(text.contains(reason), "{setting}: {text}");
        assert!(!place.path().join("never").exists(), "{setting} left a folder behind");
    }
}

/// It was called a failure of the evaluation, at the line of the variant.
#[test]
fn a_kernel_that_reads_a_column_too_many_is_named_by_its_key() {
    let place = with_two_variants();
    let kernel = "variant.Fair.objective.kernel={ name = \"product\", factors = [{ start = 0, end = 9, kernel = { \
                  name = \"exact-match\" } }] }";
    let text = complaint(place.path(), &["train", "tiny.toml", "--set", kernel], 2);
    let expected = format!("--set {kernel}: variant `Fair`: `kernel.factors` is columns 0 to 9, but");
    assert!(text.contains(&expected) && !text.contains("evaluation"), "{text}");
}

#[test]
fn what_makes_a_run_doubtful_is_said_before_it_trains() {
    let place = with_two_variants();
    let set =
        ["--set", "augment={}", "--set", "variant.Fair.objective.kernel={ name = \"rbf\", sigma = 0.1 }"];
    let arguments = [&["train", "tiny.toml", "--smoke", "--out", "run"], &set[..]].concat();
    let text = stderr(place.path(), &arguments);
    let at = |words: &str| text.find(words).ok_or_else(|| format!("no `{words}` in\n{text}")).unwrap();
    let begun = at("training on");
    for warning in
        ["warning: SimCLR: the two views", "warning: Fair: the two views", "warning: Fair: the kernel"]
    {
        assert!(at(warning) < begun, "{warning} comes too late");
    }
    let warnings = |variant: usize| result(&place.path().join("run"))["arms"][variant]["warnings"].clone();
    assert!(warnings(0)[0].as_str().unwrap().contains("augment.crop"));
    assert!(warnings(1)[1].as_str().unwrap().contains("wider"));
    assert_eq!(result(&place.path().join("run"))["arms"][1]["kernel"], "too-narrow");
    let html = fs::read_to_string(place.path().join("run/report.html")).unwrap();
    assert!(html.contains("Warning") && html.contains("augment.crop"));
}
