//! Features of another network, CLIP's for example, as a variable: one array with a row a picture, and a list of
//! paths that maps each row to its picture.

use std::collections::HashMap;

use half::{bf16, f16};
use safetensors::{Dtype, SafeTensors};

use super::lines::Text;
use super::npy::{self, chunks};
use crate::data::{DatasetError, Part, Result};
use crate::error::shown;
use crate::numeric::matrix::Matrix;

/// Largest magnitude of a feature, so that sums of squares stay finite.
const LARGEST: f64 = 1e100;

/// Rows of features, which are found by the paths of their pictures.
#[derive(Debug)]
pub struct Features {
    origin: String,
    table: Matrix,
    /// The listed paths [`backwards`], sorted, each with its row. None is the beginning of another.
    rows: Vec<(String, usize)>,
    /// True if they are the paths of the pictures themselves, in place of those of the list.
    are_own: bool,
}

impl Features {
    /// Reads an array `[n, d]` from the bytes of a `.npy` or `.safetensors` file (there, the tensor `features`, or the
    /// only one) and the list of `n` paths, one a line. Paths may be those of another machine: a path is that of a picture
    /// if one of the two ends with all of the other, or if no other path or picture has the same last folder and name.
    ///
    /// # Errors
    /// If a file is damaged or of another format, the array is no matrix of finite numbers, the list has another
    /// length, or a path ends with all of another.
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
        let (mut rows, mut lines) = (Vec::new(), Vec::new());
        for (line, path) in paths.lines() {
            rows.push((backwards(path), rows.len()));
            lines.push(line);
        }
        if rows.len() != count {
            let what = format!("the list of paths {}", paths.origin);
            return Err(DatasetError::Count { what, expected: count, found: rows.len() });
        }
        rows.sort_unstable();
        // Of sorted paths, one that is the beginning of others is that of the next.
        let same = rows.windows(2).find(|pair| pair[1].0.starts_with(&pair[0].0));
        if let Some([(one, first), (other, second)]) = same {
            let reason = format!(
                "`{}` and `{}` could be the same picture; list each once, with all of its folders",
                forwards(one),
                forwards(other)
            );
            return Err(paths.error(lines[*first].max(lines[*second]), reason));
        }
        Ok(Self { origin: origin.into(), table, rows, are_own: false })
    }

    /// The features with the rows of the pictures of a data set alone, which are found among all of them: no picture gets the
    /// row of another one that has the same name.
    ///
    /// # Errors
    /// [`DatasetError::Parameter`] names a picture that could have two rows, or a row that two pictures could have.
    pub fn among(self, files: &[String]) -> Result<Self> {
        let found = self.rows_of(files)?;
        let own = |(file, row): (&String, Option<usize>)| Some((backwards(file), row?));
        let mut rows: Vec<(String, usize)> = files.iter().zip(found).filter_map(own).collect();
        rows.sort_unstable();
        Ok(Self { rows, are_own: true, ..self })
    }

    /// The rows of these pictures, in their order; `None` if none of them has a row, for example the test pictures
    /// of a list that was made for training.
    ///
    /// # Errors
    /// [`DatasetError::Parameter`] names the first picture without a row if others have one; otherwise as [`among`](Self::among).
    pub fn of(&self, files: &[String]) -> Result<Option<Matrix>> {
        let rows_of_files = self.rows_of(files)?;
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

    /// The row of each picture that has one.
    fn rows_of(&self, files: &[String]) -> Result<Vec<Option<usize>>> {
        let paths: Vec<String> = files.iter().map(|file| backwards(file)).collect();
        if self.are_own {
            let own = |path: &String| self.rows.binary_search_by(|(listed, _)| listed.cmp(path)).ok();
            return Ok(paths.iter().map(|path| Some(self.rows.get(own(path)?)?.1)).collect());
        }
        let (mut found, mut owners) = (Vec::with_capacity(paths.len()), HashMap::new());
        for (at, path) in paths.iter().enumerate() {
            let row = self.with_whole_end(path)?;
            self.claim(row, at, &paths, &mut owners)?;
            found.push(row);
        }
        let mut owners_by_name = HashMap::new();
        for (at, path) in paths.iter().enumerate() {
            if found[at].is_none() {
                let row = self.with_same_name(path, |row| !owners.contains_key(&row))?;
                self.claim(row, at, &paths, &mut owners_by_name)?;
                found[at] = row;
            }
        }
        Ok(found)
    }

    /// The row of the only listed path of which all is the end of a picture's path, or that ends with all of it.
    fn with_whole_end(&self, path: &str) -> Result<Option<usize>> {
        let at = self.rows.partition_point(|(listed, _)| listed.as_str() < path);
        let before = at.checked_sub(1).and_then(|before| self.rows.get(before));
        // Since no listed path is the beginning of another, none but the one before can be the beginning of this.
        match before.filter(|(listed, _)| path.starts_with(listed.as_str())) {
            Some((_, row)) => Ok(Some(*row)),
            None => self.only(path, self.beginning_with(path).iter().collect()),
        }
    }

    /// The only free row whose path has the same last folder and name as a picture's path, and no folder of another part.
    fn with_same_name(&self, path: &str, is_free: impl Fn(usize) -> bool) -> Result<Option<usize>> {
        let alike = self.beginning_with(last_two(path)).iter();
        let free = alike.filter(|(listed, row)| is_free(*row) && !are_of_two_parts(listed, path));
        self.only(path, free.collect())
    }

    /// Notes the picture of a row.
    ///
    /// # Errors
    /// If it is that of another picture.
    fn claim(
        &self,
        row: Option<usize>,
        at: usize,
        paths: &[String],
        owners: &mut HashMap<usize, usize>,
    ) -> Result<()> {
        let first = row.and_then(|row| owners.insert(row, at)).filter(|first| paths[*first] != paths[at]);
        let Some(first) = first else { return Ok(()) };
        let reason = format!(
            "and a row of {} could be of it or of `{}`; list the paths with more of their folders",
            self.origin,
            forwards(&paths[at])
        );
        Err(DatasetError::parameter("picture", forwards(&paths[first]), &reason))
    }

    /// The listed paths that begin with another, all backwards.
    fn beginning_with(&self, path: &str) -> &[(String, usize)] {
        let from = self.rows.partition_point(|(listed, _)| listed.as_str() < path);
        let rest = self.rows.get(from..).unwrap_or_default();
        let count = rest.partition_point(|(listed, _)| listed.starts_with(path));
        rest.get(..count).unwrap_or_default()
    }

    /// The row, if there is one.
    ///
    /// # Errors
    /// If there are several.
    fn only(&self, path: &str, rows: Vec<&(String, usize)>) -> Result<Option<usize>> {
        match rows.as_slice() {
            [] => Ok(None),
            [(_, row)] => Ok(Some(*row)),
            [(one, _), (other, _), ..] => {
                let reason = format!(
                    "and two rows of {} could be of it, those of `{}` and `{}`; list the paths as the data set has them",
                    self.origin,
                    forwards(one),
                    forwards(other)
                );
                Err(DatasetError::parameter("picture", forwards(path), &reason))
            }
        }
    }
}

