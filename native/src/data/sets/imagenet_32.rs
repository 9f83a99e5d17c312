//! ImageNet reduced to 32x32, in its NumPy version: `train_data_batch_1.npz` to `_10.npz` and `val_data.npz`.

use std::path::{Path, PathBuf};

use simile_core::data::formats::imagenet32::{CLASSES, SIDE, batch};
use simile_core::data::formats::npy::parse;
use simile_core::data::{Dataset, Images};

use crate::data::error::{DataError, Result};
use crate::data::files::archive::members;
use crate::data::files::folders;
use crate::data::source::{About, ArrayFiles, Arrays, Medium, Shape, Source};

/// The terms of all data sets that are parts of ImageNet.
pub(super) const IMAGENET_TERMS: &str = "ImageNet's terms: research and education, no redistribution";

/// Batches of the training split.
const BATCHES: usize = 10;
/// Bytes of the largest array that is read; the largest published one has 393 million.
const LARGEST: u64 = 1 << 30;
/// The folders of the two unpacked archives.
const INNER: [&str; 4] = ["imagenet-32", "imagenet32", "Imagenet32_train_npz", "Imagenet32_val_npz"];

pub(super) struct Imagenet32;

static ABOUT: About = About {
    name: "imagenet-32",
    files: "train_data_batch_1.npz .. 10, val_data.npz (the NumPy version; pickles are not read)",
    classes: "1000; the validation images to test",
    home: "https://image-net.org/download-images.php",
    licence: IMAGENET_TERMS,
    get: "register with ImageNet and download the 32x32 version in npz format",
    ..About::NOTHING
};

impl Source for Imagenet32 {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn medium(&self) -> Medium<'_> {
        Medium::Arrays(self)
    }

    fn shape(&self) -> Shape {
        Shape { side: SIDE, channels: 3 }
    }
}

impl ArrayFiles for Imagenet32 {
    fn find(&self, folder: &Path) -> Result<()> {
        let names = [training(), vec!["val_data".into()]].concat();
        paths(folder, &folders(folder, &INNER)?, &names).map(drop)
    }

    /// The validation images serve as the test split. Classes are named by their numbers, 1 to 1000; the data set's
    /// `map_clsloc.txt` has their meaning.
    fn read(&self, folder: &Path) -> Result<Arrays> {
        let places = folders(folder, &INNER)?;
        let test = ["val_data".to_owned()];
        let train = split(&paths(folder, &places, &training())?)?;
        Ok(Arrays { train, test: split(&paths(folder, &places, &test)?)?, absent: Vec::new() })
    }
}

fn training() -> Vec<String> {
    (1..=BATCHES).map(|at| format!("train_data_batch_{at}")).collect()
}

/// The file of each name.
fn paths(folder: &Path, places: &[PathBuf], names: &[String]) -> Result<Vec<PathBuf>> {
    let mut missing = Vec::new();
    let mut paths = Vec::new();
    for name in names {
        let in_places = |name: &str| places.iter().map(|place| place.join(name)).find(|path| path.is_file());
        match (in_places(&format!("{name}.npz")), in_places(name)) {
            (Some(path), _) => paths.push(path),
            (None, Some(pickle)) => return Err(DataError::Pickle(pickle)),
            (None, None) => missing.push(format!("{name}.npz")),
        }
    }
    if !missing.is_empty() {
        return Err(DataError::Missing { folder: folder.into(), missing });
    }
    Ok(paths)
}

fn split(paths: &[PathBuf]) -> Result<Dataset> {
    let (mut pixels, mut labels) = (Vec::new(), Vec::new());
    for path in paths {
        let (images, batch_labels) = read_batch(path)?;
        pixels.extend(images.pixels);
        labels.extend(batch_labels);
    }
    let classes = (1..=CLASSES).map(|number| number.to_string()).collect();
    Ok(Dataset::new(Images::new(SIDE, SIDE, 3, pixels)?, labels, classes)?)
}

pub(crate) fn read_batch(path: &Path) -> Result<(Images, Vec<usize>)> {
    let arrays = members(path, &["data.npy", "labels.npy"], LARGEST)?;
    let array = |name: &str| {
        let bytes = arrays.get(name).ok_or_else(|| {
            let reason = format!("has no array {}; get the official file", name.trim_end_matches(".npy"));
            DataError::Archive { path: path.into(), reason }
        })?;
        Ok::<_, DataError>(parse(bytes, &path.join(name).display().to_string())?)
    };
    Ok(batch(&array("data.npy")?, &array("labels.npy")?, &path.display().to_string())?)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::fs;
    use std::io::{Cursor, Write as _};

    /// An archive as `numpy.savez` writes it, of `n` images.
    fn npz(n: usize) -> Vec<u8> {
        let array = |kind: &str, shape: &str, data: &[u8]| {
            let header = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}\n");
            let length = (header.len() as u16).to_le_bytes();
            [b"\x93NUMPY\x01\x00", &length[..], header.as_bytes(), data].concat()
        };
        let labels: Vec<u8> = (0..n as i64).flat_map(|i| (i + 1).to_le_bytes()).collect();
        let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
        for (name, bytes) in [
            ("data.npy", array("|u1", &format!("({n}, 3072)"), &vec![5; n * 3072])),
            ("labels.npy", array("<i8", &format!("({n},)"), &labels)),
            ("mean.npy", array("<f8", "(1,)", &[0; 8])),
        ] {
            writer.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
            writer.write_all(&bytes).unwrap();
        }
        writer.finish().unwrap().into_inner()
    }

    #[test]
    fn batches_are_read_and_pickles_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("imagenet-32");
        fs::create_dir(&place).unwrap();
        let text = || Imagenet32.read(folder.path()).unwrap_err().to_string();
        assert!(text().contains("train_data_batch_1.npz") && text().contains("train_data_batch_10.npz"));
        for at in 1..=BATCHES {
            fs::write(place.join(format!("train_data_batch_{at}.npz")), npz(2)).unwrap();
        }
        fs::write(place.join("val_data"), b"\x80\x02}").unwrap();
        assert!(text().contains("val_data is a pickle") && text().contains("numpy.savez"), "{}", text());
        fs::write(place.join("val_data.npz"), npz(3)).unwrap();
        let Arrays { train, test, .. } = Imagenet32.read(folder.path()).unwrap();
        assert_eq!((train.len(), test.labels, test.classes.len()), (20, vec![0, 1, 2], 1000));
        fs::write(place.join("val_data.npz"), &npz(3)[..400]).unwrap();
        assert!(text().contains("val_data.npz"), "{}", text());
    }
}
