//! `simile data fetch` against servers that misbehave.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::Value;
use simile_tests::place;

use crate::support::program::{complaint, json, stderr};
use crate::support::recipes::of_data_set;

/// A request to the server.
#[derive(Debug, Clone, PartialEq)]
struct Request {
    file: String,
    /// The start of the requested range.
    from: Option<usize>,
}

/// Starts a server on this machine that answers each request with the bytes of `reply` and closes the connection.
/// Returns its address and the requests.
fn serve(reply: impl Fn(usize, &Request) -> Vec<u8> + Send + 'static) -> (String, Arc<Mutex<Vec<Request>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/files", listener.local_addr().unwrap());
    let asked = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&asked);
    thread::spawn(move || {
        for connection in listener.incoming() {
            let mut connection = connection.unwrap();
            let mut request = Request { file: String::new(), from: None };
            for line in BufReader::new(connection.try_clone().unwrap()).lines().map_while(Result::ok) {
                if line.is_empty() {
                    break;
                }
                if let Some(path) = line.strip_prefix("GET ") {
                    request.file = path.split(' ').next().unwrap().rsplit('/').next().unwrap().to_owned();
                }
                if let Some(range) = line.to_lowercase().strip_prefix("range: bytes=") {
                    request.from = range.trim_end_matches('-').parse().ok();
                }
            }
            let number = log.lock().unwrap().len();
            log.lock().unwrap().push(request.clone());
            let _ = connection.write_all(&reply(number, &request));
        }
    });
    (address, asked)
}

/// A reply with a status line, a head and a body.
fn answer(status: &str, head: &str, body: &[u8]) -> Vec<u8> {
    [format!("HTTP/1.1 {status}\r\nConnection: close\r\n{head}\r\n").as_bytes(), body].concat()
}

/// The whole file, or the requested range.
fn honest(content: &[u8], request: &Request) -> Vec<u8> {
    let total = content.len();
    match request.from {
        None => answer("200 OK", &format!("Content-Length: {total}\r\n"), content),
        Some(from) if from >= total => {
            answer("416 Range Not Satisfiable", &format!("Content-Range: bytes */{total}\r\n"), b"")
        }
        Some(from) => {
            let head = format!(
                "Content-Length: {}\r\nContent-Range: bytes {from}-{}/{total}\r\n",
                total - from,
                total - 1
            );
            answer("206 Partial Content", &head, &content[from..])
        }
    }
}

/// The archive of Waterbirds in its official layout, with few birds.
fn waterbirds(entry: &str) -> Vec<u8> {
    let mut builder =
        tar::Builder::new(flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast()));
    let mut add = |name: &str, content: &[u8]| {
        let mut header = tar::Header::new_old();
        header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        header.set_cksum();
        builder.append(&header, content).unwrap();
    };
    let mut table = String::from("img_id,img_filename,y,split,place,place_filename\n");
    for i in 0..24_u32 {
        let mut noise = i + 1;
        let picture = image::RgbImage::from_fn(30, 20, |_, _| {
            noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            image::Rgb([(noise >> 24) as u8, (noise >> 16) as u8, 90])
        });
        let mut png = std::io::Cursor::new(Vec::new());
        picture.write_to(&mut png, image::ImageFormat::Png).unwrap();
        let name = format!("001.Bird/Bird_{i}.png");
        add(&format!("waterbird_complete95_forest2water2/{name}"), png.get_ref());
        let split = if i < 12 { 0 } else { 1 + i % 2 };
        table += &format!("{i},{name},{},{split},{},/o/ocean/0.jpg\n", i % 2, i / 2 % 2);
    }
    add("waterbird_complete95_forest2water2/metadata.csv", table.as_bytes());
    if !entry.is_empty() {
        add(entry, b"out");
    }
    builder.into_inner().unwrap().finish().unwrap()
}

const BIRDS: &str = "waterbird_complete95_forest2water2.tar.gz";

fn fetch(place: &Path, name: &str, address: &str) -> Value {
    json(place, &["data", "fetch", name, "--data", "data", "--from", address, "--json"])
}

fn fetch_fails(place: &Path, name: &str, address: &str) -> String {
    complaint(place, &["data", "fetch", name, "--data", "data", "--from", address], 1)
}

