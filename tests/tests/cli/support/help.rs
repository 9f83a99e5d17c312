//! The help of every command.

use simile_tests::place;

use crate::support::program::stdout;

/// The words of every command, `simile` left out, with its help: that of the program first, each before those below it.
pub(crate) fn helps() -> Vec<(Vec<String>, String)> {
    let mut helps = Vec::new();
    add(&mut helps, Vec::new());
    helps
}

fn add(helps: &mut Vec<(Vec<String>, String)>, command: Vec<String>) {
    let place = place();
    let words: Vec<&str> = command.iter().map(String::as_str).chain(["--help"]).collect();
    let help = stdout(place.path(), &words);
    let below = below(&help);
    helps.push((command.clone(), help));
    for word in below {
        add(helps, [&command[..], &[word]].concat());
    }
}

/// The names of the commands in a help text.
fn below(help: &str) -> Vec<String> {
    let listed = help.split_once("\nCommands:\n").map_or("", |(_, rest)| rest);
    let lines = listed.lines().take_while(|line| line.starts_with("  "));
    let names =
        lines.filter(|line| !line.starts_with("   ")).map(|line| line.split_whitespace().next().unwrap());
    names.filter(|name| *name != "help").map(str::to_owned).collect()
}
