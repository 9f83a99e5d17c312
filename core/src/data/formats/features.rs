//! Features of another network, CLIP's for example, as an attribute: one array with a row a picture, and a list of
//! paths that maps each row to its picture.

use std::collections::{HashMap, HashSet};

use half::{bf16, f16};
use safetensors::tensor::Metadata;
use safetensors::{Dtype, SafeTensors};

use super::lines::Text;
use super::npy::{self, chunks};
use crate::data::{DatasetError, Result, Split};
use crate::error::shown;
use crate::numeric::matrix::Matrix;

/// The tensor that is read of a file with several.
const FEATURES: &str = "features";

/// Largest magnitude of a feature, so that sums of squares stay finite.
const LARGEST: f64 = 1e100;

/// A path of the list [`backwards`], and its row.
type Row = (String, usize);

/// Rows of features with the paths of a list, which may be those of another machine.
#[derive(Debug)]
pub struct ListedFeatures {
    origin: String,
    table: Matrix,
    /// Sorted by their paths, of which none is the beginning of another.
    rows: Vec<Row>,
}

/// Features of the pictures of a data set.
#[derive(Debug)]
pub struct Features {
    origin: String,
    table: Matrix,
    /// The rows of the pictures that have one, by their paths.
    rows: HashMap<String, usize>,
}

impl ListedFeatures {
    /// Reads an array `[n, d]` from the bytes of a `.npy` or `.safetensors` file (there, the tensor `features`, or the
    /// only one) and the list of `n` paths, one a line.
    ///
    /// # Errors
    /// If a file is damaged or of another format, the array is no matrix of finite numbers, the list has another
    /// length, or a path ends with all of another.
    pub fn parse(bytes: &[u8], origin: &str, paths: &Text<'_>) -> Result<Self> {
        let table = table(bytes, origin)?;
        let rows = listed(paths, table.rows())?;
        Ok(Self { origin: origin.into(), table, rows })
    }

    /// The features of the pictures of a data set. A path of the list is that of a picture if one of the two ends with all of
    /// the other, or else if no other path without a picture has the same last folder and name, unless the two are of different
    /// splits, such as `train` and `val`. No picture gets the row of another one that has the same name.
    ///
    /// # Errors
    /// [`DatasetError::Parameter`] names a picture that could have two rows, or a row that two pictures could have.
    pub fn among(self, files: &[String]) -> Result<Features> {
        let paths: Vec<String> = files.iter().map(|file| backwards(file)).collect();
        let mut rows = Vec::with_capacity(paths.len());
        for path in &paths {
            rows.push(self.only(path, &with_whole_end(&self.rows, path))?);
        }
        let owned_rows: HashSet<usize> = rows.iter().copied().flatten().collect();
        let free_rows: Vec<&Row> = self.rows.iter().filter(|(_, row)| !owned_rows.contains(row)).collect();
        for (path, row) in paths.iter().zip(&mut rows) {
            if row.is_none() {
                *row = self.only(path, &with_same_name(&free_rows, path))?;
            }
        }
        self.check_owners(&paths, &rows)?;
        let own = |(file, row): (&String, Option<usize>)| Some((file.clone(), row?));
        let rows = files.iter().zip(rows).filter_map(own).collect();
        Ok(Features { origin: self.origin, table: self.table, rows })
    }

    /// The row, if there is one.
    ///
    /// # Errors
    /// If there are several.
    fn only(&self, path: &str, rows: &[&Row]) -> Result<Option<usize>> {
        match rows {
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

    /// Checks that no two pictures have one row.
    fn check_owners(&self, paths: &[String], rows: &[Option<usize>]) -> Result<()> {
        let mut owners: HashMap<usize, &String> = HashMap::new();
        for (path, row) in paths.iter().zip(rows) {
            let first = row.and_then(|row| owners.insert(row, path)).filter(|first| *first != path);
            if let Some(first) = first {
                let reason = format!(
                    "and a row of {} could be of it or of `{}`; list the paths with more of their folders",
                    self.origin,
                    forwards(path)
                );
                return Err(DatasetError::parameter("picture", forwards(first), &reason));
            }
        }
        Ok(())
    }
}

impl Features {
    /// The rows of these pictures, in their order; `None` if none of them has a row, for example the test pictures
    /// of a list that was made for training.
    ///
    /// # Errors
    /// [`DatasetError::Parameter`] names the first picture without a row if others have one.
    pub fn of(&self, files: &[String]) -> Result<Option<Matrix>> {
        if !files.iter().any(|file| self.rows.contains_key(file)) {
            return Ok(None);
        }
        let rows = files.iter().map(|file| {
            self.rows.get(file).copied().ok_or_else(|| {
                DatasetError::parameter("picture", file, &format!("which has no row in {}", self.origin))
            })
        });
        Ok(Some(self.table.select(&rows.collect::<Result<Vec<usize>>>()?)))
    }
}

/// The rows whose path is all the end of a picture's path, or ends with all of it: at most two, which are enough to refuse.
fn with_whole_end<'r>(rows: &'r [Row], path: &str) -> Vec<&'r Row> {
    let at = rows.partition_point(|(listed, _)| listed.as_str() < path);
    let before = at.checked_sub(1).and_then(|before| rows.get(before));
    // Since no listed path is the beginning of another, none but the one before can be the beginning of this.
    match before.filter(|(listed, _)| path.starts_with(listed.as_str())) {
        Some(row) => vec![row],
        None => rows.iter().skip(at).take_while(|(listed, _)| listed.starts_with(path)).take(2).collect(),
    }
}

