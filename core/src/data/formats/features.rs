//! Features of another network, CLIP's for example, as a variable: one array with a row a picture, and a list of
//! paths that maps each row to its picture.

use std::collections::HashMap;

use half::{bf16, f16};
use safetensors::{Dtype, SafeTensors};

use super::lines::Text;
use super::npy::{self, chunks};
use crate::data::{DatasetError, Result};
use crate::error::shown;
use crate::numeric::matrix::Matrix;

/// Largest magnitude of a feature, so that sums of squares stay finite.
const LARGEST: f64 = 1e100;

/// Rows of features, keyed by the paths of their pictures.
#[derive(Debug)]
pub struct Features {
    origin: String,
    table: Matrix,
    rows: HashMap<String, usize>,
}

impl Features {
    /// Reads an array `[n, d]` from the bytes of a `.npy` or `.safetensors` file (there, the tensor `features`, or the
    /// only one) and the list of `n` paths, one a line. Paths may be those of another machine: only the last folder
    /// and the name of the file are compared.
    ///
    /// # Errors
    /// If a file is damaged or of another format, the array is no matrix of finite numbers, the list has another
    /// length, or two paths have the same folder and file name.
    pub fn parse(bytes: &[u8], origin: &str, paths: &Text<'_>) -> Result<Self> {
        let (shape, values) = match bytes {
            [0x93, ..] => npy::parse(bytes, origin).map(|array| (array.shape, array.values.to_floats()))?,
            [0x80, 2..=5, ..] => {
                let reason =
                    "which is a pickle, a program; save the array with numpy.save and the paths as text";
                return Err(DatasetError::parameter("features", origin, reason));
            }
            _ => tensor(bytes, origin)?,
        };
        let &[count, width] = shape.as_slice() else {
            return Err(DatasetError::Format {
                origin: origin.into(),
                field: "the shape".into(),
                expected: "[pictures, features]".into(),
                found: format!("{shape:?}"),
            });
        };
        if count == 0 || width == 0 {
            return Err(DatasetError::Empty { origin: origin.into(), missing: "features" });
        }
        let table = Matrix::from_fn(count, width, |row, at| {
            values.get(row * width + at).copied().unwrap_or(f64::NAN)
        });
        let wrong =
            table.data().iter().enumerate().find(|(_, value)| value.is_nan() || value.abs() > LARGEST);
        if let Some((at, value)) = wrong {
            return Err(DatasetError::Format {
                origin: origin.into(),
                field: format!("feature {} of row {}", at % width.max(1), at / width.max(1)),
                expected: format!("a number of at most {LARGEST:e}"),
                found: shown(*value),
            });
        }
        let mut rows = HashMap::new();
        let mut listed = 0;
        for (line, path) in paths.lines() {
            if rows.insert(key(path), listed).is_some() {
                return Err(paths.error(line, format!("`{}` is there twice", key(path))));
            }
            listed += 1;
        }
        if listed != count {
            let what = format!("the list of paths {}", paths.origin);
            return Err(DatasetError::Count { what, expected: count, found: listed });
        }
        Ok(Self { origin: origin.into(), table, rows })
    }

    /// The rows of these pictures, in their order; `None` if none of them has a row, for example the test pictures
    /// of a list that was made for training.
    ///
    /// # Errors
    /// [`DatasetError::Parameter`] names the first picture without a row if others have one.
    pub fn of(&self, files: &[String]) -> Result<Option<Matrix>> {
        let rows_of_files: Vec<Option<usize>> =
            files.iter().map(|file| self.rows.get(&key(file)).copied()).collect();
        if rows_of_files.iter().all(Option::is_none) {
            return Ok(None);
        }
        let rows = files.iter().zip(rows_of_files).map(|(file, row)| {
            row.ok_or_else(|| {
                DatasetError::parameter("picture", file, &format!("which has no row in {}", self.origin))
            })
        });
        Ok(Some(self.table.select(&rows.collect::<Result<Vec<usize>>>()?)))
    }
}

/// The last two parts of a path.
fn key(path: &str) -> String {
    let path = path.trim().replace('\\', "/");
    let mut parts = path.rsplit('/');
    let (name, folder) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    format!("{folder}/{name}")
}

