//! Reads or draws the images of a recipe, and divides them into those to train on, to evaluate on and to choose the encoder by.

use std::path::Path;

use anyhow::Result;
use simile_core::data::resize::Interpolation;
use simile_core::data::synthetic::attributes::SyntheticAttributes;
use simile_core::data::{Condition, Dataset, ImageSet, Split};
use simile_core::nn::EncoderConfig;
use simile_core::train::TEST_SEED;

use super::data_errors::{no_folder, refused};
use super::pictures;
use super::splits::{Evaluated, Splits};
use crate::columns::overlooked;
use crate::config::Recipe;
use crate::config::selection::{SelectionImages, SelectionSection};
use crate::console::line;
use crate::data::keys::values::AttributesSection;
use crate::data::source::{Arrays, Finish, Medium};
use crate::data::{DataSection, TableSection, check_whole};
use crate::exit::usage;
use crate::experiment::memory::counts;

/// Turns the seed of a run into that of the colours of validation images, as [`TEST_SEED`] does for test images.
const VALIDATION_SEED: u64 = 1 << 62;
/// Seed of the choice of images to hold out; the same for every run, so that runs are compared on the same images.
const HOLD_OUT_SEED: u64 = 0;

/// The name of the attribute that consists of synthetic ones.
pub(super) const ATTRIBUTES: &str = "attributes";

/// A check of the number of training images, once it is known and before any picture is decoded.
pub(crate) type Check<'a> = &'a dyn Fn(usize) -> Result<()>;

/// The wishes of a caller of [`assemble`](Splits::assemble).
struct Request<'a> {
    check: Check<'a>,
    section: &'a DataSection,
    seed: u64,
    encoder: &'a EncoderConfig,
    /// True if images keep the size of their files.
    own_size: bool,
    /// The images for the choice of the encoder, if one is chosen.
    selection: Option<SelectionImages>,
    /// True in a smoke test, whose numbers of images the user did not set.
    is_smoke: bool,
    /// True if a column of subjects that the recipe does not name is said.
    says_overlooked: bool,
}

impl Splits {
    /// The data of a recipe. Training images keep their original size if the views are resized.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub(crate) fn of(recipe: &Recipe, folder: Option<&Path>) -> Result<Self> {
        Self::checked(recipe, folder, &|_| Ok(()))
    }

    /// As [`of`](Self::of), if the number of training images passes a check.
    ///
    /// # Errors
    /// As [`load`](Self::load), and as the check.
    pub(crate) fn checked(recipe: &Recipe, folder: Option<&Path>, check: Check<'_>) -> Result<Self> {
        let splits = Self::assemble(
            &Request {
                check,
                section: &recipe.data,
                seed: recipe.train.seed,
                encoder: &recipe.encoder.config,
                own_size: recipe.augment.size.is_some(),
                selection: recipe.selection.as_ref().map(SelectionSection::images),
                is_smoke: recipe.smoke.is_some(),
                // Without a file the user cannot name the column; the draft or the beginning of the run has said it.
                says_overlooked: recipe.origin.is_in_file(),
            },
            folder,
        )?;
        // A smoke test takes so few images that they may lack classes of which the run has some.
        if recipe.smoke.is_none() {
            splits.lack().iter().for_each(line);
        }
        Ok(splits)
    }

    /// Reads or generates data in the input size of an encoder, with the seed 0. `folder` holds the files of data sets that have any.
    ///
    /// # Errors
    /// A usage error if a folder is needed and none was given, or the encoder takes another number of channels; a
    /// failure if a file is missing or damaged.
    pub(crate) fn load(
        section: &DataSection,
        folder: Option<&Path>,
        encoder: &EncoderConfig,
    ) -> Result<Self> {
        let splits = Self::from_section(section, folder, encoder, true)?;
        splits.lack().iter().for_each(line);
        Ok(splits)
    }

    /// As [`load`](Self::load), without a word on absent classes and subjects: for a look at images, and for a caller that says it.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub(crate) fn sample(
        section: &DataSection,
        folder: Option<&Path>,
        encoder: &EncoderConfig,
    ) -> Result<Self> {
        Self::from_section(section, folder, encoder, false)
    }

    fn from_section(
        section: &DataSection,
        folder: Option<&Path>,
        encoder: &EncoderConfig,
        says_overlooked: bool,
    ) -> Result<Self> {
        Self::assemble(
            &Request {
                check: &|_| Ok(()),
                section,
                seed: 0,
                encoder,
                own_size: false,
                selection: None,
                is_smoke: false,
                says_overlooked,
            },
            folder,
        )
    }

    fn assemble(request: &Request<'_>, folder: Option<&Path>) -> Result<Self> {
        let &Request { section, seed, encoder, own_size, selection, is_smoke, .. } = request;
        counts::check_drawn(section)?;
        let (train, evaluated, official) = read(request, folder)?;
        let asked = asked_to_test_on(section, &evaluated);
        if !is_smoke {
            let notes =
                [all_taken(&train, section.train, "data.train"), all_taken(&evaluated, asked, "data.test")];
            notes.iter().flatten().for_each(line);
        }
        let (train, evaluated) = (first(train, section.train)?, first(evaluated, asked)?);
        // Images are held out before colouring: a validation set is coloured as the test set is.
        let (train, evaluated) = match section.validation {
            0 => (train, evaluated),
            count => hold_out(&train, count, "data.validation")?,
        };
        let (train, to_choose) = match selection {
            Some(SelectionImages::HeldOut(count)) => {
                let (train, held_out) = hold_out(&train, count, "selection.held_out")?;
                (train, Some(held_out))
            }
            Some(SelectionImages::Official) | None => (train, official),
        };
        let finished = |dataset, is_train, seed| -> Result<Dataset> {
            let dataset = match section.dataset.medium() {
                Medium::Arrays(set) => {
                    set.finish(dataset, &section.options(), Finish { is_train, own_size, seed })?
                }
                Medium::Drawn(_) | Medium::Pictures(_) => dataset,
            };
            let dataset = match &section.attributes {
                Some(attributes) => attributed(attributes, dataset, seed)?,
                None => dataset,
            };
            check_channels(&dataset.images, encoder)?;
            if own_size { Ok(dataset) } else { fitted(dataset, encoder) }
        };
        Ok(Self {
            train: finished(train, true, seed)?,
            evaluated: Evaluated {
                dataset: finished(evaluated, false, seed ^ TEST_SEED)?,
                split: section.evaluation_split(),
            },
            to_choose: to_choose
                .map(|dataset| finished(dataset, false, seed ^ VALIDATION_SEED))
                .transpose()?,
        })
    }
}

