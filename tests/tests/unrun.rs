//! Prints the skipped tests of this run of `cargo test`, with the reasons. It has no test harness, which would hide the
//! output; its name sorts after those of the programs that skip, because cargo runs them in the order of their names.
#![allow(clippy::print_stdout)]

fn main() {
    // For `--list`, which cargo-nextest uses, it lists no test.
    if std::env::args().any(|argument| argument == "--list") {
        return;
    }
    let lines = simile_tests::skipped::take();
    println!("\n{} tests were skipped{}", lines.len(), if lines.is_empty() { "" } else { ":" });
    lines.iter().for_each(|line| println!("  {line}"));
}
