//! The binary starts. This test also makes `cargo test --workspace` build it, for the tests of the command line in
//! `tests/`.

use std::process::Command;

#[test]
#[allow(clippy::unwrap_used)]
fn the_binary_says_its_version() {
    let output = Command::new(env!("CARGO_BIN_EXE_simile")).arg("--version").output().unwrap();
    assert!(output.status.success());
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), concat!("simile ", env!("CARGO_PKG_VERSION")));
}
