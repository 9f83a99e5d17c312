//! Runs the self-test that `--device auto` requires of a GPU on every device that is present, in a process that the program starts.

use std::process::Command;

use serde_json::Value;
use simile_tests::program;

#[test]
fn every_device_passes_it() {
    // As one of the processes of a launcher, of which the test is none.
    let output = Command::new(program())
        .args(["devices", "--check", "--json"])
        .env("OMPI_COMM_WORLD_SIZE", "4")
        .output()
        .unwrap();
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    let mut tested = vec![];
    for row in answer["devices"].as_array().unwrap() {
        for part in row["present"].as_array().unwrap() {
            let (name, test) = (row["name"].as_str().unwrap(), &part["self_test"]);
            println!("{name}: {:.1} s", test["seconds"].as_f64().unwrap());
            assert_eq!(test["passed"], true, "{name}: {test}");
            tested.push(name);
        }
    }
    assert!(tested.contains(&"cpu"), "{tested:?}");
}

/// Mesa's layer for the choice of a device had libwayland write an error for each device that was listed.
#[cfg(target_os = "linux")]
#[test]
fn without_a_desktop_nothing_is_said_of_one() {
    let listed = |set: Option<&str>| {
        let mut command = Command::new(program());
        command.args(["devices", "--json"]).env_remove("XDG_RUNTIME_DIR");
        command.envs(set.map(|folder| ("XDG_RUNTIME_DIR", folder)));
        let output = command.output().unwrap();
        assert!(output.status.success());
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    let (devices, said) = listed(None);
    assert_eq!(said, "");
    assert_eq!(devices, listed(Some("/tmp")).0, "the same devices in the same order");
}

#[test]
fn its_process_names_a_device_that_is_not_there() {
    let output = Command::new(program()).args(["self-test", "cpu:1"]).output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && text.contains("`--device cpu:1` is not there"), "{text}");
    let help = Command::new(program()).arg("--help").output().unwrap();
    assert!(!String::from_utf8(help.stdout).unwrap().contains("self-test"));
}
