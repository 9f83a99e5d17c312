//! Files in the form of MNIST.

use std::fs;
use std::path::Path;

/// Bytes of an idx file: type 8 (unsigned byte), the sizes, the values.
pub(crate) fn idx(sizes: &[u32], values: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0, 0, 8, sizes.len() as u8];
    bytes.extend(sizes.iter().flat_map(|size| size.to_be_bytes()));
    bytes.extend_from_slice(values);
    bytes
}

/// The four files of MNIST with `count` images of each split, of the class that `label` returns.
pub(crate) fn mnist(folder: &Path, count: u32, label: impl Fn(u32) -> u32) {
    fs::create_dir_all(folder).unwrap();
    let labels: Vec<u8> = (0..count).map(|i| label(i) as u8).collect();
    for split in ["train", "t10k"] {
        let pixels = vec![7; count as usize * 28 * 28];
        fs::write(folder.join(format!("{split}-images-idx3-ubyte")), idx(&[count, 28, 28], &pixels)).unwrap();
        fs::write(folder.join(format!("{split}-labels-idx1-ubyte")), idx(&[count], &labels)).unwrap();
    }
}
