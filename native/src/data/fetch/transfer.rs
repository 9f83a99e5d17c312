//! Downloads one file over HTTP to `NAME.part`, resumes an earlier attempt, checks the file, and renames it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write as _};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use md5::{Digest as _, Md5};
use ureq::http::Response;
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::{Agent, Body};

use crate::console::{Progress, line};
use crate::data::error::{DataError, Result};
use crate::data::files::digest::hex;

/// Requests in a row that bring no byte before the file is given up.
const MAX_EMPTY_ATTEMPTS: u32 = 4;
/// Wait before the next attempt after one that brought bytes; it doubles with every attempt in a row that brings none.
const PAUSE: Duration = Duration::from_millis(250);
/// No data set has a larger file.
const LARGEST: u64 = 600 << 30;
/// Most time for a connection, for the header of an answer, and without a byte of its body.
const TIMEOUT: Duration = Duration::from_secs(60);
const MEGABYTE: u64 = 1_000_000;

/// A file that was transferred.
#[derive(Debug)]
pub(super) struct Transfer {
    pub(super) bytes: u64,
    pub(super) resumed_from: u64,
    pub(super) md5: String,
}

/// The HTTP client. It trusts Mozilla's root certificates, or those of the file in `SSL_CERT_FILE`, which is needed
/// behind a proxy with its own certificate.
///
/// # Errors
/// If that file cannot be read.
pub(super) fn agent() -> Result<Agent> {
    let roots = match std::env::var_os("SSL_CERT_FILE").filter(|path| !path.is_empty()).map(PathBuf::from) {
        Some(path) => RootCerts::from(certificates(&path)?),
        None => RootCerts::WebPki,
    };
    let config = Agent::config_builder()
        .tls_config(TlsConfig::builder().root_certs(roots).build())
        .http_status_as_error(false)
        .user_agent(concat!("simile/", env!("CARGO_PKG_VERSION")))
        .timeout_connect(Some(TIMEOUT))
        .timeout_recv_response(Some(TIMEOUT))
        .timeout_per_read(Some(TIMEOUT));
    Ok(config.build().new_agent())
}

fn certificates(path: &Path) -> Result<Vec<Certificate<'static>>> {
    let text = fs::read(path).map_err(|source| DataError::Read { path: path.into(), source })?;
    // Other parts of the file, such as comments and keys, are ignored.
    let items = parse_pem(&text).filter_map(|item| match item {
        Ok(PemItem::Certificate(certificate)) => Some(certificate),
        _ => None,
    });
    Ok(items.collect())
}

/// Downloads a file to `path`, unless it exists with the right checksum.
///
/// # Errors
/// If the server refuses, ends too early again and again, or sends another file than the one with this MD5, which is
/// then removed.
pub(super) fn transfer(agent: &Agent, url: &str, path: &Path, md5: Option<&str>) -> Result<Transfer> {
    if path.is_file() {
        let md5_of_file = md5_of(path)?;
        if md5.is_none_or(|md5| md5 == md5_of_file) {
            line(format_args!("{} is there already", path.display()));
            return Ok(Transfer { bytes: 0, resumed_from: 0, md5: md5_of_file });
        }
        line(format_args!("{} is not the official file and is fetched again", path.display()));
    }
    let part = part_of(path);
    let resumed_from = size(&part);
    let bytes = all_of(agent, url, &part)?;
    let md5_of_file = md5_of(&part)?;
    if let Some(expected) = md5.filter(|md5| *md5 != md5_of_file) {
        remove(&part)?;
        let reason = format!(
            "the file has MD5 {md5_of_file}, expected {expected}, and was removed; try again, or another address with --from URL"
        );
        return Err(failed(url, reason));
    }
    fs::rename(&part, path).map_err(|source| DataError::Write { path: path.into(), source })?;
    Ok(Transfer { bytes, resumed_from, md5: md5_of_file })
}

/// Repeats requests until the file is complete; returns the number of received bytes.
fn all_of(agent: &Agent, url: &str, part: &Path) -> Result<u64> {
    let (mut received, mut failures) = (0, 0);
    loop {
        let before = size(part);
        let reason = match ask(agent, url, part, before)? {
            Attempt::Whole => return Ok(received + size(part).saturating_sub(before)),
            Attempt::Again(reason) => reason,
        };
        let after = size(part);
        received += after.saturating_sub(before);
        failures = if after > before { 0 } else { failures + 1 };
        if failures >= MAX_EMPTY_ATTEMPTS {
            let reason =
                format!("{reason}; {after} bytes are kept, and the next attempt continues from there");
            return Err(failed(url, reason));
        }
        line(format_args!("{reason}; trying again from byte {after}"));
        thread::sleep(PAUSE * 2_u32.pow(failures));
    }
}

/// The outcome of one request.
enum Attempt {
    /// The file is whole.
    Whole,
    /// The reason for another attempt.
    Again(String),
}

