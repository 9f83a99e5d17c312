//! A catalogue of picture files, known before any of them is opened: their paths, classes, split and attributes.

use std::collections::{BTreeMap, BTreeSet};

use super::{Condition, Dataset, DatasetError, ImageSet, Result, check_labels};
use crate::numeric::split::{hold_out, select, split_indices};

/// The split of a data set that a picture belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Split {
    /// For training.
    Train,
    /// For the choice of settings.
    Validation,
    /// For evaluation.
    Test,
}

impl Split {
    /// The word for it in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Train => "train",
            Self::Validation => "validation",
            Self::Test => "test",
        }
    }

    /// The split of a word in a table: `train`, `validation` or `val`, `test`.
    ///
    /// # Errors
    /// Says the words that are expected.
    pub fn named(word: &str) -> std::result::Result<Self, String> {
        match word {
            "train" => Ok(Self::Train),
            "validation" | "val" => Ok(Self::Validation),
            "test" => Ok(Self::Test),
            other => Err(format!("is `{other}`, expected `train`, `validation` or `test`")),
        }
    }
}

/// Picture files with the class, the split and the attributes of each.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Catalogue {
    /// The path of each picture below the folder of the data set, with `/` between folders.
    pub files: Vec<String>,
    /// The split that each belongs to.
    pub splits: Vec<Split>,
    /// The class of each, an index into `classes`.
    pub labels: Vec<usize>,
    /// The names of the classes.
    pub classes: Vec<String>,
    /// The attributes of each picture, by name.
    pub conditions: BTreeMap<String, Condition>,
    /// The number of the subject of each picture, such as the patient, where pictures of one subject stay in one split.
    pub subjects: Option<Vec<usize>>,
}

impl Catalogue {
    /// A catalogue without conditions. `origin` names the source in messages.
    ///
    /// # Errors
    /// [`DatasetError::Empty`] without a picture or a class, [`DatasetError::Count`] if splits or labels are missing,
    /// [`DatasetError::Label`] for a label outside the classes.
    pub fn new(
        origin: &str,
        files: Vec<String>,
        splits: Vec<Split>,
        labels: Vec<usize>,
        classes: Vec<String>,
    ) -> Result<Self> {
        for (missing, none) in [("images", files.is_empty()), ("classes", classes.is_empty())] {
            if none {
                return Err(DatasetError::Empty { origin: origin.into(), missing });
            }
        }
        let expected = files.len();
        for (what, count) in [("splits", splits.len()), ("labels", labels.len())] {
            if count != expected {
                return Err(DatasetError::Count {
                    what: format!("{origin}: {what}"),
                    expected,
                    found: count,
                });
            }
        }
        check_labels(origin, &labels, classes.len())?;
        Ok(Self { files, splits, labels, classes, ..Self::default() })
    }

    /// Adds an attribute.
    ///
    /// # Errors
    /// As [`Dataset::with_condition`].
    pub fn with_condition(mut self, name: &str, condition: Condition) -> Result<Self> {
        let (what, expected, count) = (format!("condition `{name}`"), self.len(), condition.len());
        if count != expected {
            return Err(DatasetError::Count { what, expected, found: count });
        }
        if let Condition::Categorical { values, names } = &condition {
            check_labels(&what, values, names.len())?;
        }
        self.conditions.insert(name.into(), condition);
        Ok(self)
    }

    /// Adds the number of the subject of each picture.
    ///
    /// # Errors
    /// [`DatasetError::Count`] if there is not one a picture.
    pub fn with_subjects(self, subjects: Vec<usize>) -> Result<Self> {
        let (what, expected, found) = ("subjects".into(), self.len(), subjects.len());
        if found != expected {
            return Err(DatasetError::Count { what, expected, found });
        }
        Ok(Self { subjects: Some(subjects), ..self })
    }

    /// Number of pictures.
    pub fn len(&self) -> usize {
        self.files.len()
    }

    /// True if there is no picture.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// The pictures of a split, ascending.
    pub fn of(&self, split: Split) -> Vec<usize> {
        (0..self.len()).filter(|&i| self.splits.get(i) == Some(&split)).collect()
    }

    /// The pictures named by `indices`, in that order; indices past the end are left out.
    #[must_use]
    pub fn select(&self, indices: &[usize]) -> Self {
        let within: Vec<usize> = indices.iter().copied().filter(|&i| i < self.len()).collect();
        Self {
            files: within.iter().filter_map(|&i| self.files.get(i).cloned()).collect(),
            splits: within.iter().filter_map(|&i| self.splits.get(i).copied()).collect(),
            labels: within.iter().filter_map(|&i| self.labels.get(i).copied()).collect(),
            classes: self.classes.clone(),
            conditions: self.conditions.iter().map(|(name, c)| (name.clone(), c.select(&within))).collect(),
            subjects: self.subjects.as_deref().map(|subjects| select(subjects, &within)),
        }
    }

