//! The available memory, if the system reports it: on Linux, in files of `/proc`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::exit::usage;

/// The assumed memory of a machine that does not report it.
const UNKNOWN: u64 = 1 << 40;
/// The file with the memory of this process.
const STATUS: &str = "/proc/self/status";
/// The control groups of the process: a line for each interface, such as `0::/slurm/job_7`.
const OWN_GROUPS: &str = "/proc/self/cgroup";
/// The files of control groups, versions 2 and 1.
const INTERFACES: [Interface; 2] = [
    Interface {
        root: "/sys/fs/cgroup",
        controller: "",
        limit: "memory.max",
        used: "memory.current",
        pages: "inactive_file",
    },
    Interface {
        root: "/sys/fs/cgroup/memory",
        controller: "memory",
        limit: "memory.limit_in_bytes",
        used: "memory.usage_in_bytes",
        pages: "total_inactive_file",
    },
];

/// The names of the files with the limit and the use of a group.
struct Interface {
    root: &'static str,
    /// The controller in the lines of [`OWN_GROUPS`]; version 2 has none.
    controller: &'static str,
    limit: &'static str,
    used: &'static str,
    /// The part of `memory.stat` that are pages of files, which the system takes back when memory is needed.
    pages: &'static str,
}

impl Interface {
    /// The folders of a process's group and of the groups around it, each of which may have a limit. `groups` are the lines of
    /// [`OWN_GROUPS`].
    fn folders(&self, groups: &str) -> Vec<PathBuf> {
        let own = groups.lines().find_map(|line| {
            let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
            controllers.split(',').any(|name| name == self.controller).then_some(path)
        });
        let own = Path::new(own.unwrap_or("/"));
        own.ancestors()
            .map(|group| Path::new(self.root).join(group.strip_prefix("/").unwrap_or(group)))
            .collect()
    }

    /// The bytes that the group of a folder may still take; none if it has no limit.
    fn available(&self, folder: &Path) -> Option<u64> {
        let number = |file: &str| fs::read_to_string(folder.join(file)).ok()?.trim().parse::<u64>().ok();
        let parts = fs::read_to_string(folder.join("memory.stat")).ok();
        let pages = parts.and_then(|text| part(&text, self.pages)).unwrap_or(0);
        Some(number(self.limit)?.saturating_sub(number(self.used)?.saturating_sub(pages)))
    }
}

/// The available bytes.
pub(crate) fn available() -> u64 {
    let machine = bytes_in_file("/proc/meminfo", "MemAvailable");
    let groups = fs::read_to_string(OWN_GROUPS).unwrap_or_default();
    let group_bytes = INTERFACES.iter().flat_map(|interface| {
        interface.folders(&groups).into_iter().filter_map(|folder| interface.available(&folder))
    });
    group_bytes.chain(machine).min().unwrap_or(UNKNOWN)
}

/// The bytes that a variable of the environment gives in MiB; none if it is not set. `expected` says its meaning.
///
/// # Errors
/// A usage error if it is no whole number.
pub(crate) fn mebibytes(variable: &str, expected: &str) -> Result<Option<u64>> {
    let Some(value) = std::env::var_os(variable).filter(|value| !value.is_empty()) else { return Ok(None) };
    let value = value.to_string_lossy();
    let mebibytes: u64 = (value.trim().parse())
        .map_err(|_| usage(format_args!("{variable} is `{value}`; expected {expected}")))?;
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
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// A job of a cluster has its limit in a group of its own.
    #[test]
    fn limits_are_looked_for_in_all_groups_around_the_process() {
        let [second, first] = &INTERFACES;
        let folders = |interface: &Interface, groups: &str| -> Vec<String> {
            interface.folders(groups).iter().map(|folder| folder.display().to_string()).collect()
        };
        let root = |path: &str| format!("/sys/fs/cgroup{path}");
        assert_eq!(folders(second, "0::/slurm/job_7\n"), [root("/slurm/job_7"), root("/slurm"), root("/")]);
        let both = "5:cpu,memory:/job\n0::/\n";
        assert_eq!(folders(first, both), [root("/memory/job"), root("/memory/")]);
        assert_eq!(folders(second, both), [root("/")]);
        assert_eq!(folders(first, "0::/job\n"), [root("/memory/")]);
    }

    #[test]
    fn what_a_group_may_take_is_its_limit_without_its_use() {
        let place = tempfile::tempdir().unwrap();
        let [second, _] = &INTERFACES;
        let write = |file: &str, text: &str| fs::write(place.path().join(file), text).unwrap();
        assert_eq!(second.available(place.path()), None);
        write("memory.max", "max\n");
        write("memory.current", "700\n");
        assert_eq!(second.available(place.path()), None);
        write("memory.max", "1000\n");
        assert_eq!(second.available(place.path()), Some(300));
        write("memory.stat", "inactive_file 200\n");
        assert_eq!(second.available(place.path()), Some(500));
    }

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
