//! Ctrl-C, SIGTERM and SIGHUP: the first asks the work to stop after its present unit, the second stops the process at once.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use std::{fs, io};

use anyhow::{Context as _, Result};
use simile_core::error::Error;
use tempfile::NamedTempFile;

use crate::console::line;

/// Number of the signal for Ctrl-C.
const CTRL_C: u8 = 2;

/// The signal that requested the stop; 0 if there was none.
static SIGNAL: AtomicU8 = AtomicU8::new(0);
/// The time of that signal.
static SIGNALLED_AT: OnceLock<Instant> = OnceLock::new();
/// Signals of the system within this time count as one: a queue signals a process, and the script that passes it on.
const TOGETHER: Duration = Duration::from_secs(2);
static LISTENING: Mutex<bool> = Mutex::new(false);
/// The unit of work after which the process stops, in words.
static UNIT: OnceLock<&str> = OnceLock::new();
/// The unit of a run: a step of the training or of a probe, or a batch of pictures.
const STEP: &str = "this step or batch";
/// The temporary files of this process.
static TEMPORARY: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Installs the handlers, once, for work that stops after a step.
///
/// # Errors
/// If the system refuses a handler.
pub(crate) fn listen() -> Result<()> {
    listen_between(STEP)
}

/// Installs the handlers, once, for work that stops after another unit, such as `these pictures`.
///
/// # Errors
/// As [`listen`].
pub(crate) fn listen_between(unit: &'static str) -> Result<()> {
    UNIT.get_or_init(|| unit);
    let mut listening = locked(&LISTENING);
    if !*listening {
        set_handlers().context("cannot listen for Ctrl-C")?;
        *listening = true;
    }
    Ok(())
}

fn set_handlers() -> Result<()> {
    ctrlc::set_handler(|| request(CTRL_C))?;
    #[cfg(unix)]
    listen_for_the_system()?;
    Ok(())
}

/// Handles SIGTERM and SIGHUP: a shutdown, a queue whose time is over, a closed terminal. Outlives SIGXFSZ.
#[cfg(unix)]
fn listen_for_the_system() -> std::io::Result<()> {
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    use signal_hook::consts::{SIGHUP, SIGTERM, SIGXFSZ};

    // A write beyond a limit on the size of files (`ulimit -f`) then fails with an error, in which the file is named. Without a handler
    // the signal would end the process in silence.
    signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)))?;
    // Under `nohup` a run outlives its terminal.
    let hang_up = (!is_ignored(SIGHUP)).then_some(SIGHUP);
    let mut signals = signal_hook::iterator::Signals::new([SIGTERM].into_iter().chain(hang_up))?;
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        for signal in signals.forever() {
            request(u8::try_from(signal).unwrap_or(CTRL_C));
        }
    })?;
    Ok(())
}

/// True if the process was started with a signal ignored; known on Linux only.
#[cfg(unix)]
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or_default();
    mask >> (signal - 1) & 1 == 1
}

fn request(signal: u8) {
    let signalled_at = SIGNALLED_AT.get_or_init(Instant::now);
    if SIGNAL.swap(signal, Ordering::SeqCst) != 0 {
        if signal != CTRL_C && signalled_at.elapsed() < TOGETHER {
            return;
        }
        end(i32::from(128 + signal));
    }
    let again = match signal {
        CTRL_C => "press Ctrl-C again to stop",
        _ => "a second signal stops",
    };
    line(format_args!("stopping after {}; {again} at once", UNIT.get().unwrap_or(&STEP)));
}

/// Ends the process at once. Its temporary files go with it: nobody looks for them, because their names are hidden.
fn end(code: i32) -> ! {
    // Held to the end, so that no other thread makes a file meanwhile.
    let temporary = locked(&TEMPORARY);
    for path in temporary.iter() {
        // One that has just got its final name is not there.
        let _ = fs::remove_file(path);
    }
    std::process::exit(code)
}

/// The entry of a temporary file: until it is dropped, a signal that ends the process at once removes the file.
#[derive(Debug)]
pub(crate) struct Temporary(PathBuf);

impl Drop for Temporary {
    fn drop(&mut self) {
        locked(&TEMPORARY).remove(&self.0);
    }
}

/// Makes a temporary file, with the entry by which a signal removes it.
///
/// # Errors
/// As `make`.
pub(crate) fn temporary(
    make: impl FnOnce() -> io::Result<NamedTempFile>,
) -> io::Result<(NamedTempFile, Temporary)> {
    // Held while the file is made, so that none is made after the others were removed.
    let mut temporary = locked(&TEMPORARY);
    let file = make()?;
    let path = file.path().to_owned();
    temporary.insert(path.clone());
    Ok((file, Temporary(path)))
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// True if the user, or the system, requested a stop.
pub(crate) fn is_requested() -> bool {
    SIGNAL.load(Ordering::SeqCst) != 0
}

/// Fails once a stop is requested, for computations of core.
///
/// # Errors
/// [`Error::Stopped`].
pub(crate) fn check_interrupted() -> Result<(), Error> {
    if is_requested() { Err(Error::Stopped) } else { Ok(()) }
}

/// The signal that requested a stop.
pub(crate) fn signal() -> Option<u8> {
    Some(SIGNAL.load(Ordering::SeqCst)).filter(|signal| *signal != 0)
}

/// Takes the signal that another process of the run has got as one of this process.
pub(crate) fn adopt(signal: u8) {
    // This process may have got a signal of its own, which stays.
    let _ = SIGNAL.compare_exchange(0, signal, Ordering::SeqCst, Ordering::SeqCst);
}

/// The exit code of a run that stopped on a signal, as a shell reports it: 130 after Ctrl-C, 143 after SIGTERM, 129
/// after SIGHUP.
pub(crate) fn code() -> u8 {
    128 + match SIGNAL.load(Ordering::SeqCst) {
        0 => CTRL_C,
        signal => signal,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_temporary_file_has_an_entry_as_long_as_it_is_in_the_making() {
        let is_listed = |path: &PathBuf| locked(&TEMPORARY).contains(path);
        let (file, entry) = temporary(NamedTempFile::new).unwrap();
        let path = file.path().to_owned();
        assert!(is_listed(&path));
        drop(file);
        drop(entry);
        assert!(!is_listed(&path));
        let failure = || Err(io::Error::other("the disk is full"));
        assert!(temporary(failure).is_err());
    }
}
