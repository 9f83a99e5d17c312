//! Atomic writing: a temporary file in the folder of the file that it becomes, to whose place it moves once it is on the disk.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::interrupt::{self, Temporary};

/// The prefix of the names of temporary files.
pub(super) const TEMPORARY_PREFIX: &str = ".tmp-simile-";

/// A new temporary file in a folder.
///
/// # Errors
/// If the folder cannot be written to.
pub(crate) fn temporary_in(place: &Path) -> io::Result<NamedTempFile> {
    let file = tempfile::Builder::new().prefix(TEMPORARY_PREFIX).tempfile_in(place);
    file.map_err(|error| without_temporary_name(&error, place))
}

/// An error of making a temporary file in a folder. It leaves out the path of that file, which the user did not choose.
fn without_temporary_name(error: &io::Error, place: &Path) -> io::Error {
    let reason = match error.kind() {
        io::ErrorKind::NotFound if !place.is_file() => {
            format!("there is no folder {}; make it first", place.display())
        }
        // Windows has no error of its own for a file in the place of a folder.
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
            format!("{} is not a folder; name another", place.display())
        }
        _ => {
            let text = error.to_string();
            text.split_once(" at path ").map_or(text.as_str(), |(reason, _)| reason).to_owned()
        }
    };
    io::Error::new(error.kind(), reason)
}

/// A file in the making, which is at its place once it is complete and on the disk.
#[derive(Debug)]
pub(crate) enum AtomicFile {
    /// A temporary file, and the place to which it moves.
    Beside { file: NamedTempFile, path: PathBuf, _entry: Temporary },
    /// A device or a pipe is written directly; moving a file there would replace it.
    Direct(File),
}

impl AtomicFile {
    /// Begins the file `path`.
    ///
    /// # Errors
    /// If its folder cannot be written to.
    pub(crate) fn begin(path: &Path) -> io::Result<Self> {
        if fs::metadata(path).is_ok_and(|place| !place.is_file()) {
            return Ok(Self::Direct(File::options().write(true).open(path)?));
        }
        let (file, _entry) = interrupt::temporary(|| temporary_in(folder_of(path)))?;
        Ok(Self::Beside { file, path: path.to_owned(), _entry })
    }

    /// Moves the file to its place.
    ///
    /// # Errors
    /// If the disk is full, or fails.
    pub(crate) fn finish(self) -> io::Result<()> {
        match self {
            Self::Direct(mut file) => file.flush(),
            Self::Beside { file, path, _entry } => {
                file.as_file().sync_all()?;
                readable(&file)?;
                file.persist(&path).map_err(|error| error.error)?;
                on_disk(folder_of(&path));
                Ok(())
            }
        }
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Beside { file, .. } => file.write(bytes),
            Self::Direct(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Beside { file, .. } => file.flush(),
            Self::Direct(file) => file.flush(),
        }
    }
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Sets the usual permissions, because a temporary file is readable by its owner alone.
#[cfg(unix)]
fn readable(file: &NamedTempFile) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    file.as_file().set_permissions(fs::Permissions::from_mode(0o644))
}

#[cfg(not(unix))]
fn readable(_: &NamedTempFile) -> io::Result<()> {
    Ok(())
}

/// Writes the names in a folder to the disk, if the system can, so that a moved file survives a loss of power.
fn on_disk(place: &Path) {
    if cfg!(unix) {
        // The file itself is on the disk; without this step only a loss of power can lose its name.
        let _ = File::open(place).and_then(|place| place.sync_all());
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// The errors ended with the path of a temporary file.
    #[test]
    fn a_folder_that_cannot_take_a_file_is_named_and_no_temporary_file() {
        let place = tempfile::tempdir().unwrap();
        let missing = place.path().join("none");
        let error = || AtomicFile::begin(&missing.join("v.npy")).unwrap_err();
        let expected = format!("there is no folder {}; make it first", missing.display());
        assert_eq!(error().to_string(), expected);
        assert_eq!(error().kind(), io::ErrorKind::NotFound);
        fs::write(&missing, "").unwrap();
        assert_eq!(error().to_string(), format!("{} is not a folder; name another", missing.display()));
        let too_long = temporary_in(&place.path().join("x".repeat(300))).unwrap_err().to_string();
        assert!(!too_long.is_empty() && !too_long.contains(TEMPORARY_PREFIX), "{too_long}");
    }
}
