//! How much memory there is, where the system says so: Linux, in files of `/proc`.

use std::fs;

/// Whether another run finds room beside `running` others: at least twice what each of them took at most so far. Where
/// nothing is known of memory, it does.
pub(crate) fn room_beside(running: usize) -> bool {
    let file = |path, name: &str| fs::read_to_string(path).ok().and_then(|text| kilobytes(&text, name));
    match (file("/proc/meminfo", "MemAvailable"), file("/proc/self/status", "VmHWM")) {
        (Some(available), Some(peak)) => available / 2 >= peak / running.max(1) as u64,
        _ => true,
    }
}

/// The value of a line such as `VmHWM:   1234 kB`.
fn kilobytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_found_by_its_whole_name() {
        let text = "VmPeak:\t  9 kB\nVmHWM:\t   1234 kB\nVmRSS:\t   7 kB\n";
        assert_eq!(kilobytes(text, "VmHWM"), Some(1234));
        assert_eq!(kilobytes(text, "VmHW"), None);
    }
}
