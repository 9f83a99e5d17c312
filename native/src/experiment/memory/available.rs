//! The available memory, if the system reports it: on Linux, in files of `/proc`.

use std::fs;

/// The assumed memory of a machine that does not report it.
const UNKNOWN: u64 = 1 << 40;
/// The files with the limit and the use of the control group of the process, versions 2 and 1.
const GROUPS: [[&str; 2]; 2] = [
    ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"],
    ["/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"],
];

/// The available bytes.
pub(crate) fn available() -> u64 {
    let number = |path: &str| fs::read_to_string(path).ok()?.trim().parse::<u64>().ok();
    let of_group = |[limit, used]: [&str; 2]| Some(number(limit)?.saturating_sub(number(used)?));
    let machine = fs::read_to_string("/proc/meminfo").ok().and_then(|text| kilobytes(&text, "MemAvailable"));
    let machine = machine.map(|kilobytes| kilobytes.saturating_mul(1024));
    GROUPS.into_iter().filter_map(of_group).chain(machine).min().unwrap_or(UNKNOWN)
}

/// True if another run fits beside `running` others: it needs twice the peak of each of them so far. True if memory is
/// unknown.
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