/// The number of test images that is asked for, of those that were read; none for all. Where whole subjects were held out, they may be
/// fewer or more, as the reader of the table has said.
fn asked_to_test_on(section: &DataSection, test: &Dataset) -> Option<usize> {
    let holds_out =
        || matches!(section.dataset.medium(), Medium::Pictures(set) if set.holds_out(&section.options()));
    section.test.filter(|_| test.subjects.is_none() || !holds_out())
}

/// The images without those that a key holds out, and these. It is said if whole subjects are of another number.
///
/// # Errors
/// A usage error that names the key, if none would be left to train on.
fn hold_out(images: &Dataset, count: usize, key: &str) -> Result<(Dataset, Dataset)> {
    if count >= images.len() {
        let most = images.len().saturating_sub(1);
        return Err(usage(format_args!(
            "`{key}` is {count}, expected 1 to {most} of {} training images",
            images.len()
        )));
    }
    let split = images.split(count, HOLD_OUT_SEED);
    let (rest, held_out) = split.map_err(|error| usage(error.with_name(key)))?;
    if held_out.len() != count {
        line(format_args!("`{key}` is {count}: {} images of whole subjects are held out", held_out.len()));
    }
    Ok((rest, held_out))
}

/// Training images of the files, those of the split to evaluate on, and those of the validation split on request; generated images have
/// their colours already.
fn read(request: &Request<'_>, folder: Option<&Path>) -> Result<(Dataset, Dataset, Option<Dataset>)> {
    let &Request { section, seed, encoder, selection, says_overlooked, .. } = request;
    let (options, folder) = (section.options(), || folder.ok_or_else(|| no_folder(section)));
    let held_out = section.validation + selection.map_or(0, SelectionImages::held_out);
    let check = |images: usize| {
        let images = section.train.map_or(images, |most| images.min(most));
        (request.check)(images.saturating_sub(held_out))
    };
    match section.dataset.medium() {
        Medium::Drawn(set) => {
            check(section.train.unwrap_or_default())?;
            let draw = |count: Option<usize>, seed| set.draw(count.unwrap_or_default(), &options, seed);
            Ok((draw(section.train, seed)?, draw(section.test, seed ^ TEST_SEED)?, None))
        }
        Medium::Arrays(set) => {
            let folder = folder()?;
            let Arrays { train, test, absent } = set.read(folder).map_err(|error| refused(section, error))?;
            check_whole(section, folder, train.len(), absent)?;
            check(train.len())?;
            Ok((train, test, None))
        }
        Medium::Pictures(set) => {
            let folder = folder()?;
            let annotations = set.annotations(&options, folder).map_err(|error| refused(section, error))?;
            let table = options.get::<TableSection>().filter(|_| says_overlooked);
            table.and_then(|table| overlooked::note(table, folder, held_out > 0)).iter().for_each(line);
            check(annotations.catalogue.of(Split::Train).len())?;
            let official = matches!(selection, Some(SelectionImages::Official));
            pictures::read(section, &annotations, folder, encoder, official)
        }
    }
}

