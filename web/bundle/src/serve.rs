//! A static file server for one folder, on this machine only.

use std::fs::{self, File};
use std::path::{Component, Path, PathBuf};

use anyhow::{Context as _, Result, anyhow};
use tiny_http::{Header, Method, Request, Response, Server, StatusCode};

/// Serves `folder` on 127.0.0.1 until the process is stopped.
pub(crate) fn serve(folder: &Path, port: u16) -> Result<()> {
    let server = Server::http(("127.0.0.1", port))
        .map_err(|error| anyhow!("cannot listen on 127.0.0.1:{port}: {error}; choose another with --port"))?;
    let index = folder.join("index.html");
    anyhow::ensure!(index.exists(), "{} is missing; run `cargo web build` first", index.display());
    let address = server.server_addr().to_ip().context("the server has no address")?;
    eprintln!("Serving {} on http://{address}/ (Ctrl-C stops)", folder.display());
    for request in server.incoming_requests() {
        // A visitor that goes away in the middle of a file is no reason to stop.
        if let Err(error) = answer(folder, request) {
            eprintln!("{error:#}");
        }
    }
    Ok(())
}

fn answer(folder: &Path, request: Request) -> Result<()> {
    if !matches!(request.method(), Method::Get | Method::Head) {
        return Ok(request.respond(Response::empty(StatusCode(405)))?);
    }
    let Some(path) = locate(folder, request.url()) else {
        return Ok(request.respond(Response::from_string("Not found").with_status_code(404))?);
    };
    let file = File::open(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let response = Response::from_file(file)
        .with_header(header("Content-Type", media_type(&path))?)
        .with_header(header("Cache-Control", "no-cache")?);
    Ok(request.respond(response)?)
}

/// The file that a URL names, if it lies inside the folder.
fn locate(folder: &Path, url: &str) -> Option<PathBuf> {
    let path = url.split(['?', '#']).next()?.trim_start_matches('/');
    let relative = Path::new(path);
    if !relative.components().all(|part| matches!(part, Component::Normal(_))) {
        return None;
    }
    let path = folder.join(relative);
    let path = if path.is_dir() { path.join("index.html") } else { path };
    fs::metadata(&path).is_ok_and(|metadata| metadata.is_file()).then_some(path)
}

fn header(name: &str, value: &str) -> Result<Header> {
    Header::from_bytes(name, value).map_err(|()| anyhow!("`{value}` is no valid {name} header"))
}

/// Browsers refuse module scripts and streaming compilation of WebAssembly without the right type.
fn media_type(path: &Path) -> &'static str {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("html") => "text/html; charset=utf-8",
        Some("js" | "mjs") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("json" | "map") => "application/json",
        Some("wasm") => "application/wasm",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("jpg" | "jpeg") => "image/jpeg",
        Some("webp") => "image/webp",
        Some("ico") => "image/x-icon",
        Some("woff2") => "font/woff2",
        Some("txt") => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn finds_files_inside_the_folder_only() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        assert_eq!(locate(folder, "/Cargo.toml?v=1").unwrap(), folder.join("Cargo.toml"));
        assert_eq!(locate(folder, "/../Cargo.toml"), None);
        assert_eq!(locate(folder, "/src/../Cargo.toml"), None);
        assert_eq!(locate(folder, "//etc/passwd"), None);
        assert_eq!(locate(folder, "/src"), None);
        assert_eq!(locate(folder, "/missing.js"), None);
    }

    #[test]
    fn a_site_that_was_not_built_is_said() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let error = serve(&folder, 0).unwrap_err().to_string();
        let index = folder.join("index.html");
        assert_eq!(error, format!("{} is missing; run `cargo web build` first", index.display()));
    }

    #[test]
    fn names_the_types_that_browsers_insist_on() {
        assert_eq!(media_type(Path::new("a/cpu.wasm")), "application/wasm");
        assert!(media_type(Path::new("a/worker.js")).starts_with("text/javascript"));
    }
}
