//! Messages of the tool where something is missing. These tests also make `cargo test --workspace` build the tool,
//! which the browser tests in `tests/` need.
#![allow(clippy::unwrap_used)]

#[cfg(unix)]
use std::path::Path;
use std::process::Command;

/// The end of a command that fails, in an environment that asks for back traces.
fn complaint(command: &mut Command) -> String {
    let output = command.env("RUST_BACKTRACE", "1").output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(output.stdout.is_empty(), "{}", String::from_utf8_lossy(&output.stdout));
    String::from_utf8(output.stderr).unwrap()
}

fn bundle() -> Command {
    Command::new(env!("CARGO_BIN_EXE_simile-bundle"))
}

#[cfg(unix)]
#[test]
fn a_missing_target_is_said_with_its_remedy_and_nothing_else() {
    use std::os::unix::fs::PermissionsExt as _;

    // A compiler that knows the target and has no library for it.
    let rustc = Path::new(env!("CARGO_TARGET_TMPDIR")).join("rustc-without-wasm");
    std::fs::write(&rustc, "#!/bin/sh\necho /nowhere/lib/rustlib/wasm32-unknown-unknown/lib\n").unwrap();
    std::fs::set_permissions(&rustc, std::fs::Permissions::from_mode(0o755)).unwrap();
    let expected = "error: the compiler's WebAssembly target is missing; run `rustup target add wasm32-unknown-unknown`\n";
    for task in ["build", "serve"] {
        assert_eq!(complaint(bundle().arg(task).env("RUSTC", &rustc)), expected);
    }
}

#[test]
fn a_port_that_is_taken_is_named_without_a_back_trace() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let text = complaint(bundle().args(["serve", "--no-build", "--port", &port]));
    assert!(text.starts_with(&format!("error: cannot listen on 127.0.0.1:{port}: ")), "{text}");
    assert!(text.ends_with("; choose another with --port\n") && text.lines().count() == 1, "{text}");
}
