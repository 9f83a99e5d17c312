//! UTKFace (Zhang et al. 2017): the file names give age, gender and race.
//!
//! `[age]_[gender]_[race]_[date&time].jpg.chip.jpg`: gender 0 male, 1 female; race 0 white, 1 black, 2 Asian, 3 Indian,
//! 4 others. A few published names lack a field.

use serde::{Deserialize, Serialize};

use super::bias_pairs::{hold_out_a_fifth, thin_conflicting};
use crate::data::catalogue::groups;
use crate::data::{Catalogue, Condition, DatasetError, Part, Result};
use crate::numeric::matrix::Matrix;

/// Values of gender, in the order of their numbers.
pub const GENDERS: [&str; 2] = ["male", "female"];
/// Values of race, in the order of their numbers.
pub const RACES: [&str; 5] = ["white", "black", "asian", "indian", "other"];

/// The bias attribute of the class, gender.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FaceBias {
    /// White (0) or not (1).
    #[default]
    Race,
    /// Twenty years or older (0), ten or younger (1); ages between are left out.
    Age,
}

/// The attributes in the name of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Face {
    /// Years, 0 to 116.
    pub age: u8,
    /// An index into [`GENDERS`].
    pub gender: usize,
    /// An index into [`RACES`].
    pub race: usize,
}

impl Face {
    /// Parses a file name; `None` if it has another form.
    pub fn of(path: &str) -> Option<Self> {
        let name = path.rsplit('/').next()?;
        let mut fields = name.split('_');
        let face = Self {
            age: fields.next()?.parse().ok()?,
            gender: fields.next()?.parse().ok()?,
            race: fields.next()?.parse().ok()?,
        };
        let dated = fields.next()?.starts_with(|letter: char| letter.is_ascii_digit());
        (dated && face.gender < GENDERS.len() && face.race < RACES.len()).then_some(face)
    }

    fn bias(self, bias: FaceBias) -> Option<usize> {
        match bias {
            FaceBias::Race => Some(usize::from(self.race != 0)),
            FaceBias::Age if self.age >= 20 => Some(0),
            FaceBias::Age if self.age <= 10 => Some(1),
            FaceBias::Age => None,
        }
    }
}

/// The catalogue of `paths`, and the paths whose names cannot be parsed. Paths are sorted first, so that the result
/// does not depend on the order of a directory. The class is gender; all pictures are [`Part::Train`].
///
/// Conditions: `age` (years), `race`, `bias`, and `group` (class × bias).
///
/// # Errors
/// [`DatasetError::Empty`] if no name can be parsed.
pub fn catalogue(paths: &[String], bias: FaceBias) -> Result<(Catalogue, Vec<String>)> {
    let mut sorted = paths.to_vec();
    sorted.sort_unstable();
    let (mut odd, mut files, mut faces, mut biases) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for path in sorted {
        let Some(face) = Face::of(&path) else {
            odd.push(path);
            continue;
        };
        if let Some(value) = face.bias(bias) {
            files.push(path);
            faces.push(face);
            biases.push(value);
        }
    }
    let names = |names: &[&str]| names.iter().map(|name| String::from(*name)).collect::<Vec<_>>();
    let bias_names = names(match bias {
        FaceBias::Race => &["white", "not white"],
        FaceBias::Age => &["20 or older", "10 or younger"],
    });
    let labels: Vec<usize> = faces.iter().map(|face| face.gender).collect();
    let classes = names(&GENDERS);
    let group = groups(&labels, &classes, &biases, &bias_names);
    let age = Matrix::from_fn(faces.len(), 1, |i, _| f64::from(faces[i].age));
    let race =
        Condition::Categorical { values: faces.iter().map(|face| face.race).collect(), names: names(&RACES) };
    let parts = vec![Part::Train; files.len()];
    let catalogue = Catalogue::new("UTKFace", files, parts, labels, classes)?
        .with_condition("age", Condition::Numeric(age))?
        .with_condition("race", race)?
        .with_condition("bias", Condition::Categorical { values: biases, names: bias_names })?
        .with_condition("group", group)?;
    Ok((catalogue, odd))
}

