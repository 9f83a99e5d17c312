//! Downloads the public files of a data set from its authors, checks them, and unpacks them.

mod transfer;

use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;

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
            line(format_args!(
                "{url} is not encrypted and no checksum is known: what comes may be anybody's"
            ));
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
        && let Ok(md5) = fs::read_to_string(&receipt)
    {
        line(format_args!(
            "{} was unpacked already (remove {} to fetch it again)",
            download.file(),
            receipt.display()
        ));
        let md5 = md5.trim().to_owned();
        let verified = download.md5 == Some(md5.as_str());
        let (paths, receipt) = (vec![place.into()], Some(receipt));
        return Ok(Fetched { url, paths, bytes: 0, resumed_from: 0, md5, verified, receipt });
    }
    let Transfer { bytes, resumed_from, md5 } = transfer(agent, &url, &path, download.md5)?;
    let (paths, receipt) = if download.packed {
        (vec![path], None)
    } else {
        (unpacked(&path, place, &receipt, &md5)?, Some(receipt))
    };
    Ok(Fetched { url, paths, bytes, resumed_from, verified: download.md5.is_some(), md5, receipt })
}

/// Unpacks an archive and the archives inside it, and removes them.
fn unpacked(archive: &Path, place: &Path, receipt: &Path, md5: &str) -> Result<Vec<PathBuf>> {
    line(format_args!("unpacking {}", archive.display()));
    let write = |path: &Path| {
        let path = path.to_owned();
        move |source| DataError::Write { path, source }
    };
    let placed = unpack(archive, place, Limits::default()).inspect_err(|_| {
        // Without a known checksum, a wrong file is first noticed here.
        let _ = fs::remove_file(archive);
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