fn ask(agent: &Agent, url: &str, part: &Path, from: u64) -> Result<Attempt> {
    let mut request = agent.get(url);
    if from > 0 {
        request = request.header("Range", format!("bytes={from}-"));
    }
    let response = match request.call() {
        Ok(response) => response,
        Err(error) if error.to_string().contains("certificate") => {
            let reason = format!(
                "{error}; behind a proxy with certificates of its own, name their file with SSL_CERT_FILE"
            );
            return Err(failed(url, reason));
        }
        Err(error) => return Ok(Attempt::Again(format!("{url} does not answer ({error})"))),
    };
    let (from, total) = match response.status().as_u16() {
        200 => (0, header(&response, "content-length").and_then(|length| length.parse::<u64>().ok())),
        206 => match range(&response) {
            Some((start, total)) if start == from => (from, total),
            _ => {
                remove(part)?;
                return Ok(Attempt::Again("the server sent another part than it was asked for".into()));
            }
        },
        // No bytes follow those on the disk: the file is complete, or a different one.
        416 => {
            if range_total(&response) == Some(from) {
                return Ok(Attempt::Whole);
            }
            remove(part)?;
            return Ok(Attempt::Again("the file on the server is shorter than the part that is here".into()));
        }
        status @ (408 | 429 | 500..=599) => {
            return Ok(Attempt::Again(format!("the server answers with status {status}")));
        }
        status => {
            return Err(failed(
                url,
                format!(
                    "the server answers with status {status}; `simile data list NAME` has the address of the authors' page"
                ),
            ));
        }
    };
    if total.is_some_and(|total| total > LARGEST) {
        return Err(failed(url, "the server announces more than any data set holds".into()));
    }
    let received = receive(response, part, from, total)?;
    let here = size(part);
    Ok(match (received, total) {
        (Ok(()), Some(total)) if here < total => {
            Attempt::Again(format!("the server announces {total} bytes and ends after {here}"))
        }
        (Ok(()), _) => Attempt::Whole,
        (Err(error), Some(total)) => {
            Attempt::Again(format!("the connection ended at byte {here} of {total} ({error})"))
        }
        (Err(error), None) => Attempt::Again(format!("the connection ended at byte {here} ({error})")),
    })
}

/// Appends the body to the partial file. The inner result is that of the connection.
fn receive(response: Response<Body>, part: &Path, from: u64, total: Option<u64>) -> Result<io::Result<()>> {
    let write = |source| DataError::Write { path: part.into(), source };
    let mut options = OpenOptions::new();
    let options = if from > 0 { options.append(true) } else { options.write(true).truncate(true) };
    let mut file = options.create(true).open(part).map_err(write)?;
    let name = part.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let mut progress =
        total.map(|total| Progress::new(&format!("{name} (MB)"), from / MEGABYTE, total.div_ceil(MEGABYTE)));
    let mut body = response.into_body().into_reader();
    let mut buffer = vec![0; 1 << 16];
    let mut here = from;
    let end = loop {
        match body.read(&mut buffer) {
            Ok(0) => break Ok(()),
            Ok(count) => {
                file.write_all(buffer.get(..count).unwrap_or_default()).map_err(write)?;
                here += count as u64;
                if here > LARGEST {
                    break Err(io::Error::other("more than any data set holds"));
                }
                if let Some(progress) = &mut progress {
                    progress.at((here / MEGABYTE).min(total.unwrap_or(here).div_ceil(MEGABYTE)), "");
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => break Err(error),
        }
    };
    if let Some(progress) = progress {
        progress.finish();
    }
    file.sync_all().map_err(write)?;
    Ok(end)
}

fn header<'a>(response: &'a Response<Body>, name: &str) -> Option<&'a str> {
    response.headers().get(name)?.to_str().ok()
}

/// Start and whole length of `Content-Range: bytes START-END/TOTAL`.
fn range(response: &Response<Body>) -> Option<(u64, Option<u64>)> {
    let (start, _) = header(response, "content-range")?.strip_prefix("bytes ")?.split_once('-')?;
    Some((start.trim().parse().ok()?, range_total(response)))
}

fn range_total(response: &Response<Body>) -> Option<u64> {
    header(response, "content-range")?.rsplit_once('/')?.1.trim().parse().ok()
}

fn part_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".part");
    name.into()
}

fn size(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |known| known.len())
}

fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            Err(DataError::Write { path: path.into(), source })
        }
        _ => Ok(()),
    }
}

fn failed(url: &str, reason: String) -> DataError {
    DataError::Fetch { url: url.into(), reason }
}

/// The MD5 of a file of any size.
fn md5_of(path: &Path) -> Result<String> {
    let unreadable = |source| DataError::Read { path: path.into(), source };
    let mut file = File::open(path).map_err(unreadable)?;
    let mut digest = Md5::new();
    let mut buffer = vec![0; 1 << 20];
    loop {
        match file.read(&mut buffer).map_err(unreadable)? {
            0 => return Ok(hex(&digest.finalize())),
            count => digest.update(buffer.get(..count).unwrap_or_default()),
        }
    }
}
