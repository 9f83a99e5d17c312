//! Downloads the public files of a data set from its authors, checks them, and unpacks them.

mod lock;
mod transfer;

use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;

use self::lock::Lock;
use self::transfer::{Transfer, agent, transfer};
use super::error::{DataError, Result};
use super::files::archive::{Limits, is_archive, unpack};
use super::source::{About, Download};
use crate::console::line;

/// One file that was fetched.
#[derive(Debug, Serialize)]
pub(crate) struct Fetched {
    pub(crate) url: String,
    /// Its path, or the folders and files that were unpacked from it.
    pub(crate) paths: Vec<PathBuf>,
    /// Bytes of this transfer; 0 if the file was present.
    pub(crate) bytes: u64,
    /// Bytes from an earlier attempt.
    pub(crate) resumed_from: u64,
    pub(crate) md5: String,
    /// True if the MD5 is the known one; false if none is known.
    pub(crate) verified: bool,
    /// The file that records the MD5 of an unpacked archive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) receipt: Option<PathBuf>,
}

/// Fetches every file of a data set into `folder`, from its authors' addresses or, under the same names, from another.
/// Present files are not fetched again.
///
/// # Errors
/// If an address does not answer, the received file is not the official one, or an archive is refused.
pub(crate) fn fetch(about: &About, folder: &Path, mirror: Option<&str>) -> Result<Vec<Fetched>> {
    let agent = agent()?;
    let mut fetched = Vec::new();
    for download in about.downloads {
        let url = match mirror {
            Some(mirror) => format!("{}/{}", mirror.trim_end_matches('/'), download.file()),
            None => download.url.to_owned(),
        };
        let place = folder.join(download.folder);
        if download.md5.is_none() && url.starts_with("http://") {
            line(format_args!("{url} is not encrypted and no checksum is known: the file cannot be trusted"));
        }
        fs::create_dir_all(&place).map_err(|source| DataError::Write { path: place.clone(), source })?;
        fetched.push(one(&agent, download, url, &place)?);
    }
    Ok(fetched)
}

fn one(agent: &ureq::Agent, download: &Download, url: String, place: &Path) -> Result<Fetched> {
    let path = place.join(download.file());
    let receipt = place.join(format!(".{}.md5", download.file()));
    if !download.packed
        && let Some(md5) = received(&receipt, &unpacked_list(&receipt), place)
    {
        line(format_args!(
            "{} was unpacked already (remove {} to fetch it again)",
            download.file(),
            receipt.display()
        ));
        let verified = download.md5 == Some(md5.as_str());
        let (paths, receipt) = (vec![place.into()], Some(receipt));
        return Ok(Fetched { url, paths, bytes: 0, resumed_from: 0, md5, verified, receipt });
    }
    let _lock = Lock::take(download.file(), &url, place)?;
    let Transfer { bytes, resumed_from, md5 } = transfer(agent, &url, &path, download.md5)?;
    let (paths, receipt) = if download.packed {
        (vec![path], None)
    } else {
        (unpacked(&path, place, &receipt, (&md5, download.md5.is_some()))?, Some(receipt))
    };
    Ok(Fetched { url, paths, bytes, resumed_from, verified: download.md5.is_some(), md5, receipt })
}

/// The list of the unpacked files, beside a receipt.
fn unpacked_list(receipt: &Path) -> PathBuf {
    receipt.with_extension("unpacked")
}

/// The MD5 in a receipt, if all unpacked files are still there. Earlier versions wrote no list of it.
fn received(receipt: &Path, list: &Path, place: &Path) -> Option<String> {
    let md5 = fs::read_to_string(receipt).ok()?;
    let names = fs::read_to_string(list).unwrap_or_default();
    names.lines().all(|name| place.join(name).exists()).then(|| md5.trim().to_owned())
}

