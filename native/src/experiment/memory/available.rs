//! The available memory, if the system reports it: on Linux, in files of `/proc`.

use std::fs;

use anyhow::Result;

use crate::exit::usage;

/// The assumed memory of a machine that does not report it.
const UNKNOWN: u64 = 1 << 40;
/// The file with the memory of this process.
const STATUS: &str = "/proc/self/status";
/// The files of the control group of the process, versions 2 and 1.
const GROUPS: [Group; 2] = [
    Group {
        limit: "/sys/fs/cgroup/memory.max",
        used: "/sys/fs/cgroup/memory.current",
        parts: ("/sys/fs/cgroup/memory.stat", "inactive_file"),
    },
    Group {
        limit: "/sys/fs/cgroup/memory/memory.limit_in_bytes",
        used: "/sys/fs/cgroup/memory/memory.usage_in_bytes",
        parts: ("/sys/fs/cgroup/memory/memory.stat", "total_inactive_file"),
    },
];

/// The files with the limit, the use and its parts.
struct Group {
    limit: &'static str,
    used: &'static str,
    /// The name of the part that are pages of files, which the system takes back when memory is needed.
    parts: (&'static str, &'static str),
}

impl Group {
    fn available(&self) -> Option<u64> {
        let number = |path: &str| fs::read_to_string(path).ok()?.trim().parse::<u64>().ok();
        let (parts, pages) = self.parts;
        let pages = fs::read_to_string(parts).ok().and_then(|text| part(&text, pages)).unwrap_or(0);
        Some(number(self.limit)?.saturating_sub(number(self.used)?.saturating_sub(pages)))
    }
}

/// The available bytes.
pub(crate) fn available() -> u64 {
    let machine = bytes_in_file("/proc/meminfo", "MemAvailable");
    GROUPS.iter().filter_map(Group::available).chain(machine).min().unwrap_or(UNKNOWN)
}

/// The bytes that a variable of the environment gives in MiB; none if it is not set. `expected` says its meaning.
///
/// # Errors
/// A usage error if it is no whole number.
pub(crate) fn mebibytes(variable: &str, expected: &str) -> Result<Option<u64>> {
    let Some(given) = std::env::var_os(variable).filter(|given| !given.is_empty()) else { return Ok(None) };
    let given = given.to_string_lossy();
    let mebibytes: u64 = (given.trim().parse())
        .map_err(|_| usage(format_args!("{variable} is `{given}`; expected {expected}")))?;
    Ok(Some(mebibytes.saturating_mul(1 << 20)))
}

/// True if another run fits beside `running` others: it needs twice the peak of each of them so far. True if memory is
/// unknown.
pub(crate) fn room_beside(running: usize) -> bool {
    bytes_in_file(STATUS, "VmHWM").is_none_or(|peak| available() / 2 >= peak / running.max(1) as u64)
}

/// The bytes of memory of this process, without pages of files; none if the system does not report them.
pub(crate) fn resident() -> Option<u64> {
    bytes_in_file(STATUS, "RssAnon")
}

/// The bytes that a line of a file gives in kilobytes.
fn bytes_in_file(path: &str, name: &str) -> Option<u64> {
    let text = fs::read_to_string(path).ok()?;
    Some(kilobytes(&text, name)?.saturating_mul(1024))
}

/// The value of a line such as `VmHWM:   1234 kB`.
fn kilobytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    line.split_whitespace().next()?.parse().ok()
}

/// The bytes of a line such as `inactive_file 4096`.
fn part(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_found_by_its_whole_name() {
        let text = "anon 7\ninactive_file 4096\ntotal_inactive_file 5\n";
        assert_eq!(part(text, "inactive_file"), Some(4096));
        assert_eq!(part(text, "inactive"), None);
    }

    #[test]
    fn a_line_is_found_by_its_whole_name() {
        let text = "VmPeak:\t  9 kB\nVmHWM:\t   1234 kB\nVmRSS:\t   7 kB\n";
        assert_eq!(kilobytes(text, "VmHWM"), Some(1234));
        assert_eq!(kilobytes(text, "VmHW"), None);
    }
}
