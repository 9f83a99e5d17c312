//! The exit codes of commands, which scripts rely on.

use std::io;
use std::process::ExitCode;

use crate::console::line;
use crate::interrupt;

/// A request that is not valid: an unknown name, key or value. Exit code 2, as for errors of the argument parser.
#[derive(Debug, thiserror::Error)]
#[error("{text}")]
pub(crate) struct Usage {
    text: String,
    /// The part of the request that is wrong, if a caller can say more of it, such as its line.
    pub(crate) subject: Option<Subject>,
}

/// A part of a request.
#[derive(Debug)]
pub(crate) enum Subject {
    /// A setting `KEY=VALUE` of the command line, with the reason why it is refused.
    Setting { setting: String, reason: String },
    /// A key of an objective.
    ObjectiveKey(&'static str),
    /// The path of a key of a method, such as `method.predictor.output`.
    MethodKey(String),
}

/// The user, or the system, stopped the command and its state is on disk; holds how to resume. Exit code 130, as a
/// shell reports for Ctrl-C, or that of the signal that it was.
#[derive(Debug, thiserror::Error)]
#[error("interrupted; {0}")]
pub(crate) struct Interrupted(pub(crate) String);

impl Interrupted {
    /// The interruption of a command that continues if it is given again.
    pub(crate) fn to_continue() -> Self {
        Self("the same command continues from here".into())
    }
}

/// Another process of the run has failed, or ended early, and prints the reason; holds the exit code.
#[derive(Debug, thiserror::Error)]
#[error("another process of this run says why it ended")]
pub(crate) struct Reported(pub(crate) u8);

/// A [`Usage`] error, ready for `?`.
pub(crate) fn usage(message: impl std::fmt::Display) -> anyhow::Error {
    anyhow::Error::new(Usage { text: message.to_string(), subject: None })
}

/// A [`Usage`] error of a part of the request.
pub(crate) fn usage_about(subject: Subject, message: impl std::fmt::Display) -> anyhow::Error {
    anyhow::Error::new(Usage { text: message.to_string(), subject: Some(subject) })
}

/// The error with its causes, each once: some messages already end with that of their cause.
pub(crate) fn message_with_causes(error: &anyhow::Error) -> String {
    let mut text = error.to_string();
    let mut previous = text.clone();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !previous.contains(&cause) {
            text = format!("{}: {cause}", text.trim_end_matches(['.', ' ']));
        }
        previous = cause;
    }
    text
}

/// Prints the error, once, and returns the exit code for its kind.
pub(crate) fn report(error: &anyhow::Error) -> ExitCode {
    let reader_left = error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|cause| cause.kind() == io::ErrorKind::BrokenPipe);
    if reader_left {
        return ExitCode::SUCCESS;
    }
    print(error);
    ExitCode::from(code_of(error))
}

/// Prints the error, unless another process of the run has.
pub(crate) fn print(error: &anyhow::Error) {
    let label = if error.is::<Interrupted>() { "" } else { "error: " };
    if !error.is::<Reported>() {
        line(format_args!("{label}{}", message_with_causes(error)));
    }
}

/// The exit code for the kind of an error.
pub(crate) fn code_of(error: &anyhow::Error) -> u8 {
    match error.downcast_ref() {
        Some(Reported(code)) => *code,
        None if error.is::<Interrupted>() => interrupt::code(),
        None if error.is::<Usage>() => 2,
        None => 1,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use anyhow::Context as _;

    use super::*;

    #[test]
    fn each_kind_of_end_has_its_code() {
        let shown = |error: anyhow::Error| format!("{:?}", report(&error));
        let number = |n: u8| format!("{:?}", ExitCode::from(n));
        assert_eq!(shown(anyhow::anyhow!("disk full")), number(1));
        assert_eq!(shown(usage("no such recipe")), number(2));
        assert_eq!(shown(Interrupted("runs/a".into()).into()), number(130));
        assert_eq!(shown(anyhow::Error::new(io::Error::from(io::ErrorKind::BrokenPipe))), number(0));
    }

    #[test]
    fn a_cause_is_told_once() {
        #[derive(Debug, thiserror::Error)]
        #[error("cannot read a.npy: {0}")]
        struct Doubled(#[source] io::Error);
        let missing = || io::Error::new(io::ErrorKind::NotFound, "no such file");
        let error = anyhow::Error::new(Doubled(missing())).context("loading features");
        assert_eq!(message_with_causes(&error), "loading features: cannot read a.npy: no such file");
        let error = anyhow::Error::new(missing()).context("cannot write b");
        assert_eq!(message_with_causes(&error), "cannot write b: no such file");
    }

    #[test]
    fn context_does_not_hide_the_kind() {
        let error = Err::<(), _>(usage("unknown key")).context("while reading a.toml").unwrap_err();
        assert!(error.is::<Usage>());
        let error = Err::<(), _>(io::Error::from(io::ErrorKind::BrokenPipe)).context("writing").unwrap_err();
        assert_eq!(format!("{:?}", report(&error)), format!("{:?}", ExitCode::SUCCESS));
    }
}
