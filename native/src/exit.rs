//! How a command ends: the exit codes that scripts rely on.

use std::io;
use std::process::ExitCode;

/// A request that makes no sense as it was written: an unknown name, key or value. Exit code 2, as for the
/// mistakes that the argument parser finds by itself.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Usage(pub(crate) String);

/// The user stopped the command and its state is on disk; holds how to go on. Exit code 130, as a shell reports for
/// Ctrl-C.
#[derive(Debug, thiserror::Error)]
#[error("interrupted; {0}")]
pub(crate) struct Interrupted(pub(crate) String);

/// A [`Usage`] error, ready for `?`.
pub(crate) fn usage(message: impl std::fmt::Display) -> anyhow::Error {
    anyhow::Error::new(Usage(message.to_string()))
}

/// Prints the error, once, and gives the exit code that says its kind.
pub(crate) fn code(error: &anyhow::Error) -> ExitCode {
    let reader_left = error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|cause| cause.kind() == io::ErrorKind::BrokenPipe);
    if reader_left {
        return ExitCode::SUCCESS;
    }
    let (label, code) = match error {
        error if error.is::<Interrupted>() => ("", 130),
        error if error.is::<Usage>() => ("error: ", 2),
        _ => ("error: ", 1),
    };
    crate::console::line(format_args!("{label}{error:#}"));
    ExitCode::from(code)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use anyhow::Context as _;

    use super::*;

    #[test]
    fn each_kind_of_end_has_its_code() {
        let shown = |error: anyhow::Error| format!("{:?}", code(&error));
        let number = |n: u8| format!("{:?}", ExitCode::from(n));
        assert_eq!(shown(anyhow::anyhow!("disk full")), number(1));
        assert_eq!(shown(usage("no such recipe")), number(2));
        assert_eq!(shown(Interrupted("runs/a".into()).into()), number(130));
        assert_eq!(shown(anyhow::Error::new(io::Error::from(io::ErrorKind::BrokenPipe))), number(0));
    }

    #[test]
    fn context_does_not_hide_the_kind() {
        let error = Err::<(), _>(usage("unknown key")).context("while reading a.toml").unwrap_err();
        assert!(error.is::<Usage>());
        let error = Err::<(), _>(io::Error::from(io::ErrorKind::BrokenPipe)).context("writing").unwrap_err();
        assert_eq!(format!("{:?}", code(&error)), format!("{:?}", ExitCode::SUCCESS));
    }
}