/// Adds the attribute that consists of synthetic ones.
fn attributed(section: &AttributesSection, set: Dataset, seed: u64) -> Result<Dataset> {
    counts::check_columns("data.attributes.count", section.count, set.len().max(set.classes.len()))?;
    let attributes =
        SyntheticAttributes { count: section.count, noise: section.noise, code_seed: section.seed };
    let table = match (section.of.as_str(), set.conditions.get(&section.of)) {
        ("class", _) => attributes.generate(&set.labels, seed)?,
        (_, Some(Condition::Categorical { values, .. })) => attributes.generate(values, seed)?,
        (of, _) => {
            let categorical =
                |(_, condition): &(_, &Condition)| matches!(condition, Condition::Categorical { .. });
            let names = set.conditions.iter().filter(categorical).map(|(name, _)| name.as_str());
            let known: Vec<&str> = ["class"].into_iter().chain(names).collect();
            return Err(usage(format_args!(
                "`data.attributes.of` is `{of}`, of which no attributes are made; known: {}",
                known.join(", ")
            )));
        }
    };
    Ok(set.with_condition(ATTRIBUTES, Condition::Numeric(table.into()))?)
}

fn check_channels(images: &ImageSet, encoder: &EncoderConfig) -> Result<()> {
    let channels = images.channels();
    if channels == encoder.channels {
        return Ok(());
    }
    Err(usage(format_args!(
        "the images have {channels} channels and the encoder takes {}; train one with encoder.channels={channels}",
        encoder.channels
    )))
}

/// Resizes images to the input size of the encoder.
fn fitted(dataset: Dataset, encoder: &EncoderConfig) -> Result<Dataset> {
    let side = encoder.input_size;
    let images = dataset.images.resized(side, side, Interpolation::Bilinear)?;
    Ok(Dataset { images, ..dataset })
}

/// The first `count` images; if there are fewer, all of them.
fn first(dataset: Dataset, count: Option<usize>) -> Result<Dataset> {
    match count {
        Some(count) if count < dataset.len() => Ok(dataset.subset(&(0..count).collect::<Vec<_>>())?),
        _ => Ok(dataset),
    }
}

/// A note if `key` asks for more images than there are.
fn all_taken(images: &Dataset, count: Option<usize>, key: &str) -> Option<String> {
    let count = count.filter(|&count| count > images.len())?;
    Some(format!("`{key}` is {count}, and this split has {} images: all are taken", images.len()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use simile_core::data::synthetic::colour_mnist::Colours;
    use simile_core::data::synthetic::digits::draw_digits;

    use super::*;
    use crate::exit::{Usage, code_of};

    fn three() -> Dataset {
        draw_digits(3, Colours::Palette, 0).unwrap()
    }

    /// The exit code was that of a failure.
    #[test]
    fn a_number_that_the_pictures_cannot_give_is_an_error_of_usage() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.csv"), "file,label\n0.png,x\n1.png,y\n2.png,x\n").unwrap();
        let of = |text: &str| {
            let section: DataSection = toml::from_str(text).unwrap();
            let encoder = section.dataset.native();
            Splits::load(&section, Some(folder.path()), &encoder).unwrap_err()
        };
        let error = of("dataset = \"table\"\ntest = 400\n[table]\ncsv = \"a.csv\"");
        assert_eq!(error.to_string(), "`data.test` is 400, expected 1 to 2 of 3 pictures");
        assert!(error.is::<Usage>(), "{error}");
        let error = of("dataset = \"table\"\ntest = 2\n[table]\ncsv = \"b.csv\"");
        assert_eq!(code_of(&error), 1, "{error}");
        let of_one_subject = Dataset { subjects: Some(vec![0; 3]), ..three() };
        let error = hold_out(&of_one_subject, 1, "data.validation").unwrap_err();
        let start = "`data.validation` is 1, all samples are of one subject, which is held out as a whole";
        assert!(error.to_string().starts_with(start), "{error}");
        assert_eq!(code_of(&error), 2, "{error}");
    }

    #[test]
    fn more_images_than_there_are_is_said() {
        let three = three();
        let text = all_taken(&three, Some(4), "data.train").unwrap();
        assert_eq!(text, "`data.train` is 4, and this split has 3 images: all are taken");
        assert!([None, Some(3)].iter().all(|count| all_taken(&three, *count, "data.train").is_none()));
        let counts = [None, Some(2), Some(4)].map(|count| first(three.clone(), count).unwrap().len());
        assert_eq!(counts, [3, 2, 3]);
    }

    /// A table with a column of splits holds out no subjects, and nothing was said of too few.
    #[test]
    fn too_few_images_to_test_on_are_said_unless_whole_subjects_are_held_out() {
        let asked = |more: &str, count: usize| {
            let text = format!(
                "dataset = \"table\"\ntest = {count}\n[table]\ncsv = \"a.csv\"\nsubject = \"who\"\n{more}"
            );
            let section: DataSection = toml::from_str(&text).unwrap();
            asked_to_test_on(&section, &Dataset { subjects: Some(vec![0, 0, 1]), ..three() })
        };
        // Images of whole subjects beyond the number are held out too: they were neither trained nor tested on.
        assert_eq!((asked("", 9), asked("", 2)), (None, None));
        assert_eq!((asked("split = \"part\"", 9), asked("split = \"part\"", 2)), (Some(9), Some(2)));
    }
}