fn tensor(bytes: &[u8], origin: &str) -> Result<(Vec<usize>, Vec<f64>)> {
    let failed = |found: String| DatasetError::Format {
        origin: origin.into(),
        field: "the content".into(),
        expected: "an .npy array or a .safetensors file with one tensor or one named `features`".into(),
        found,
    };
    let file = SafeTensors::deserialize(bytes).map_err(|error| failed(error.to_string()))?;
    let names = file.names();
    let name = match names.as_slice() {
        [name] => name,
        _ => "features",
    };
    let view = file.tensor(name).map_err(|_| failed(format!("{} tensors", names.len())))?;
    let data = view.data();
    let values = match view.dtype() {
        Dtype::F16 => chunks(data).map(|v| f16::from_le_bytes(v).to_f64()).collect(),
        Dtype::BF16 => chunks(data).map(|v| bf16::from_le_bytes(v).to_f64()).collect(),
        Dtype::F32 => chunks(data).map(|v| f64::from(f32::from_le_bytes(v))).collect(),
        Dtype::F64 => chunks(data).map(f64::from_le_bytes).collect(),
        other => return Err(failed(format!("{other:?}"))),
    };
    Ok((view.shape().to_vec(), values))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use safetensors::tensor::TensorView;

    const PATHS: &str = "/elsewhere/train/n01/a.JPEG\nC:\\data\\train\\n02\\b.JPEG\n";

    fn array() -> Vec<u8> {
        let data: Vec<u8> = [1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0].map(f32::to_le_bytes).concat();
        npy::tests::file("<f4", "(2, 3)", &data)
    }

    fn parse(bytes: &[u8], paths: &str) -> Result<Features> {
        Features::parse(bytes, "clip.npy", &Text::new(paths, "paths.txt"))
    }

    #[test]
    fn rows_find_their_pictures() {
        let files = |names: [&str; 2]| names.map(String::from);
        let features = parse(&array(), PATHS).unwrap();
        let rows = features.of(&files(["train/n02/b.JPEG", "train/n01/a.JPEG"])).unwrap().unwrap();
        assert_eq!(rows.data(), [4.0, 5.0, 6.0, 1.0, 2.0, 3.0]);
        assert_eq!(features.of(&files(["val/n02/x.JPEG", "val/n01/y.JPEG"])).unwrap(), None);
        let error = features.of(&files(["train/n01/a.JPEG", "train/n01/c.JPEG"])).unwrap_err().to_string();
        assert!(error.contains("train/n01/c.JPEG") && error.contains("clip.npy"), "{error}");
    }

    #[test]
    fn tensors_are_read_too() {
        let data: Vec<u8> = [1.0_f32, 2.0].map(f32::to_le_bytes).concat();
        let view = || TensorView::new(Dtype::F32, vec![2, 1], &data).unwrap();
        let one = safetensors::serialize([("clip", view())], None).unwrap();
        let rows = parse(&one, PATHS).unwrap().of(&["n02/b.JPEG".into()]).unwrap().unwrap();
        assert_eq!(rows.data(), [2.0]);
        let two = safetensors::serialize([("a", view()), ("b", view())], None).unwrap();
        assert!(parse(&two, PATHS).unwrap_err().to_string().contains("2 tensors"));
    }

    #[test]
    fn what_does_not_belong_together_is_refused() {
        let text = |bytes: &[u8], paths: &str| parse(bytes, paths).unwrap_err().to_string();
        assert!(text(&array(), "a\n").contains("paths.txt has 1 entries"));
        assert!(text(&array(), "x/a\ny/x/a\n").contains("line 2"));
        assert!(text(b"\x80\x04\x95", PATHS).contains("pickle"));
        assert!(text(b"nonsense", PATHS).contains("clip.npy"));
        let nan: Vec<u8> = [f32::NAN, 1.0].map(f32::to_le_bytes).concat();
        let text_of_nan = text(&npy::tests::file("<f4", "(2, 1)", &nan), PATHS);
        assert!(text_of_nan.contains("clip.npy") && text_of_nan.contains("row 0 is NaN"), "{text_of_nan}");
        let large: Vec<u8> = [1.0, -1e300].map(f64::to_le_bytes).concat();
        let text_of_large = text(&npy::tests::file("<f8", "(2, 1)", &large), PATHS);
        assert!(text_of_large.contains("row 1 is -1e300"), "{text_of_large}");
        assert!(text(&npy::tests::file("<f4", "(2,)", &nan), PATHS).contains("[pictures, features]"));
        // Rows without values take no memory, regardless of their number.
        let none = npy::tests::file("<f4", "(1000000000000000000, 0)", &[]);
        assert!(text(&none, PATHS).contains("holds no features"));
    }
}
