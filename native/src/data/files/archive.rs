//! Unpacks untrusted archives: nothing is written outside the target folder, and the unpacked size is bounded, on the disk and in memory.
//!
//! An archive is unpacked into a new temporary folder, and its contents are moved into place once they are complete.
//! Links are refused: no published archive needs one, and through a link a later entry could leave the folder.

use std::cell::Cell;
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

use flate2::read::GzDecoder;

use crate::data::error::{DataError, Result};

/// The limits on the contents of an archive.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Bytes of all files together.
    pub(crate) total: u64,
    /// Bytes of the files for each byte of the archive. Pictures hardly compress; tables of bits do by fifty.
    pub(crate) ratio: u64,
    /// Files and folders.
    pub(crate) entries: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { total: 200 << 30, ratio: 200, entries: 4_000_000 }
    }
}

/// Total bytes below which the ratio is not checked.
const HARMLESS: u64 = 64 << 20;
/// Most bytes of the headers of one entry of a tar file, which are kept in memory: its names and attributes.
const LARGEST_HEADERS: u64 = 1 << 20;

/// The supported formats, by the extension of a file's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Tar,
    TarGz,
    Zip,
}

impl Format {
    fn of(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_string_lossy().to_lowercase();
        let ends = |endings: &[&str]| endings.iter().any(|ending| name.ends_with(ending));
        match () {
            () if ends(&[".tar.gz", ".tgz"]) => Some(Self::TarGz),
            () if ends(&[".tar"]) => Some(Self::Tar),
            () if ends(&[".zip", ".npz"]) => Some(Self::Zip),
            () => None,
        }
    }
}

/// True if a file has the extension of an archive.
pub(crate) fn is_archive(path: &Path) -> bool {
    Format::of(path).is_some()
}

/// The visitor of the files of an archive: gets the path and the bytes of each.
type Visit<'a> = dyn FnMut(&Path, &mut dyn Read) -> Result<()> + 'a;

/// Unpacks an archive into `folder`. Returns the topmost files and folders of the archive in `folder`. Existing ones
/// are replaced file by file.
///
/// # Errors
/// If the archive is damaged, or an entry is a link, leads out of the folder, or exceeds a limit; nothing of the
/// archive remains then.
pub(crate) fn unpack(archive: &Path, folder: &Path, limits: Limits) -> Result<Vec<PathBuf>> {
    let write = |path: PathBuf| move |source| DataError::Write { path, source };
    fs::create_dir_all(folder).map_err(write(folder.into()))?;
    let name = archive.file_name().unwrap_or_default().to_string_lossy();
    let staging = format!(".unpacking-{name}");
    // A process that was killed leaves its folder.
    let _ = fs::remove_dir_all(folder.join(&staging));
    let staging = tempfile::Builder::new()
        .prefix(&staging)
        .rand_bytes(0)
        .tempdir_in(folder)
        .map_err(write(folder.into()))?;
    each_file(archive, limits, &mut |path, bytes| {
        let target = staging.path().join(path);
        let parent = target.parent().map_or(Ok(()), fs::create_dir_all);
        let written =
            parent.and_then(|()| File::create(&target)).and_then(|mut file| io::copy(bytes, &mut file));
        // A reader that refuses to continue explains why in its own error.
        written
            .map(|_| ())
            .map_err(|source| damage(archive, source).unwrap_or_else(|source| write(target)(source)))
    })?;
    let mut placed = Vec::new();
    let entries = fs::read_dir(staging.path()).map_err(write(folder.into()))?;
    for entry in entries {
        let entry = entry.map_err(write(folder.into()))?;
        let target = folder.join(entry.file_name());
        merge(&entry.path(), &target).map_err(write(target.clone()))?;
        placed.push(target);
    }
    placed.sort_unstable();
    Ok(placed)
}

/// Moves a file or a folder; an existing folder is merged.
fn merge(from: &Path, to: &Path) -> io::Result<()> {
    if from.is_dir() && to.is_dir() {
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            merge(&entry.path(), &to.join(entry.file_name()))?;
        }
        return Ok(());
    }
    fs::rename(from, to)
}

/// Calls `visit` for each file of an archive, with its path inside it.
///
/// # Errors
/// As [`unpack`], and those of `visit`.
pub(in crate::data) fn each_file(archive: &Path, limits: Limits, visit: &mut Visit<'_>) -> Result<()> {
    let unreadable = |source| DataError::Read { path: archive.into(), source };
    let file = File::open(archive).map_err(unreadable)?;
    let size = file.metadata().map_err(unreadable)?.len();
    let mut budget = Budget {
        archive,
        bytes: limits.total.min(HARMLESS.max(size.saturating_mul(limits.ratio))),
        entries: limits.entries,
    };
    let file = io::BufReader::new(file);
    match Format::of(archive) {
        Some(Format::Tar) => tar(archive, file, &mut budget, visit),
        Some(Format::TarGz) => tar(archive, GzDecoder::new(file), &mut budget, visit),
        Some(Format::Zip) => zip(archive, file, &mut budget, visit),
        None => {
            Err(DataError::Archive { path: archive.into(), reason: "is no .tar, .tar.gz or .zip".into() })
        }
    }
}