/// Unpacks an archive and the archives inside it, and removes them. One whose checksum is known is kept if it cannot be unpacked.
fn unpacked(
    archive: &Path,
    place: &Path,
    receipt: &Path,
    (md5, is_known): (&str, bool),
) -> Result<Vec<PathBuf>> {
    line(format_args!("unpacking {}", archive.display()));
    let write = |path: &Path| {
        let path = path.to_owned();
        move |source| DataError::Write { path, source }
    };
    let placed = unpack(archive, place, Limits::default()).inspect_err(|error| {
        // Without a known checksum, a wrong file is first noticed here.
        if !is_known && !matches!(error, DataError::Write { .. }) {
            let _ = fs::remove_file(archive);
        }
    })?;
    for folder in placed.iter().filter(|path| path.is_dir()) {
        let inner = fs::read_dir(folder).map_err(write(folder))?;
        for nested in inner.filter_map(Result::ok).map(|entry| entry.path()).filter(|path| is_archive(path)) {
            line(format_args!("unpacking {}", nested.display()));
            unpack(&nested, folder, Limits::default())?;
            fs::remove_file(&nested).map_err(write(&nested))?;
        }
    }
    fs::remove_file(archive).map_err(write(archive))?;
    let names = placed.iter().filter_map(|path| path.file_name());
    let names: String = names.map(|name| format!("{}\n", name.to_string_lossy())).collect();
    let list = unpacked_list(receipt);
    fs::write(&list, names).map_err(write(&list))?;
    fs::write(receipt, format!("{md5}\n")).map_err(write(receipt))?;
    Ok(placed)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::io::{BufRead as _, BufReader, Write as _};
    use std::net::TcpListener;

    use super::*;
    use crate::data::arrays::mnist::tests::real;
    use crate::data::sets;

    #[test]
    fn a_receipt_counts_while_all_that_was_unpacked_is_there() {
        let place = tempfile::tempdir().unwrap();
        let receipt = place.path().join(".birds.tgz.md5");
        let received = || received(&receipt, &unpacked_list(&receipt), place.path());
        assert_eq!(received(), None);
        fs::write(&receipt, "abc\n").unwrap();
        assert_eq!(received().as_deref(), Some("abc"), "one of an earlier version");
        fs::write(unpacked_list(&receipt), "birds\n").unwrap();
        assert_eq!(received(), None);
        fs::create_dir(place.path().join("birds")).unwrap();
        assert_eq!(received().as_deref(), Some("abc"));
    }

    /// Both wrote to one part, and neither kept anything.
    #[test]
    fn a_file_that_another_process_fetches_is_left_to_it() {
        let labels = sets::find("mnist").unwrap().about().downloads.last().unwrap();
        let place = tempfile::tempdir().unwrap();
        let part = place.path().join(format!("{}.part", labels.file()));
        fs::write(&part, "half").unwrap();
        let held = Lock::take(labels.file(), labels.url, place.path()).unwrap();
        let url = "http://127.0.0.1:1/gone".to_owned();
        let error = one(&agent().unwrap(), labels, url, place.path()).unwrap_err().to_string();
        assert!(error.contains("another process fetches") && error.contains(labels.file()), "{error}");
        assert_eq!(fs::read_to_string(&part).unwrap(), "half");
        drop(held);
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1, "the part");
        assert!(Lock::take(labels.file(), labels.url, place.path()).is_ok());
    }

    #[test]
    fn an_archive_is_removed_only_where_it_may_be_a_wrong_one() {
        let place = tempfile::tempdir().unwrap();
        let (archive, receipt) = (place.path().join("birds.tar.gz"), place.path().join(".birds.md5"));
        for (is_known, is_kept) in [(true, true), (false, false)] {
            fs::write(&archive, "no archive").unwrap();
            assert!(unpacked(&archive, place.path(), &receipt, ("abc", is_known)).is_err());
            assert_eq!(archive.exists(), is_kept, "{is_known}");
        }
    }

    #[test]
    fn an_official_file_is_known_by_its_checksum_although_the_connection_was_cut() {
        let labels = sets::find("mnist").unwrap().about().downloads.last().unwrap();
        let content = fs::read(real("mnist-labels").join(labels.file())).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/{}", listener.local_addr().unwrap(), labels.file());
        let (total, cut) = (content.len(), content.len() / 3);
        let server = std::thread::spawn(move || {
            let parts = [
                (format!("200 OK\r\nContent-Length: {total}"), &content[..cut]),
                (
                    format!(
                        "206 Partial Content\r\nContent-Length: {}\r\nContent-Range: bytes {cut}-{}/{total}",
                        total - cut,
                        total - 1
                    ),
                    &content[cut..],
                ),
            ];
            for (head, body) in parts {
                let (mut connection, _) = listener.accept().unwrap();
                let request = BufReader::new(connection.try_clone().unwrap()).lines().map_while(Result::ok);
                assert!(request.take_while(|line| !line.is_empty()).count() > 0);
                write!(connection, "HTTP/1.1 {head}\r\nConnection: close\r\n\r\n").unwrap();
                connection.write_all(body).unwrap();
            }
        });
        let folder = tempfile::tempdir().unwrap();
        let fetched = one(&agent().unwrap(), labels, url, folder.path()).unwrap();
        server.join().unwrap();
        assert!(fetched.verified, "{fetched:?}");
        assert_eq!((fetched.md5.as_str(), fetched.bytes), (labels.md5.unwrap(), total as u64));
        let again = one(&agent().unwrap(), labels, "http://127.0.0.1:1/gone".into(), folder.path()).unwrap();
        assert_eq!((again.bytes, again.verified), (0, true));
    }
}
