//! Files of a data set: under several official names, in one of several folders, plain or gzipped.

pub(in crate::data) mod archive;
pub(crate) mod csv_file;
pub(in crate::data) mod digest;
pub(in crate::data) mod numbers;
pub(in crate::data) mod packed;
pub(in crate::data) mod walk;

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;

use crate::data::error::{DataError, Result};

/// Largest unpacked size: no file of a known data set is larger, so that a larger gzip file is damaged or hostile.
pub(in crate::data) const LARGEST: u64 = 256 << 20;

/// The first of `names`, plain or with `.gz`, in the first of `folders` that holds one.
pub(in crate::data) fn find(folders: &[PathBuf], names: &[String]) -> Option<PathBuf> {
    let candidates = folders.iter().flat_map(|folder| {
        names.iter().flat_map(move |name| [folder.join(name), folder.join(format!("{name}.gz"))])
    });
    candidates.into_iter().find(|path| path.is_file())
}

/// The folder itself and those of its sub-folders that exist.
pub(in crate::data) fn folders(folder: &Path, inner: &[&str]) -> Result<Vec<PathBuf>> {
    if !folder.is_dir() {
        return Err(DataError::NotAFolder(folder.into()));
    }
    let inner = inner.iter().map(|name| folder.join(name)).filter(|path| path.is_dir());
    Ok(std::iter::once(folder.to_path_buf()).chain(inner).collect())
}

/// True if a file has the extension of gzip.
pub(in crate::data) fn is_gzip(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("gz"))
}

/// The bytes of a file on the disk, at most [`LARGEST`].
pub(in crate::data) fn read(path: &Path) -> Result<Vec<u8>> {
    let unreadable = |source| DataError::Read { path: path.into(), source };
    bounded(File::open(path).map_err(unreadable)?, path, LARGEST)?.map_err(unreadable)
}

/// Unpacks the bytes of a file if its extension is that of gzip.
pub(in crate::data) fn unpack(path: &Path, bytes: Vec<u8>) -> Result<Vec<u8>> {
    if !is_gzip(path) {
        return Ok(bytes);
    }
    let broken = |source| DataError::Gzip { path: path.into(), source };
    bounded(MultiGzDecoder::new(bytes.as_slice()), path, LARGEST)?.map_err(broken)
}

/// The content of a file, unpacked.
pub(crate) fn content(path: &Path) -> Result<Vec<u8>> {
    unpack(path, read(path)?)
}

/// Reads to the end, or fails once `limit` is passed. The inner result is the reader's own.
fn bounded(reader: impl Read, path: &Path, limit: u64) -> Result<std::io::Result<Vec<u8>>> {
    let mut bytes = Vec::new();
    match reader.take(limit + 1).read_to_end(&mut bytes) {
        Ok(read) if read as u64 > limit => Err(DataError::TooLarge { path: path.into(), limit }),
        Ok(_) => Ok(Ok(bytes)),
        Err(error) => Ok(Err(error)),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::io::Write;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn plain_and_gzipped_files_have_the_same_content() {
        let folder = tempfile::tempdir().unwrap();
        let (plain, zipped) = (folder.path().join("a"), folder.path().join("b.gz"));
        std::fs::write(&plain, b"content").unwrap();
        std::fs::write(&zipped, gzip(b"content")).unwrap();
        assert_eq!(content(&plain).unwrap(), content(&zipped).unwrap());
        let folders = folders(folder.path(), &["none"]).unwrap();
        assert_eq!(find(&folders, &["b".into()]).unwrap(), zipped);
        assert_eq!(find(&folders, &["c".into(), "a".into()]).unwrap(), plain);
        assert!(find(&folders, &["c".into()]).is_none());
    }

    #[test]
    fn a_damaged_gzip_file_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("labels.gz");
        let good = gzip(&[7; 5000]);
        let mut flipped = good.clone();
        let at = flipped.len() - 6;
        flipped[at] ^= 1;
        let trailing = [good.clone(), b"rest".to_vec()].concat();
        for bytes in [good[..good.len() - 3].to_vec(), flipped, trailing, b"not gzip".to_vec(), vec![]] {
            std::fs::write(&path, bytes).unwrap();
            let error = content(&path).unwrap_err().to_string();
            assert!(error.contains("labels.gz is truncated or corrupt"), "{error}");
        }
        let error = content(&folder.path().join("absent")).unwrap_err().to_string();
        assert!(error.contains("cannot read"), "{error}");
    }

    #[test]
    fn what_unpacks_to_too_much_is_refused() {
        let bomb = gzip(&vec![0; 1 << 20]);
        assert!(bomb.len() < 1 << 14);
        let decoder = || MultiGzDecoder::new(bomb.as_slice());
        let error = bounded(decoder(), Path::new("bomb.gz"), (1 << 20) - 1).unwrap_err().to_string();
        assert!(error.contains("bomb.gz holds more than 1048575 bytes"), "{error}");
        assert_eq!(bounded(decoder(), Path::new("bomb.gz"), 1 << 20).unwrap().unwrap().len(), 1 << 20);
    }
}
