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
    tempfile::Builder::new().prefix(TEMPORARY_PREFIX).tempfile_in(place)
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