/// The content of those files of an archive whose last name is one of `names`, none of them larger than `largest`.
///
/// # Errors
/// As [`each_file`].
pub(in crate::data) fn members(
    archive: &Path,
    names: &[&str],
    largest: u64,
) -> Result<HashMap<String, Vec<u8>>> {
    let mut contents = HashMap::new();
    each_file(archive, Limits::default(), &mut |path, bytes| {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if names.contains(&name.as_str()) {
            let mut content = Vec::new();
            let read = bytes.take(largest + 1).read_to_end(&mut content);
            let read = read.map_err(|source| DataError::Gzip { path: archive.into(), source })?;
            if read as u64 > largest {
                return Err(DataError::TooLarge { path: archive.join(path), limit: largest });
            }
            contents.insert(name, content);
        }
        Ok(())
    })?;
    Ok(contents)
}

/// The remaining budget of an archive.
struct Budget<'a> {
    archive: &'a Path,
    bytes: u64,
    entries: u64,
}

impl Budget<'_> {
    fn entry(&mut self) -> Result<()> {
        self.entries = self.entries.checked_sub(1).ok_or_else(|| self.too_much())?;
        Ok(())
    }

    fn too_much(&self) -> DataError {
        let reason = "unpacks to far more than a data set of its size; it was not unpacked".into();
        DataError::Archive { path: self.archive.into(), reason }
    }

    /// Passes a file of the archive to `visit`, and counts its bytes as they are read: the announced size is not
    /// trusted.
    fn spend(&mut self, path: &Path, bytes: &mut dyn Read, visit: &mut Visit<'_>) -> Result<()> {
        let allowance = Allowance::of(self.bytes);
        let visited = visit(path, &mut Counted { inner: bytes, allowance: &allowance });
        if allowance.exceeded.get() {
            return Err(self.too_much());
        }
        self.bytes = allowance.left.get();
        visited
    }
}

/// The bytes that a reader may still give.
struct Allowance {
    left: Cell<u64>,
    exceeded: Cell<bool>,
}

impl Allowance {
    fn of(bytes: u64) -> Self {
        Self { left: Cell::new(bytes), exceeded: Cell::new(false) }
    }
}

struct Counted<'a, R> {
    inner: R,
    allowance: &'a Allowance,
}

impl<R: Read> Read for Counted<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        let Allowance { left, exceeded } = self.allowance;
        match left.get().checked_sub(read as u64) {
            Some(rest) => {
                left.set(rest);
                Ok(read)
            }
            None => {
                exceeded.set(true);
                Err(io::Error::other("too much"))
            }
        }
    }
}

fn tar(archive: &Path, reader: impl Read, budget: &mut Budget<'_>, visit: &mut Visit<'_>) -> Result<()> {
    let failed = |source: io::Error| {
        damage(archive, source).unwrap_or_else(|source| DataError::Gzip { path: archive.into(), source })
    };
    // Of bytes between the files: the reader of tar keeps headers in memory, whatever size they announce.
    let headers = Allowance::of(LARGEST_HEADERS);
    let mut tar = tar::Archive::new(Counted { inner: reader, allowance: &headers });
    for entry in tar.entries().map_err(failed)? {
        let mut entry =
            entry.map_err(|error| if headers.exceeded.get() { budget.too_much() } else { failed(error) })?;
        budget.entry()?;
        headers.left.set(u64::MAX);
        let kind = entry.header().entry_type();
        let path = entry.path().map_err(failed)?.into_owned();
        if kind.is_dir() || kind.is_pax_global_extensions() {
            inside(archive, &path)?;
        } else if kind.is_file() {
            let path = inside(archive, &path)?;
            budget.spend(&path, &mut entry, visit)?;
        } else {
            return Err(refused(archive, &path, "is a link or a device"));
        }
        // The next headers are read after the whole entry: the rest of it would count among them.
        io::copy(&mut entry, &mut io::sink()).map_err(failed)?;
        headers.left.set(LARGEST_HEADERS);
    }
    Ok(())
}

