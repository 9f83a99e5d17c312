//! The memory of a run: estimated before it begins, and told while it trains.

use std::fs;
use std::path::Path;

use assert_cmd::Command;
use tempfile::TempDir;

#[cfg(target_os = "linux")]
use crate::support::process::start;
use crate::support::program::{simile, stderr_of};
use crate::support::recipes::place_with;

/// Pictures that nobody can decode.
const BROKEN: &str = r#"
[data]
dataset = "table"

[data.table]
csv = "images.csv"
split = "split"

[encoder]
name = "resnet18"
input_size = 64

[augment]
crop = { scale = [0.5, 1.0] }

[train]
batch = 64
iterations = 2

[objective]
name = "nt-xent"
"#;

fn with_broken_pictures() -> TempDir {
    let place = place_with("mine.toml", BROKEN);
    let mut table = "file,label,split\n".to_owned();
    for i in 0..96 {
        fs::write(place.path().join(format!("{i}.png")), b"not a picture").unwrap();
        let (shape, split) = (["grid", "stripes"][i % 2], if i < 80 { "train" } else { "test" });
        table += &format!("{i}.png,{shape},{split}\n");
    }
    fs::write(place.path().join("images.csv"), table).unwrap();
    place
}

/// A run with so many MiB of memory.
fn within(place: &Path, mebibytes: &str, set: &[&str]) -> Command {
    let set: Vec<&str> = set.iter().flat_map(|setting| ["--set", setting]).collect();
    let mut command =
        simile(place, &[&["train", "mine.toml", "--data", ".", "--out", "run"], &set[..]].concat());
    command.env("SIMILE_MEMORY", mebibytes);
    command
}

/// The text on stderr of a run that fails with a code.
fn told(mut command: Command, code: i32) -> String {
    stderr_of(command.assert().code(code).get_output())
}

/// The number after a text.
fn number(text: &str, after: &str) -> f64 {
    let rest = text.split(after).nth(1).unwrap_or_default();
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    assert!(!digits.is_empty(), "no number after `{after}` in {text}");
    digits.parse().unwrap()
}

#[test]
fn a_batch_that_cannot_fit_is_refused_before_any_picture_is_decoded_with_the_chunk_that_does() {
    let place = with_broken_pictures();
    let text = told(within(place.path(), "300", &[]), 2);
    assert!(text.contains("`train.batch` is 64") && text.contains("resnet18"), "{text}");
    assert!(text.contains("SIMILE_MEMORY allows 315 MB") && !text.contains(".png"), "{text}");
    let chunk = number(&text, "name = \"cached\", chunk = ");
    assert!((4.0..48.0).contains(&chunk), "{text}");
    assert_eq!(number(&text, "lower train.batch to "), chunk);
    assert!(!place.path().join("run").exists());

    // Either remedy is taken, and the run goes on to its pictures.
    let cached = |chunk: f64| format!("method={{ name = \"cached\", chunk = {chunk} }}");
    for remedy in [cached(chunk), format!("train.batch={chunk}")] {
        let text = told(within(place.path(), "300", &[&remedy]), 1);
        assert!(text.contains("a step takes at least") && text.contains(".png"), "{remedy}: {text}");
    }
    let text = told(within(place.path(), "300", &[&cached(64.0)]), 2);
    assert!(text.contains("`method.chunk` is 64"), "{text}");
    assert_eq!(number(&text, "lower it to "), chunk);

    // The key encoder has no graph, and the biased network has one of its own.
    let moco = ["method={ name = \"moco\", queue = 64 }", "objective={ name = \"moco\" }"];
    let largest = number(&told(within(place.path(), "300", &moco), 2), "lower it to ");
    let lff = ["method={ name = \"lff\" }", "objective={ name = \"lff\" }"];
    let text = told(within(place.path(), "300", &lff), 2);
    assert!(text.contains("no batch fits") && largest < 64.0, "{text} {largest}");

    assert!(told(within(place.path(), "much", &[]), 2).contains("SIMILE_MEMORY is `much`"));
    assert!(told(within(place.path(), "", &[]), 1).contains(".png"));
}

#[test]
fn pictures_count_in_their_own_size() {
    let place = with_broken_pictures();
    let set = ["augment.size=64", "data.side=2048", "method={ name = \"cached\", chunk = 8 }"];
    // 80 pictures of 3 × 2048 × 2048 bytes that stay in memory, from which a CPU makes the views of the 64 of a batch.
    let text = told(within(place.path(), "1000", &set), 2);
    assert!(text.contains("at least 1.2 GB") && text.contains("no batch fits"), "{text}");
    assert!(told(within(place.path(), "1300", &set), 1).contains(".png"));

    // The 64 pictures of a batch and of the one that is read ahead.
    let ahead = |megabytes: &str, set: &[&str]| {
        let mut command = within(place.path(), megabytes, set);
        command.env("SIMILE_RESIDENT", "0");
        command
    };
    let text = told(ahead("1500", &set), 2);
    assert!(text.contains("at least 1.8 GB") && text.contains("SIMILE_MEMORY allows 1.6 GB"), "{text}");
    let batch = number(&text, "lower train.batch to ");
    assert!((16.0..64.0).contains(&batch), "{text}");
    let batch = format!("train.batch={batch}");
    let lowered = [&set[..], &[batch.as_str()]].concat();
    assert!(told(ahead("1500", &lowered), 1).contains(".png"));
}