#[test]
fn a_cut_connection_goes_on_where_it_ended() {
    let place = place();
    let content = waterbirds("");
    let (address, asked) = serve(move |number, request| {
        let whole = honest(&content, request);
        // Twice the connection ends in the middle of the rest.
        if number < 2 {
            whole[..whole.len() - (content.len() - request.from.unwrap_or(0)) / 2].to_vec()
        } else {
            whole
        }
    });
    let answer = fetch(place.path(), "waterbirds", &address);
    let file = &answer["files"][0];
    assert_eq!((&file["verified"], &file["resumed_from"]), (&false.into(), &0.into()), "{answer}");
    let asked = asked.lock().unwrap().clone();
    assert_eq!((asked.len(), asked[0].from, asked[0].file.as_str()), (3, None, BIRDS));
    assert!(asked[1].from > Some(0) && asked[2].from > asked[1].from, "{asked:?}");
    let data = place.path().join("data");
    assert!(data.join("waterbird_complete95_forest2water2/001.Bird/Bird_7.png").is_file());
    assert!(!data.join(BIRDS).exists());

    // No checksum of it is published: that of this download is stored and reported.
    let receipt = fs::read_to_string(place.path().join(file["receipt"].as_str().unwrap())).unwrap();
    assert_eq!(receipt.trim(), file["md5"].as_str().unwrap());
    let arguments = ["data", "fetch", "waterbirds", "--data", "data", "--from", &address];
    let text = stderr(place.path(), &arguments);
    assert!(text.contains("so it could not be verified") && text.contains(receipt.trim()), "{text}");

    let again = fetch(place.path(), "waterbirds", &address);
    assert_eq!(again["files"][0]["bytes"], 0);
    let recipe = of_data_set("waterbirds", "judged_by = \"validation\"", "bias");
    fs::write(place.path().join("birds.toml"), recipe).unwrap();
    let run = json(place.path(), &["train", "birds.toml", "--data", "data", "--out", "run", "--json"]);
    assert!(run["arms"][0]["metrics"]["top1"].is_number(), "{run}");
}

#[test]
fn what_an_earlier_attempt_left_is_used() {
    let place = place();
    let content = waterbirds("");
    fs::create_dir(place.path().join("data")).unwrap();
    fs::write(place.path().join(format!("data/{BIRDS}.part")), &content[..1000]).unwrap();
    let (address, asked) = serve(move |_, request| honest(&content, request));
    let answer = fetch(place.path(), "waterbirds", &address);
    assert_eq!(answer["files"][0]["resumed_from"], 1000);
    assert_eq!(asked.lock().unwrap()[0].from, Some(1000));
}

#[test]
fn a_wrong_file_is_told_by_its_checksum_and_removed() {
    let place = place();
    let (address, _) = serve(|_, request| honest(b"<html>moved</html>", request));
    let error = fetch_fails(place.path(), "mnist", &address);
    assert!(error.contains("expected f68b3c2dcbeaaa9fbdd348bbdeb94873"), "{error}");
    assert_eq!(fs::read_dir(place.path().join("data/mnist")).unwrap().count(), 0);
}

#[test]
fn a_length_that_is_a_lie_is_said() {
    let place = place();
    let content = waterbirds("");
    let more = content.clone();
    let (address, _) =
        serve(move |_, _| answer("200 OK", &format!("Content-Length: {}\r\n", more.len() + 1000), &more));
    let error = fetch_fails(place.path(), "waterbirds", &address);
    assert!(error.contains("cannot fetch") && error.contains(&(content.len() + 1000).to_string()), "{error}");
    let total = content.len();
    let (address, _) =
        serve(move |_, _| answer("200 OK", &format!("Content-Length: {}\r\n", total - 1000), &content));
    let error = fetch_fails(place.path(), "waterbirds", &address);
    assert!(error.contains("truncated or corrupt"), "{error}");
    assert!(!place.path().join("data/waterbird_complete95_forest2water2").exists());
}

#[test]
fn a_refusal_and_a_hostile_archive_leave_nothing() {
    let place = place();
    let (address, asked) = serve(|_, _| answer("404 Not Found", "Content-Length: 0\r\n", b""));
    let error = fetch_fails(place.path(), "waterbirds", &address);
    assert!(error.contains("status 404"), "{error}");
    assert_eq!(asked.lock().unwrap().len(), 1);
    let hostile = waterbirds("../../out.txt");
    let (address, _) = serve(move |_, request| honest(&hostile, request));
    let error = fetch_fails(place.path(), "waterbirds", &address);
    assert!(error.contains("leads out of the folder"), "{error}");
    assert!(!place.path().join("out.txt").exists());
    assert_eq!(fs::read_dir(place.path().join("data")).unwrap().count(), 0);
}