/// The published sampling: 8:2 at random into training and test pictures, conflicting pairs of the training pictures
/// thinned to `correlation` (see [`thin_conflicting`]), half of the test pictures made validation.
///
/// Released code draws from an unseeded generator and saves the result; here the sampling is drawn with a seed. The
/// first run of released code, before anything is saved, evaluates on the whole test part.
///
/// # Errors
/// If there are too few pictures, or `correlation` is not in 0..=1.
pub fn published(catalogue: Catalogue, correlation: f64, seed: u64) -> Result<Catalogue> {
    let catalogue = hold_out_a_fifth(catalogue, Part::Test, seed)?;
    let Some(Condition::Categorical { values, .. }) = catalogue.conditions.get("bias") else {
        return Err(DatasetError::parameter(
            "bias",
            "absent",
            "expected a catalogue with the condition `bias`",
        ));
    };
    let kept = thin_conflicting(&catalogue, values, correlation, seed.wrapping_add(1))?;
    let catalogue = catalogue.select(&kept);
    let half = catalogue.of(Part::Test).len() / 2;
    catalogue.hold_out(Part::Test, Part::Validation, half, seed.wrapping_add(2))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn names_say_age_gender_and_race() {
        let name = "part1/26_1_3_20170119193115729.jpg.chip.jpg";
        assert_eq!(Face::of(name), Some(Face { age: 26, gender: 1, race: 3 }));
        // Published names that lack a field, and invalid names.
        for odd in
            ["61_1_20170109142408075.jpg.chip.jpg", "39_1_0.jpg", "20_2_0_2017.jpg", "a.jpg", "5_0_7_1.jpg"]
        {
            assert_eq!(Face::of(odd), None, "{odd}");
        }
    }

    fn faces(n: usize) -> Vec<String> {
        (0..n).map(|i| format!("{}_{}_{}_2017{i:06}.jpg.chip.jpg", i % 60, i / 60 % 2, i / 7 % 5)).collect()
    }

    #[test]
    fn biases_are_as_published() {
        let paths = ["9_0_0_1.jpg", "15_1_0_1.jpg", "20_1_4_1.jpg", "x.jpg"].map(String::from);
        let (by_race, odd) = catalogue(&paths, FaceBias::Race).unwrap();
        assert_eq!((odd, by_race.len()), (vec!["x.jpg".to_string()], 3));
        // Sorted as words: 15, 20, 9.
        assert_eq!(by_race.labels, [1, 1, 0]);
        let values = |c: &Catalogue| match &c.conditions["bias"] {
            Condition::Categorical { values, .. } => values.clone(),
            Condition::Numeric(_) => vec![],
        };
        assert_eq!(values(&by_race), [0, 1, 0]);
        let (by_age, _) = catalogue(&paths, FaceBias::Age).unwrap();
        assert_eq!((by_age.len(), values(&by_age)), (2, vec![0, 1]));
        assert_eq!(by_age.conditions["age"].to_matrix().data(), [20.0, 9.0]);
    }

    #[test]
    fn the_published_sampling_thins_training_pictures_alone() {
        let (all, _) = catalogue(&faces(3000), FaceBias::Race).unwrap();
        let sampled = published(all, 0.9, 0).unwrap();
        assert_eq!((sampled.of(Part::Validation).len(), sampled.of(Part::Test).len()), (300, 300));
        let train = sampled.select(&sampled.of(Part::Train));
        let Condition::Categorical { values, .. } = &train.conditions["bias"] else { unreachable!() };
        let agreeing = train.labels.iter().zip(values).filter(|(a, b)| a == b).count();
        assert_eq!(train.len() - agreeing, (agreeing as f64 * (1.0 - 0.9)) as usize);
    }
}