/// The free rows whose path has the same last folder and name as a picture's path, and no folder of another split: at most two.
fn with_same_name<'r>(free: &[&'r Row], path: &str) -> Vec<&'r Row> {
    let name = last_two(path);
    let mut alike = Vec::new();
    let mut at = free.partition_point(|(listed, _)| listed.as_str() < name);
    while alike.len() < 2
        && let Some(&row) = free.get(at).filter(|(listed, _)| listed.starts_with(name))
    {
        match start_in_another_split(&row.0, path) {
            // Rows with this end are of that split too, and may be as many as there are pictures.
            Some(end) => at += free[at..].partition_point(|(listed, _)| listed.starts_with(end)),
            None => {
                alike.push(row);
                at += 1;
            }
        }
    }
    alike
}

/// The beginning of a listed path up to the first folder that differs from that of a picture's path, both backwards, if the two
/// folders are called as different splits.
fn start_in_another_split<'r>(listed: &'r str, path: &str) -> Option<&'r str> {
    let split = |folder: &str| match folder.trim_end_matches('/') {
        "valid" => Some(Split::Validation),
        folder => Split::named(folder).ok(),
    };
    let mut end = 0;
    for (one, other) in listed.split_inclusive('/').zip(path.split_inclusive('/')) {
        end += one.len();
        if one != other {
            let are_two = split(one).zip(split(other)).is_some_and(|(one, other)| one != other);
            return are_two.then(|| &listed[..end]);
        }
    }
    None
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

/// The paths of a list, sorted, with their rows.
fn listed(paths: &Text<'_>, count: usize) -> Result<Vec<Row>> {
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
    Ok(rows)
}

/// The array, of numbers that can be used.
fn table(bytes: &[u8], origin: &str) -> Result<Matrix> {
    let wrong = |field: String, expected: String, found: String| DatasetError::Format {
        origin: origin.into(),
        field,
        expected,
        found,
    };
    let (shape, values) = match bytes {
        [0x93, ..] => npy::parse(bytes, origin).map(|array| (array.shape, array.values.into_floats()))?,
        [0x80, 2..=5, ..] => {
            let reason = "which is a pickle, a program; save the array with numpy.save and the paths as text";
            return Err(DatasetError::parameter("features", origin, reason));
        }
        _ => tensor(bytes, origin)?,
    };
    let &[count, width] = shape.as_slice() else {
        return Err(wrong("the shape".into(), "[pictures, features]".into(), format!("{shape:?}")));
    };
    if count == 0 || width == 0 {
        return Err(DatasetError::Empty { origin: origin.into(), missing: "features" });
    }
    let table = Matrix::new(count, width, values).map_err(|error| {
        wrong("the numbers".into(), format!("as many as in {shape:?}"), error.to_string())
    })?;
    let mut numbers = table.data().iter().enumerate();
    if let Some((at, value)) = numbers.find(|(_, value)| value.is_nan() || value.abs() > LARGEST) {
        let field = format!("feature {} of row {}", at % width, at / width);
        return Err(wrong(field, format!("a number of at most {LARGEST:e}"), shown(*value)));
    }
    Ok(table)
}