#[test]
fn a_run_that_goes_on_is_checked_too_and_loses_nothing() {
    let recipe = "[data]\ndataset = \"digits\"\ntrain = 64\ntest = 16\n\n[train]\nbatch = 16\niterations = 2\n\n\
                  [probe]\nsteps = 2\n\n[objective]\nname = \"nt-xent\"\n";
    let place = place_with("mine.toml", recipe);
    simile(place.path(), &["train", "mine.toml", "--out", "run"]).assert().success();
    let on = || simile(place.path(), &["train", "--resume", "run", "--set", "train.iterations=4"]);
    let mut small = on();
    small.env("SIMILE_MEMORY", "1");
    let text = told(small, 2);
    assert!(text.contains("cannot continue now") && text.contains("`train.batch` is 16"), "{text}");
    on().assert().success();
}

/// The estimate is a lower bound; buffers of single operations come on top.
#[cfg(target_os = "linux")]
#[test]
fn a_process_takes_the_memory_that_was_estimated() {
    let recipe = "[data]\ndataset = \"digits\"\ntrain = 4096\ntest = 16\n\n[augment]\ncrop = { scale = [0.5, 1.0] }\n\n\
                  [train]\nbatch = 16\niterations = 2\n\n[probe]\nsteps = 2\n\n[objective]\nname = \"nt-xent\"\n";
    let place = place_with("mine.toml", recipe);
    let measured = |batch: usize| {
        let set = format!("train.batch={batch}");
        let arguments = ["train", "mine.toml", "--out", &format!("run-{batch}"), "--set", &set];
        let mut child = start(place.path(), &arguments);
        let (status, mut peak) = (format!("/proc/{}/status", child.id()), 0.0);
        while child.try_wait().unwrap().is_none() {
            let status = fs::read_to_string(&status).unwrap_or_default();
            let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
            let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
            peak = kilobytes.map_or(peak, |kilobytes| f64::max(peak, 1024.0 * kilobytes));
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        let output = child.wait_with_output().unwrap();
        let text = stderr_of(&output);
        assert!(output.status.success(), "{text}");
        let written = text.split("a step takes at least ").nth(1);
        assert!(written.is_some_and(|written| written.contains(" MB of ")), "{text}");
        (1e6 * number(&text, "a step takes at least "), peak)
    };
    // Below 1024 another stage of the run takes as much as the steps, and the allocator's slack of some 50 MB is small only
    // beside a difference of hundreds.
    let (few, many) = (measured(1024), measured(4096));
    let (estimated, grown) = (many.0 - few.0, many.1 - few.1);
    eprintln!("3072 more images: {:.0} MB estimated, {:.0} MB measured", estimated / 1e6, grown / 1e6);
    assert!((0.9..2.0).contains(&(grown / estimated)), "{few:?} {many:?}");
}

/// The value of a scalar in an event file: its name, the tag of its number, the number.
fn scalars(events: &[u8], name: &str) -> Vec<f32> {
    let starts = (0..events.len()).filter(|&at| events[at..].starts_with(name.as_bytes()));
    let of = |at: usize| {
        let value = &events[at + name.len()..];
        assert_eq!(value[0], 0x15, "{name}");
        f32::from_le_bytes(value[1..5].try_into().unwrap())
    };
    starts.map(of).collect()
}

#[test]
fn a_run_tells_its_pace_its_memory_the_time_left_and_the_error_of_its_solves() {
    let recipe = "[data]\ndataset = \"digits\"\ntrain = 64\ntest = 16\n\n[augment]\ncrop = { scale = [0.5, 1.0] }\n\n\
                  [train]\nbatch = 16\niterations = 8\nlog_every = 2\n\n[probe]\nsteps = 2\n\n[objective]\nname = \"fair-cclk\"\n\
                  kernel = { name = \"rbf\", sigma = 150.0 }\napproximation = { rank = 8, tolerance = 0.0 }\n";
    let place = place_with("mine.toml", recipe);
    let mut command = simile(place.path(), &["train", "mine.toml", "--out", "run"]);
    let text = stderr_of(command.env("SIMILE_RESIDENT", "0").assert().success().get_output());
    let line = text.lines().rfind(|line| line.contains("images/s")).expect(&text);
    for part in ["8/8", "left", "loss", "% waiting for data", " GB"] {
        assert!(line.contains(part), "no `{part}` in {line}");
    }

    let folder = place.path().join("run/tensorboard/fair-cclk");
    let file = fs::read_dir(folder).unwrap().next().unwrap().unwrap().path();
    let events = fs::read(file).unwrap();
    let of = |name: &str| scalars(&events, name);
    assert!(
        of("pace/images_per_second").len() == 4
            && of("pace/images_per_second").iter().all(|&rate| rate > 0.0)
    );
    assert!(of("pace/waiting_for_data").iter().all(|share| (0.0..=1.0).contains(share)));
    let held_up = of("pace/checkpoints");
    assert!(held_up.len() == 4 && held_up.iter().all(|share| (0.0..1.0).contains(share)), "{held_up:?}");
    let errors = of("solve/approximation_error");
    assert!(errors.len() == 4 && errors.iter().all(|&error| error > 0.0), "{errors:?}");
    let left = of("pace/seconds_left");
    assert!(left.len() == 4 && left[0] > 0.0 && left[3] == 0.0, "{left:?}");
    let memory = of("memory/host_gb");
    assert!(
        !cfg!(target_os = "linux") || memory.iter().all(|memory| (0.01..64.0).contains(memory)),
        "{memory:?}"
    );
    assert!(of("memory/device_gb").is_empty(), "the CPU is the host");
}
