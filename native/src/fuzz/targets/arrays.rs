//! Images and numbers in binary files.

use std::io::{Seek as _, Write as _};

use simile_core::data::formats::cifar;
use simile_core::data::formats::cifar::Cifar;
use simile_core::data::formats::features::ListedFeatures;
use simile_core::data::formats::lines::Text;
use simile_core::data::formats::{idx, npy, stl10};

use super::super::repair;
use super::{Target, file, halves, said};
use crate::data::parsers;
use crate::parquet::{CellKind, Cells, VECTOR, Writer, each_group};

pub(super) fn targets() -> Vec<Target> {
    vec![
        Target::new("idx", &[b"\0\0\x08\x03", b"\0\0\x08\x01", b"\0\0\x0d\x02", b"\x1f\x8b"], run_idx),
        Target { seeds: cifar_seeds, ..Target::new("cifar", &[], run_cifar) },
        Target { seeds: stl10_seeds, ..Target::new("stl-10", &[], run_stl10) },
        Target::new("npy", NPY, run_npy),
        Target { seeds: parquet_seeds, ..Target::new("parquet", PARQUET, run_parquet) },
        Target {
            repair: |bytes, draw| repair::mostly(bytes, draw, npz),
            seeds: imagenet_seeds,
            ..Target::new("imagenet-32", NPY, run_imagenet)
        },
    ]
}

/// The separator of the two files of a pair.
const AND: &[u8] = b"%AND%";

const PARQUET: &[&[u8]] = &[b"PAR1", b"vector", b"list", b"element", b"schema"];

fn parquet_seeds() -> Vec<Vec<u8>> {
    let columns = [("path", CellKind::Text), ("age", CellKind::Number), (VECTOR, CellKind::List(3))];
    let written = |rows: usize| -> anyhow::Result<Vec<u8>> {
        let mut writer = Writer::begin(Vec::new(), &columns)?;
        writer.push(vec![
            Cells::Text((0..rows).map(|row| format!("{row}.png")).collect()),
            Cells::Number((0..rows).map(|row| row as f64).collect()),
            Cells::List { length: 3, values: vec![0.5; 3 * rows] },
        ])?;
        writer.finish()
    };
    [0, 1, 40].into_iter().filter_map(|rows| written(rows).ok()).collect()
}

fn run_parquet(bytes: &[u8]) {
    let file = tempfile::tempfile().and_then(|mut file| {
        file.write_all(bytes)?;
        file.rewind()?;
        Ok(file)
    });
    let Ok(file) = file else { return };
    let outcome = each_group(file, |columns| {
        let rows = columns.first().map_or(0, |(_, cells)| cells.rows());
        assert!(columns.iter().all(|(_, cells)| cells.rows() == rows));
        Ok(())
    });
    said(outcome.map_err(|error| format!("{error:#}")));
}

const NPY: &[&[u8]] = &[
    b"\x93NUMPY",
    b"'descr': '<f4'",
    b"'descr': '|O'",
    b"'descr': '>f8'",
    b"'fortran_order': True",
    b"'fortran_order': False",
    b"'shape': (",
    b"(3, 0)",
    b"(0, 18446744073709551615)",
    b"(9223372036854775807, 2)",
    b"<f2",
    b"<i8",
    b"|u1",
    AND,
];

fn run_idx(bytes: &[u8]) {
    let (images, labels) = halves(bytes, AND);
    if let Some(images) = said(idx::images(images, "images")) {
        assert_eq!(images.pixels.len(), images.len() * images.bytes_per_image());
    }
    said(idx::labels(bytes, 10, "labels"));
    said(idx::digits((images, "images"), (labels, "labels")));
}

fn names(count: usize) -> Vec<String> {
    (0..count).map(|at| at.to_string()).collect()
}

fn cifar_seeds() -> Vec<Vec<u8>> {
    let ten: Vec<u8> = (0..2 * 3073).map(|at| if at % 3073 == 0 { 7 } else { at as u8 }).collect();
    let hundred = (0..3074).map(|at| if at < 2 { 12 } else { at as u8 }).collect();
    vec![ten[..3073].to_vec(), ten, hundred, b"airplane\nbird\n".to_vec()]
}

fn run_cifar(bytes: &[u8]) {
    said(cifar::parse(Cifar::Ten, &[(bytes, "a")], names(10), vec![]));
    said(cifar::parse(Cifar::Hundred, &[(bytes, "a"), (bytes, "b")], names(100), names(20)));
    let words = cifar::names(&String::from_utf8_lossy(bytes));
    said(cifar::parse(Cifar::Ten, &[(bytes, "a")], words, vec![]));
}

fn stl10_seeds() -> Vec<Vec<u8>> {
    let image: Vec<u8> = (0..27_648).map(|at| at as u8).collect();
    vec![[&image, AND, b"\x01"].concat(), [&image, &image, AND, b"\x0a\x05"].concat()]
}

fn run_stl10(bytes: &[u8]) {
    let (images, labels) = halves(bytes, AND);
    said(stl10::parse((images, "X"), (labels, "y"), names(10)));
}

fn run_npy(bytes: &[u8]) {
    let (array, paths) = halves(bytes, AND);
    said(npy::parse(array, "array"));
    let paths = String::from_utf8_lossy(paths);
    let files = ["n01/a.jpg", "n02/b.jpg"].map(String::from);
    let listed = said(ListedFeatures::parse(array, "features", &Text::new(&paths, "paths")));
    if let Some(features) = listed.and_then(|listed| said(listed.among(&files))) {
        said(features.of(&files));
    }
}

/// Two arrays, which [`npz`] packs into an archive.
fn imagenet_seeds() -> Vec<Vec<u8>> {
    let array = |kind: &str, shape: &str, data: &[u8]| {
        let header = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}\n");
        let length = (header.len() as u16).to_le_bytes();
        [b"\x93NUMPY\x01\x00", &length[..], header.as_bytes(), data].concat()
    };
    let seed = |count: usize| {
        let labels: Vec<u8> = (0..count as i64).flat_map(|at| (at + 1).to_le_bytes()).collect();
        let data = array("|u1", &format!("({count}, 3072)"), &vec![5; count * 3072]);
        [&data, AND, &array("<i8", &format!("({count},)"), &labels)].concat()
    };
    vec![seed(1), seed(2), npz(seed(1))]
}

fn npz(bytes: Vec<u8>) -> Vec<u8> {
    if bytes.starts_with(b"PK") {
        return bytes;
    }
    let (data, labels) = halves(&bytes, AND);
    repair::zip(&[("data.npy", data), ("labels.npy", labels)])
}

fn run_imagenet(bytes: &[u8]) {
    said(parsers::npz(&file("train_data_batch_1.npz", bytes)));
}
