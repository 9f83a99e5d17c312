//! A kernel that compares the codes of an autoencoder or a discriminator, the prior of its condition.

use std::fs;

use tempfile::TempDir;

#[cfg(unix)]
use crate::support::process::interrupt;
use crate::support::program::{complaint, json, simile};
use crate::support::recipes::{Edited as _, classifier, place_with};
#[cfg(unix)]
use crate::support::run::{assert_same_end, result};

/// The run of an autoencoder in `vae`, of `mine.toml`, and in `du.toml` the recipe of an encoder whose kernel compares its codes.
fn with_autoencoder() -> TempDir {
    let autoencoder = classifier()
        .edited("[train]", "[encoder]\nname = \"vae\"\noutput = 8\n\n[method]\nname = \"vae\"\n\n[train]")
        .edited("cross-entropy", "vae");
    let place = place_with("mine.toml", &autoencoder);
    simile(place.path(), &["train", "mine.toml", "--out", "vae"]).assert().success();
    let prior = classifier().edited("[optimizer]", "[data.prior]\nmodel = \"vae\"\n\n[optimizer]").edited(
        "\"cross-entropy\"",
        "\"kernel-decoupled-uniformity\"\ncondition = \"prior\"\nkernel = { name = \"rbf\", sigma = 2.0 }",
    );
    fs::write(place.path().join("du.toml"), &prior).unwrap();
    place
}

#[test]
fn an_autoencoder_is_the_prior_of_a_kernel() {
    let place = with_autoencoder();
    let train = ["train", "du.toml", "--set", "probe.condition=prior", "--out", "du", "--json"];
    let answer = json(place.path(), &train);
    let metrics = &answer["arms"][0]["metrics"];
    assert!(metrics["condition_r2"].is_number(), "{metrics}");
    assert_eq!(&json(place.path(), &["evaluate", "du", "--json"])["metrics"], metrics);
    let on = ["evaluate", "vae", "--on", "du.toml", "--condition", "prior", "--json"];
    assert!(json(place.path(), &on)["metrics"]["condition_r2"].is_number());

    let error = |setting: &str, code: i32| {
        complaint(place.path(), &["train", "du.toml", "--set", setting, "--out", "never"], code)
    };
    assert!(error("data.prior.model=nowhere", 1).contains("data.prior.model"));
    assert!(error("data.prior.modle=vae", 2).contains("did you mean `model`?"));
    let text = complaint(
        place.path(),
        &["train", "mine.toml", "--set", "encoder.name=simple-conv", "--out", "x"],
        2,
    );
    assert!(text.contains("encoder.output"), "{text}");
}

/// Its runs could not go on: no option named the new place.
#[test]
fn a_prior_that_was_moved_is_named_where_it_is_now() {
    let place = with_autoencoder();
    simile(place.path(), &["train", "mine.toml", "--seed", "1", "--out", "other"]).assert().success();
    simile(place.path(), &["train", "du.toml", "--out", "du"]).assert().success();
    fs::rename(place.path().join("vae"), place.path().join("moved")).unwrap();
    let longer = ["train", "--resume", "du", "--set", "train.iterations=8"];
    let text = complaint(place.path(), &longer, 1);
    assert!(text.contains("its state is kept; name the present place of its prior with"), "{text}");
    assert!(text.contains("--set data.prior.model=PATH") && text.contains("vae, is not there"), "{text}");
    let text = complaint(place.path(), &["evaluate", "du"], 1);
    assert!(text.contains("put it back, or a link to it") && text.contains("vae, is not there"), "{text}");
    let now = |model: &'static str| [&longer[..], &["--set", model]].concat();
    let text = complaint(place.path(), &now("data.prior.model=other"), 2);
    assert!(text.contains("other, is another model than the one that the run began with"), "{text}");
    simile(place.path(), &now("data.prior.model=moved")).assert().success();
    simile(place.path(), &["evaluate", "du"]).assert().success();
    let longer = ["train", "--resume", "du", "--set", "train.iterations=10"];
    simile(place.path(), &longer).assert().success();
    // A run whose process ended before the first state is begun with a prior that was moved.
    let run = place.path().join("du");
    fs::remove_dir_all(run.join("state")).unwrap();
    for file in ["result.json", "report.html", "metrics.jsonl", "model.safetensors"] {
        fs::remove_file(run.join(file)).unwrap();
    }
    fs::rename(place.path().join("moved"), place.path().join("again")).unwrap();
    let begin = ["train", "--resume", "du", "--set", "data.prior.model=again"];
    simile(place.path(), &begin).assert().success();
    assert!(fs::read_to_string(run.join("recipe.toml")).unwrap().contains("\"again\""));
}

/// Adversarial networks resume after an interruption with the same result, and their discriminator is a prior.
#[cfg(unix)]
#[test]
fn a_discriminator_resumes_and_is_the_prior_of_a_kernel() {
    let adversaries = classifier()
        .edited("test = 32", "test = 32\nnormalise = \"half\"")
        .edited(
            "[train]",
            "[encoder]\nname = \"dcgan\"\ninput_size = 16\n\n[method]\nname = \"dcgan\"\n\n[train]\ncheckpoint_every = 3",
        )
        .edited("iterations = 6", "iterations = 20");
    let place = place_with("mine.toml", &adversaries);
    simile(place.path(), &["train", "mine.toml", "--out", "whole"]).assert().success();
    interrupt(place.path(), &["train", "mine.toml", "--out", "cut"], "cross-entropy");
    simile(place.path(), &["train", "--resume", "cut"]).assert().success();
    assert_same_end(place.path(), "whole", "cut");
    let metrics = result(&place.path().join("whole"))["arms"][0]["metrics"].clone();
    assert!(
        metrics["classifier_top1"].is_null(),
        "a score of true and made says nothing of classes: {metrics}"
    );
    let prior = classifier().edited("[optimizer]", "[data.prior]\nmodel = \"whole\"\n\n[optimizer]").edited(
        "\"cross-entropy\"",
        "\"kernel-decoupled-uniformity\"\ncondition = \"prior\"\nkernel = { name = \"rbf\", sigma = \"median\" }",
    );
    fs::write(place.path().join("du.toml"), &prior).unwrap();
    simile(place.path(), &["train", "du.toml", "--set", "probe.condition=prior", "--out", "du"])
        .assert()
        .success();
    let wrong = ["train", "mine.toml", "--set", "encoder.input_size=28", "--out", "never"];
    assert!(complaint(place.path(), &wrong, 2).contains("a dcgan takes 16, 32, 64 or 128"));
}