fn zip(
    archive: &Path,
    reader: impl Read + io::Seek,
    budget: &mut Budget<'_>,
    visit: &mut Visit<'_>,
) -> Result<()> {
    let failed =
        |error: zip::result::ZipError| DataError::Gzip { path: archive.into(), source: error.into() };
    let mut zip = zip::ZipArchive::new(reader).map_err(failed)?;
    for at in 0..zip.len() {
        let mut entry = zip.by_index(at).map_err(failed)?;
        budget.entry()?;
        // Some archives are written on Windows, with backslashes.
        let path = PathBuf::from(entry.name().map_err(failed)?.replace('\\', "/"));
        if entry.unix_mode().is_some_and(|mode| mode & 0o170_000 == 0o120_000) {
            return Err(refused(archive, &path, "is a link"));
        }
        let is_folder = entry.is_dir();
        let path = inside(archive, &path)?;
        if !is_folder {
            budget.spend(&path, &mut entry, visit)?;
        }
    }
    Ok(())
}

/// The path of an entry, if it stays inside.
fn inside(archive: &Path, path: &Path) -> Result<PathBuf> {
    let mut clean = PathBuf::new();
    for part in path.components() {
        match part {
            Component::Normal(name) if !name.to_string_lossy().contains([':', '\0', '\\']) => {
                clean.push(name)
            }
            Component::CurDir => {}
            _ => return Err(refused(archive, path, "leads out of the folder")),
        }
    }
    Ok(clean)
}

fn refused(archive: &Path, entry: &Path, what: &str) -> DataError {
    let reason = format!("was not unpacked: its entry {} {what}", entry.display());
    DataError::Archive { path: archive.into(), reason }
}