/// The parts of a path from the last to the first, each with a `/` behind it, so that paths with the same end begin alike.
fn backwards(path: &str) -> String {
    let path = path.trim().replace('\\', "/");
    path.rsplit('/').filter(|part| !matches!(*part, "" | ".")).flat_map(|part| [part, "/"]).collect()
}

/// The path of [`backwards`].
fn forwards(path: &str) -> String {
    path.trim_end_matches('/').rsplit('/').collect::<Vec<_>>().join("/")
}

/// The name of the file and its folder, of a path backwards.
fn last_two(path: &str) -> &str {
    path.match_indices('/').nth(1).map_or(path, |(at, _)| &path[..=at])
}

/// True if two paths, both backwards, first differ in folders that are called as different parts.
fn are_of_two_parts(one: &str, other: &str) -> bool {
    let part = |folder: &str| if folder == "valid" { Ok(Part::Validation) } else { Part::named(folder) };
    let differing = one.split('/').zip(other.split('/')).find(|(one, other)| one != other);
    differing
        .is_some_and(|(one, other)| matches!((part(one), part(other)), (Ok(one), Ok(other)) if one != other))
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
    fn pictures_of_one_name_have_rows_of_their_own() {
        let of = |paths: &str, file: &str| parse(&array(), paths).unwrap().of(&[file.to_owned()]);
        let row = |paths: &str, file: &str| of(paths, file).unwrap().map(|row| row.data()[0]);
        let both = "/d/train/a/0.png\n/d/val/a/0.png\n";
        assert_eq!((row(both, "train/a/0.png"), row(both, "val/a/0.png")), (Some(1.0), Some(4.0)));
        // Those of training are not those of the test.
        assert_eq!(row("/d/train/a/0.png\n/d/train/b/0.png\n", "val/a/0.png"), None);
        // Folders of another layout do not matter where the name says enough.
        assert_eq!(row("/d/photos/a/0.png\n/d/photos/b/0.png\n", "train/b/0.png"), Some(4.0));
        assert_eq!(row("a/0.png\nb/0.png\n", "./train/b/0.png"), Some(4.0));
        for file in ["x/a.png", "r/x/a.png"] {
            let error = of("p/x/a.png\nq/x/a.png\n", file).unwrap_err().to_string();
            assert!(error.contains("`p/x/a.png`") && error.contains("`q/x/a.png`"), "{error}");
        }
    }

    #[test]
    fn rows_are_found_among_all_pictures() {
        let files = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
        let among = |paths: &str, names: &[&str]| parse(&array(), paths).unwrap().among(&files(names));
        let error = among("a/0.png\nb/0.png\n", &["train/a/0.png", "val/a/0.png"]).unwrap_err().to_string();
        assert!(error.contains("train/a/0.png") && error.contains("`val/a/0.png`"), "{error}");
        let all = ["2019/x/a.png", "2019/x/b.png", "2020/x/a.png"];
        let features = among("/d/2019/x/a.png\n/d/2019/x/b.png\n", &all).unwrap();
        assert_eq!(features.of(&files(&["2020/x/a.png"])).unwrap(), None);
        assert_eq!(features.of(&files(&["2019/x/b.png"])).unwrap().unwrap().data(), [4.0, 5.0, 6.0]);
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