    /// The classes that have no picture in the training split.
    pub fn untrained(&self) -> Vec<&str> {
        let trained: BTreeSet<usize> =
            self.of(Split::Train).into_iter().filter_map(|at| self.labels.get(at).copied()).collect();
        let classes = self.classes.iter().enumerate();
        classes.filter(|(label, _)| !trained.contains(label)).map(|(_, class)| class.as_str()).collect()
    }

    /// Moves `count` pictures of one split to another, drawn with a seed; where pictures have subjects, whole ones, as in
    /// [`split_subjects`](crate::numeric::split::split_subjects).
    ///
    /// # Errors
    /// [`DatasetError::Parameter`] if none would be left, or none moved.
    pub fn hold_out(mut self, from: Split, to: Split, count: usize, seed: u64) -> Result<Self> {
        let members = self.of(from);
        let subjects = self.subjects.as_deref().map(|subjects| select(subjects, &members));
        let (_, held_out) = hold_out(members.len(), subjects.as_deref(), count, seed).map_err(|fault| {
            DatasetError::parameter("pictures to hold out", count, &fault.reason("pictures"))
        })?;
        for at in held_out.into_iter().filter_map(|at| members.get(at)) {
            if let Some(split) = self.splits.get_mut(*at) {
                *split = to;
            }
        }
        Ok(self)
    }

    /// Keeps `per_class` training pictures of each class, drawn with a seed, and moves the others to the test split:
    /// the usual division of Caltech-101 and -256.
    ///
    /// # Errors
    /// [`DatasetError::Parameter`] if a class has no more than `per_class` pictures.
    pub fn keep_per_class(mut self, per_class: usize, seed: u64) -> Result<Self> {
        let mut members: Vec<Vec<usize>> = vec![Vec::new(); self.classes.len()];
        for i in self.of(Split::Train) {
            if let Some(class) = self.labels.get(i).and_then(|&label| members.get_mut(label)) {
                class.push(i);
            }
        }
        for (class, members) in members.iter().enumerate() {
            let Some(rest) = members.len().checked_sub(per_class).filter(|&rest| rest > 0 && per_class > 0)
            else {
                let name = self.classes.get(class).map_or("", String::as_str);
                let reason =
                    format!("but `{name}` has {} pictures and some must be left to test", members.len());
                return Err(DatasetError::parameter("per_class", per_class, &reason));
            };
            let (_, test_members) = split_indices(members.len(), rest, seed.wrapping_add(class as u64));
            for at in test_members.into_iter().filter_map(|at| members.get(at)) {
                if let Some(split) = self.splits.get_mut(*at) {
                    *split = Split::Test;
                }
            }
        }
        Ok(self)
    }

    /// The data set of these pictures, given the image of each in their order.
    ///
    /// # Errors
    /// As [`Dataset::new`].
    pub fn into_dataset(self, images: impl Into<ImageSet>) -> Result<Dataset> {
        let dataset = Dataset { subjects: self.subjects, ..Dataset::new(images, self.labels, self.classes)? };
        self.conditions
            .into_iter()
            .try_fold(dataset, |dataset, (name, condition)| dataset.with_condition(&name, condition))
    }
}

/// Number of `len` samples that remain for training if the fraction `test` is held out: `⌊len · (1 − test)⌋`, such
/// as 35,017 of the 50,025 pictures of UT-Zappos50K at 0.3, and 20 of 100 at 0.8, although `1 − 0.8` is less than 0.2 in `f64`.
pub fn train_count(len: usize, test: f64) -> usize {
    (len as f64 * (1.0 - test) * (1.0 + 4.0 * f64::EPSILON)) as usize
}

/// Values as indices into their sorted names.
pub fn numbered<'a>(values: impl IntoIterator<Item = &'a str>) -> (Vec<usize>, Vec<String>) {
    let values: Vec<&str> = values.into_iter().collect();
    let mut names = values.clone();
    names.sort_unstable();
    names.dedup();
    let index = |value: &&str| names.binary_search(value).unwrap_or_default();
    (values.iter().map(index).collect(), names.into_iter().map(String::from).collect())
}