/// The number of features that the header at the beginning of a file states; `None` if it is of another format, or longer.
pub fn count(beginning: &[u8]) -> Option<u64> {
    if beginning.first() == Some(&0x93) {
        return npy::count(beginning);
    }
    let (length, rest) = beginning.split_first_chunk::<8>()?;
    let header = rest.get(..usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
    let metadata: Metadata = serde_json::from_slice(header).ok()?;
    let tensors = metadata.tensors();
    let info = if tensors.len() == 1 { tensors.values().next() } else { tensors.get(FEATURES) }?;
    info.shape.iter().try_fold(1_u64, |product, &axis| product.checked_mul(axis as u64))
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
        _ => FEATURES,
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

    fn parse(bytes: &[u8], paths: &str) -> Result<ListedFeatures> {
        ListedFeatures::parse(bytes, "clip.npy", &Text::new(paths, "paths.txt"))
    }

    fn files(names: &[&str]) -> Vec<String> {
        names.iter().map(ToString::to_string).collect()
    }

    fn among(paths: &str, names: &[&str]) -> Result<Features> {
        parse(&array(), paths).unwrap().among(&files(names))
    }

    /// The first features of some pictures, the only ones of a data set.
    fn of(paths: &str, names: &[&str]) -> Result<Option<Vec<f64>>> {
        let rows = among(paths, names)?.of(&files(names))?;
        Ok(rows.map(|rows| rows.iter_rows().map(|row| row[0]).collect()))
    }

    #[test]
    fn rows_find_their_pictures() {
        let rows = of(PATHS, &["train/n02/b.JPEG", "train/n01/a.JPEG"]).unwrap();
        assert_eq!(rows, Some(vec![4.0, 1.0]));
        assert_eq!(of(PATHS, &["val/n02/x.JPEG", "val/n01/y.JPEG"]).unwrap(), None);
        let error = of(PATHS, &["train/n01/a.JPEG", "train/n01/c.JPEG"]).unwrap_err().to_string();
        assert!(error.contains("train/n01/c.JPEG") && error.contains("clip.npy"), "{error}");
    }

    #[test]
    fn pictures_of_one_name_have_rows_of_their_own() {
        let row = |paths: &str, file: &str| of(paths, &[file]).unwrap().map(|rows| rows[0]);
        let both = "/d/train/a/0.png\n/d/val/a/0.png\n";
        assert_eq!((row(both, "train/a/0.png"), row(both, "val/a/0.png")), (Some(1.0), Some(4.0)));
        // Those of training are not those of the test.
        assert_eq!(row("/d/train/a/0.png\n/d/train/b/0.png\n", "val/a/0.png"), None);
        assert_eq!(row("/d/train/a/0.png\n/d/valid/a/0.png\n", "x/val/a/0.png"), Some(4.0));
        // Folders of another layout do not matter where the name says enough.
        assert_eq!(row("/d/photos/a/0.png\n/d/photos/b/0.png\n", "train/b/0.png"), Some(4.0));
        assert_eq!(row("a/0.png\nb/0.png\n", "./train/b/0.png"), Some(4.0));
        for file in ["x/a.png", "r/x/a.png"] {
            let error = of("p/x/a.png\nq/x/a.png\n", &[file]).unwrap_err().to_string();
            assert!(error.contains("`p/x/a.png`") && error.contains("`q/x/a.png`"), "{error}");
        }
    }

    #[test]
    fn rows_are_found_among_all_pictures() {
        let error = among("a/0.png\nb/0.png\n", &["train/a/0.png", "val/a/0.png"]).unwrap_err().to_string();
        assert!(error.contains("train/a/0.png") && error.contains("`val/a/0.png`"), "{error}");
        let all = ["2019/x/a.png", "2019/x/b.png", "2020/x/a.png"];
        let features = among("/d/2019/x/a.png\n/d/2019/x/b.png\n", &all).unwrap();
        assert_eq!(features.of(&files(&["2020/x/a.png"])).unwrap(), None);
        assert_eq!(features.of(&files(&["2019/x/b.png"])).unwrap().unwrap().data(), [4.0, 5.0, 6.0]);
    }

    /// As in CheXpert. A search through all rows of the name for each picture would not end here.
    #[test]
    fn many_pictures_of_one_name_are_found_at_once() {
        const COUNT: usize = 50_000;
        let names = |split: &str, inner: &str| -> Vec<String> {
            (0..COUNT).map(|at| format!("{split}/p{at}/{inner}study1/view1.jpg")).collect()
        };
        let array = npy::tests::file("<f4", &format!("({COUNT}, 1)"), &[0; 4 * COUNT]);
        let among = |paths: &[String], files: &[String]| {
            parse(&array, &paths.join("\n")).unwrap().among(files).unwrap().rows.len()
        };
        let train = names("train", "");
        assert_eq!(among(&train, &[train.clone(), names("valid", "new/")].concat()), COUNT);
        // None of the rows has a picture, but all are of another split.
        assert_eq!(among(&names("d", "train/"), &names("e", "val/")), 0);
    }

    #[test]
    fn tensors_are_read_too() {
        let data: Vec<u8> = [1.0_f32, 2.0].map(f32::to_le_bytes).concat();
        let view = || TensorView::new(Dtype::F32, vec![2, 1], &data).unwrap();
        let one = safetensors::serialize([("clip", view())], None).unwrap();
        let files = files(&["n02/b.JPEG"]);
        let features = parse(&one, PATHS).unwrap().among(&files).unwrap();
        assert_eq!(features.of(&files).unwrap().unwrap().data(), [2.0]);
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
