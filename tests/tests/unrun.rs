//! Prints which tests of this run of `cargo test` were skipped, and why. No test harness, which would hide it; its name
//! stands behind those of the programs that skip, because cargo runs them in the order of their names.
#![allow(clippy::print_stdout)]

fn main() {
    // Those that ask for the names of tests, as cargo-nextest does, are told that there are none.
    if std::env::args().any(|argument| argument == "--list") {
        return;
    }
    let lines = simile_tests::skipped::take();
    println!("\n{} tests were skipped{}", lines.len(), if lines.is_empty() { "" } else { ":" });
    lines.iter().for_each(|line| println!("  {line}"));
}