/// The cells of class × bias as one attribute with the names `class, bias`, for accuracy by group.
pub fn groups(labels: &[usize], classes: &[String], bias: &[usize], bias_names: &[String]) -> Condition {
    let names =
        classes.iter().flat_map(|class| bias_names.iter().map(move |bias| format!("{class}, {bias}")));
    let values = labels.iter().zip(bias).map(|(label, bias)| label * bias_names.len() + bias);
    Condition::Categorical { values: values.collect(), names: names.collect() }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::data::Images;

    fn pictures(n: usize) -> Catalogue {
        let files = (0..n).map(|i| format!("{i}.png")).collect();
        let labels: Vec<usize> = (0..n).map(|i| i % 3).collect();
        let site = Condition::Categorical {
            values: (0..n).map(|i| i % 2).collect(),
            names: vec!["north".into(), "south".into()],
        };
        Catalogue::new("list", files, vec![Split::Train; n], labels, vec!["a".into(), "b".into(), "c".into()])
            .and_then(|catalogue| catalogue.with_condition("site", site))
            .unwrap()
    }

    #[test]
    fn a_split_keeps_what_its_fraction_says_whatever_f64_makes_of_it() {
        for tenths in 0..10 {
            let train_counts: Vec<usize> =
                (1..=1000).map(|len| train_count(len, f64::from(tenths) / 10.0)).collect();
            let exact: Vec<usize> = (1..=1000).map(|len| len * (10 - tenths as usize) / 10).collect();
            assert_eq!(train_counts, exact, "{tenths} tenths");
        }
    }

    #[test]
    fn seven_to_three_of_zappos_is_as_published() {
        assert_eq!((train_count(50_025, 0.3), 50_025 - train_count(50_025, 0.3)), (35_017, 15_008));
        let divided = pictures(100).hold_out(Split::Train, Split::Test, 30, 4).unwrap();
        assert_eq!((divided.of(Split::Train).len(), divided.of(Split::Test).len()), (70, 30));
        assert_eq!(pictures(100).hold_out(Split::Train, Split::Test, 30, 4).unwrap(), divided);
        assert_ne!(pictures(100).hold_out(Split::Train, Split::Test, 30, 5).unwrap(), divided);
        assert!(pictures(9).hold_out(Split::Train, Split::Test, 9, 0).is_err());
    }

    #[test]
    fn a_subject_stays_in_one_split_and_goes_into_the_data_set() {
        let of_four = pictures(100).with_subjects((0..100).map(|i| i / 4).collect()).unwrap();
        let divided = of_four.hold_out(Split::Train, Split::Test, 30, 4).unwrap();
        assert_eq!(divided.of(Split::Test).len(), 28);
        let mut of_subjects = divided.splits.chunks(4);
        assert!(of_subjects.all(|of_one| of_one.iter().all(|split| *split == of_one[0])));
        // Pictures held out of the rest have other subjects, too.
        let divided = divided.hold_out(Split::Train, Split::Validation, 10, 4).unwrap();
        let test = divided.select(&divided.of(Split::Test));
        let dataset = test.into_dataset(Images::new(1, 1, 1, vec![0; 28]).unwrap()).unwrap();
        assert_eq!(dataset.subjects.unwrap().chunks(4).filter(|of_one| of_one[0] == of_one[3]).count(), 7);
        assert!(pictures(3).with_subjects(vec![0; 2]).is_err());
    }

    #[test]
    fn each_class_keeps_as_many() {
        let divided = pictures(50).keep_per_class(5, 1).unwrap();
        let train = divided.select(&divided.of(Split::Train));
        assert_eq!([0, 1, 2].map(|c| train.labels.iter().filter(|&&l| l == c).count()), [5; 3]);
        assert_eq!(divided.of(Split::Test).len(), 35);
        let error = pictures(12).keep_per_class(4, 1).unwrap_err().to_string();
        assert!(error.contains("`a` has 4 pictures"), "{error}");
    }

    #[test]
    fn a_selection_keeps_what_belongs_together() {
        let picked = pictures(10).select(&[9, 4]);
        assert_eq!((picked.files.join(" "), picked.labels.clone()), ("9.png 4.png".into(), vec![0, 1]));
        let dataset = picked.into_dataset(Images::new(1, 1, 1, vec![7, 8]).unwrap()).unwrap();
        assert_eq!(dataset.conditions["site"].to_matrix().data(), [0.0, 1.0, 1.0, 0.0]);
    }

    #[test]
    fn cells_have_names() {
        let names = |n: [&str; 2]| n.map(String::from).to_vec();
        let Condition::Categorical { values, names } =
            groups(&[0, 1, 1], &names(["land", "water"]), &[1, 0, 1], &names(["forest", "sea"]))
        else {
            unreachable!()
        };
        assert_eq!((values, names[2].as_str()), (vec![1, 2, 3], "water, forest"));
    }
}
