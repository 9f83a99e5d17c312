//! The self-test of a device in a process of its own, because a driver that fails can end the process, or never return.

use std::collections::BTreeMap;
use std::env;
use std::io::Read as _;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::console::PeriodicLine;
use crate::peers::is_from_launcher;

/// The first argument of a process that tests a device.
pub(crate) const COMMAND: &str = "self-test";
/// The longest time of a test. A GPU compiles and tunes each kernel when it is first used: more than a minute on an H200.
const LIMIT: Duration = Duration::from_secs(300);
/// Time between two looks at the process.
const LOOK: Duration = Duration::from_millis(5);

/// Tests a device, once in this process. The answer is not kept on the disk: Burn does not tell a driver's version, and another
/// version may fail.
///
/// # Errors
/// The reason for which the device cannot be used, in words that follow "its self-test".
pub(crate) fn check(name: String) -> Result<(), String> {
    static CHECKED: Mutex<BTreeMap<String, Result<(), String>>> = Mutex::new(BTreeMap::new());
    // Held during the test, so that runs at the same time wait for one answer.
    let mut checked = CHECKED.lock().unwrap_or_else(PoisonError::into_inner);
    checked.entry(name).or_insert_with_key(|name| test(name)).clone()
}

fn test(device: &str) -> Result<(), String> {
    let words = format!("testing {device} before it is used");
    let _periodic_line = PeriodicLine::start(move || words.clone());
    let program = env::current_exe().map_err(|error| format!("could not be started: {error}"))?;
    let mut command = Command::new(program);
    command.args([COMMAND, device]);
    // It settles early for a kernel of each shape. Its choices are kept, so that the next test takes seconds, and apart from those
    // of runs.
    command.env("CUBECL_AUTOTUNE_LEVEL", "minimal").env("CUBECL_ENVIRONMENT", "self-test");
    // The last line of a panic is then its message.
    command.env("RUST_BACKTRACE", "0");
    watch(command, LIMIT)
}

/// Ends this process after a time that only a device that hangs takes: the process that started it may be gone.
pub(crate) fn limit_own_time() {
    thread::spawn(|| {
        thread::sleep(LIMIT + Duration::from_secs(5));
        // A driver that hangs may hang in the handlers of an exit too.
        std::process::abort();
    });
}

/// Runs a process to its end, or to a limit of time.
fn watch(mut command: Command, limit: Duration) -> Result<(), String> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    // The child must not take itself for a process of a launcher.
    for (name, _) in env::vars_os() {
        if name.to_str().is_some_and(is_from_launcher) {
            command.env_remove(name);
        }
    }
    // Ctrl-C in a terminal is for the program, and must not look like a fault of the device.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let started = Instant::now();
    let unusable = |error| format!("could not be run: {error}");
    let mut child = command.spawn().map_err(unusable)?;
    let errors = child.stderr.take();
    let reader = thread::spawn(move || {
        let mut bytes = vec![];
        if let Some(mut errors) = errors {
            // The bytes read before an error are still reported.
            let _ = errors.read_to_end(&mut bytes);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    });
    loop {
        if let Some(status) = child.try_wait().map_err(unusable)? {
            let errors = reader.join().unwrap_or_default();
            return if status.success() { Ok(()) } else { Err(reason(status, &errors)) };
        }
        if started.elapsed() > limit {
            let _ = child.kill();
            // A process that waits for a driver may not end even now.
            thread::spawn(move || child.wait());
            return Err(format!("took more than {} s", limit.as_secs()));
        }
        thread::sleep(LOOK);
    }
}

/// The reason of a failure: the last line that the process wrote, or the signal that ended it.
fn reason(status: ExitStatus, words_on_stderr: &str) -> String {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return format!("ended with signal {signal}");
    }
    let mut lines =
        words_on_stderr.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("note: "));
    let last = lines.next_back().unwrap_or("it said nothing");
    match last.strip_prefix("error: ") {
        Some(error) => format!("failed: {error}"),
        None => format!("ended with {status}: {last}"),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn shell(script: &str) -> Result<(), String> {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        watch(command, Duration::from_secs(5))
    }

    #[test]
    fn an_end_of_a_process_is_told_in_words() {
        let failed = |words: &str| Err(words.to_owned());
        assert_eq!(shell("exit 0"), Ok(()));
        assert_eq!(shell("kill -SEGV $$"), failed("ended with signal 11"));
        assert_eq!(
            shell("echo noise >&2; echo 'error: sums of rows: 3 of 96 are wrong' >&2; exit 1"),
            failed("failed: sums of rows: 3 of 96 are wrong")
        );
        let panic = "thread 'main' panicked at a.rs:1:1:\nno adapter\nnote: run with `RUST_BACKTRACE=1`";
        assert_eq!(
            shell(&format!("echo \"{}\" >&2; exit 101", panic.replace('`', "'"))),
            failed("ended with exit status: 101: no adapter")
        );
        assert_eq!(shell("exit 3"), failed("ended with exit status: 3: it said nothing"));
        let missing = watch(Command::new("/no/such/program"), LIMIT);
        assert!(missing.as_ref().is_err_and(|words| words.starts_with("could not be run: ")), "{missing:?}");
    }

    #[test]
    fn a_process_that_hangs_is_ended() {
        let mut command = Command::new("sleep");
        command.arg("600");
        let started = Instant::now();
        assert_eq!(watch(command, Duration::from_millis(50)), Err("took more than 0 s".to_owned()));
        assert!(started.elapsed() < Duration::from_secs(30));
    }

    /// It could fill a pipe that nobody reads, or wait for an answer on a terminal.
    #[test]
    fn a_process_may_say_much_and_hears_nothing() {
        let much =
            "i=0; while [ $i -lt 20000 ]; do echo some words on stderr >&2; i=$((i + 1)); done; exit 2";
        assert_eq!(shell(much), Err("ended with exit status: 2: some words on stderr".to_owned()));
        assert_eq!(shell("read line && exit 1; exit 0"), Ok(()));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_process_gets_no_signal_of_the_terminal() {
        let group =
            "set -- $(cat /proc/$$/stat); test $5 = $$ || { echo error: group $5 of $$ >&2; exit 1; }";
        assert_eq!(shell(group), Ok(()));
    }
}