/// An error in the bytes of the archive as [`DataError`]; an error of the disk is returned unchanged.
fn damage(archive: &Path, source: io::Error) -> Result<DataError, io::Error> {
    use io::ErrorKind::{InvalidData, InvalidInput, Other, UnexpectedEof};
    match source.kind() {
        InvalidData | InvalidInput | UnexpectedEof | Other => {
            Ok(DataError::Gzip { path: archive.into(), source })
        }
        _ => Err(source),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub(in crate::data) mod tests {
    use super::*;
    use std::io::Write as _;

    /// A `.tar` whose entries may have any name.
    pub(in crate::data) fn tar_of(entries: &[(&str, tar::EntryType, &[u8])]) -> Vec<u8> {
        let mut builder = tar::Builder::new(Vec::new());
        for (name, kind, content) in entries {
            let mut header = tar::Header::new_old();
            header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
            if !kind.is_file() {
                header.as_old_mut().linkname[..content.len()].copy_from_slice(content);
            }
            let content = if kind.is_file() { *content } else { &[] };
            header.set_entry_type(*kind);
            header.set_size(content.len() as u64);
            header.set_mode(0o644);
            header.set_cksum();
            builder.append(&header, content).unwrap();
        }
        builder.into_inner().unwrap()
    }

    pub(in crate::data) fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn zip_of(entries: &[(&str, &[u8])]) -> Vec<u8> {
        let mut writer = zip::ZipWriter::new(io::Cursor::new(Vec::new()));
        for (name, content) in entries {
            let options =
                zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
            writer.start_file(*name, options).unwrap();
            writer.write_all(content).unwrap();
        }
        writer.finish().unwrap().into_inner()
    }

    fn try_unpack(name: &str, bytes: &[u8], limits: Limits) -> (tempfile::TempDir, Result<Vec<PathBuf>>) {
        let place = tempfile::tempdir().unwrap();
        let archive = place.path().join(name);
        fs::write(&archive, bytes).unwrap();
        let result = unpack(&archive, &place.path().join("in"), limits);
        (place, result)
    }

    #[test]
    fn archives_of_each_kind_are_unpacked() {
        let tar = tar_of(&[
            ("set/a.txt", tar::EntryType::Regular, b"a"),
            ("./set/b/c.txt", tar::EntryType::Regular, b"c"),
        ]);
        let zip = zip_of(&[("set/", b""), ("set/a.txt", b"a"), ("set\\b\\c.txt", b"c")]);
        for (name, bytes) in
            [("x.tar", tar.clone()), ("x.tgz", gzip(&tar)), ("X.TAR.GZ", gzip(&tar)), ("x.zip", zip)]
        {
            let (place, result) = try_unpack(name, &bytes, Limits::default());
            assert_eq!(result.unwrap(), [place.path().join("in/set")], "{name}");
            assert_eq!(fs::read(place.path().join("in/set/b/c.txt")).unwrap(), b"c");
            assert_eq!(fs::read_dir(place.path().join("in")).unwrap().count(), 1);
        }
    }

    #[test]
    fn nothing_leaves_the_folder() {
        use tar::EntryType::{Link, Regular, Symlink};
        let names = ["../out.txt", "/tmp/out.txt", "set/../../out.txt"];
        let mut archives: Vec<(String, Vec<u8>)> = Vec::new();
        for name in names {
            archives.push((
                format!("{name}.tar"),
                tar_of(&[("set/ok.txt", Regular, b"ok"), (name, Regular, b"out")]),
            ));
            archives.push((format!("{name}.zip"), zip_of(&[("set/ok.txt", b"ok"), (name, b"out")])));
        }
        archives
            .push(("link.tar".into(), tar_of(&[("set", Symlink, b".."), ("set/out.txt", Regular, b"out")])));
        archives.push(("hard.tar".into(), tar_of(&[("set", Link, b"/etc/passwd")])));
        archives.push(("drive.zip".into(), zip_of(&[("C:\\out.txt", b"out")])));
        for (name, bytes) in archives {
            let ending = name.rsplit('.').next().unwrap();
            let (place, result) = try_unpack(&format!("x.{ending}"), &bytes, Limits::default());
            let error = result.unwrap_err().to_string();
            assert!(
                error.contains("leads out of the folder") || error.contains("is a link"),
                "{name}: {error}"
            );
            assert_eq!(fs::read_dir(place.path().join("in")).unwrap().count(), 0, "{name}");
            assert!(!place.path().join("out.txt").exists());
        }
    }

    #[test]
    fn bombs_and_damage_are_refused() {
        use tar::EntryType::Regular;
        let large = vec![0; 1 << 20];
        let bomb = gzip(&tar_of(&[("a", Regular, &large)]));
        let small = Limits { total: 1 << 19, ..Limits::default() };
        let (place, result) = try_unpack("x.tar.gz", &bomb, small);
        assert!(result.unwrap_err().to_string().contains("far more"));
        assert_eq!(fs::read_dir(place.path().join("in")).unwrap().count(), 0);
        let few = Limits { entries: 1, ..Limits::default() };
        let two = tar_of(&[("a", Regular, b""), ("b", Regular, b"")]);
        assert!(try_unpack("x.tar", &two, few).1.unwrap_err().to_string().contains("far more"));
        assert!(
            try_unpack("x.tar.gz", &bomb[..bomb.len() / 2], Limits::default())
                .1
                .unwrap_err()
                .to_string()
                .contains("corrupt")
        );
        assert!(
            try_unpack("x.zip", b"PK nonsense", Limits::default())
                .1
                .unwrap_err()
                .to_string()
                .contains("corrupt")
        );
        assert!(
            try_unpack("x.rar", b"", Limits::default()).1.unwrap_err().to_string().contains("is no .tar")
        );
    }

    /// A name of 5 GB, packed into 5 MB, took as much memory before anything of it was counted.
    #[test]
    fn the_headers_of_an_entry_are_bounded_in_memory() {
        use tar::EntryType::{GNULongLink, GNULongName, Regular, XHeader};
        let with_header = |kind: tar::EntryType, content: &[u8]| {
            let mut header = tar::Header::new_gnu();
            header.set_entry_type(kind);
            header.set_size(content.len() as u64);
            header.set_mode(0o644);
            header.set_cksum();
            let mut builder = tar::Builder::new(Vec::new());
            builder.append(&header, content).unwrap();
            [builder.get_ref().clone(), tar_of(&[("set/a.txt", Regular, b"a")])].concat()
        };
        let large = vec![b'a'; LARGEST_HEADERS as usize];
        for kind in [GNULongName, GNULongLink, XHeader] {
            let (place, result) = try_unpack("x.tar", &with_header(kind, &large), Limits::default());
            assert!(result.unwrap_err().to_string().contains("far more"), "{kind:?}");
            assert_eq!(fs::read_dir(place.path().join("in")).unwrap().count(), 0);
        }
        let long = format!("set/{}/{}.txt", "b".repeat(200), "c".repeat(200));
        let (place, result) =
            try_unpack("x.tar", &with_header(GNULongName, long.as_bytes()), Limits::default());
        result.unwrap();
        assert_eq!(fs::read(place.path().join("in").join(long)).unwrap(), b"a");
    }

    /// Its bytes are no headers, however many they are.
    #[test]
    fn a_large_file_that_nothing_reads_is_skipped() {
        use tar::EntryType::Regular;
        let large = vec![1; 3 * LARGEST_HEADERS as usize];
        let place = tempfile::tempdir().unwrap();
        let archive = place.path().join("x.tar");
        fs::write(&archive, tar_of(&[("large", Regular, &large), ("set/a.txt", Regular, b"a")])).unwrap();
        let members = members(&archive, &["a.txt"], 10).unwrap();
        assert_eq!(members["a.txt"], b"a");
    }

    #[test]
    fn the_ratio_bounds_what_is_large() {
        let place = tempfile::tempdir().unwrap();
        let archive = place.path().join("x.tar.gz");
        let zeros = vec![0; (HARMLESS + (4 << 20)) as usize];
        fs::write(&archive, gzip(&tar_of(&[("a", tar::EntryType::Regular, &zeros)]))).unwrap();
        let error = unpack(&archive, place.path(), Limits::default()).unwrap_err().to_string();
        assert!(error.contains("far more"), "{error}");
    }
}
