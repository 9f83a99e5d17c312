//! The rules of a recipe that concern several keys.

use std::collections::BTreeMap;

use simile_core::algorithm::{AlgorithmConfig, InnerLoss};
use simile_core::error::Error;
use simile_core::loss;

use super::fault::Fault;
use super::key_path::VARIANTS;
use super::numbers;
use super::objective::ObjectiveSection;
use super::recipe::Recipe;
use super::selection::SelectionSection;
use super::variant::{RecipeVariant, VariantSection};
use crate::data::keys::values::{CentreCrop, Fit, JudgedBy};
use crate::names::{self, slug};

impl Recipe {
    /// Checks a recipe that a user gives: as [`check`](Self::check), and that no key of its objectives and data is ignored, or makes
    /// no sense beside another.
    pub(super) fn check_given(&self) -> Result<(), Fault> {
        self.check()?;
        self.variants().iter().try_for_each(|variant| self.check_use(variant))?;
        self.data.check_use().map_err(|refused| Fault::new("data", refused.key, refused.reason))
    }

    /// Checks that something reads each key of an objective, and of the loss that is a setting of a method.
    fn check_use(&self, variant: &RecipeVariant) -> Result<(), Fault> {
        if let Some(reason) = unread_parameter(&variant.objective).or_else(|| unread_key(variant)) {
            return Err(self.variant_fault(variant, Fault::new("objective", "", reason)));
        }
        let unread = unread_setting(&variant.algorithm);
        unread.map_or(Ok(()), |reason| Err(self.variant_fault(variant, Fault::new("method", "", reason))))
    }

    /// Checks the rules that concern several keys.
    pub(super) fn check(&self) -> Result<(), Fault> {
        if let Some(fault) = numbers::fault(self) {
            return Err(fault);
        }
        self.check_names()?;
        self.train.check()?;
        self.variants().iter().try_for_each(|variant| self.check_variant(variant))?;
        self.encoder.config.validate().map_err(|error| section_fault("encoder", &error))?;
        self.head.of(None).validate().map_err(|error| section_fault("head", &error))?;
        self.check_views()?;
        self.check_classified()?;
        self.optimizer.validate().map_err(|error| section_fault("optimizer", &error))?;
        self.schedule.validate().map_err(|error| section_fault("schedule", &error))?;
        self.normalisation().map_err(|reason| Fault::new("data", "normalise", reason))?;
        self.probe.check()?;
        self.selection.as_ref().map_or(Ok(()), |selection| self.check_selection(selection))?;
        self.data.check().map_err(|refused| Fault::new("data", refused.key, refused.reason))
    }

    /// Checks that there are objectives, and that files can have the names of the run and of its variants.
    fn check_names(&self) -> Result<(), Fault> {
        match (&self.objective, self.written_variants.is_empty()) {
            (None, true) => {
                return Err(Fault::new("", "", "there is no objective; write [objective] or [[variant]]"));
            }
            (Some(_), false) => {
                let reason = "an objective beside variants; move it into a [[variant]]";
                return Err(Fault::new("objective", "", reason));
            }
            _ => {}
        }
        names::check(&self.name).map_err(|reason| Fault::new("name", "", reason))?;
        for variant in &self.written_variants {
            names::check(&variant.name).map_err(|reason| Fault::new(VARIANTS, "", reason))?;
        }
        check_file_names(&self.written_variants).map_err(|reason| Fault::new(VARIANTS, "", reason))
    }

    /// Checks objective and method of a variant.
    fn check_variant(&self, variant: &RecipeVariant) -> Result<(), Fault> {
        let checked = variant.check(self.train.iterations as u64);
        checked.map_err(|fault| self.variant_fault(variant, fault))?;
        let algorithm = &variant.algorithm;
        if self.train.batch < algorithm.least_batch() {
            let reason = format!(
                "`train.batch` must be at least {}: the criterion of this method is not defined for fewer images",
                algorithm.least_batch()
            );
            return Err(Fault::new("train", "batch", reason));
        }
        let first = algorithm.first_steps();
        if first.is_some_and(|first| !first.is_multiple_of(self.train.accumulate as u64)) {
            let reason = "`method.first_steps` must be a multiple of `train.accumulate`; gradients would be left over \
                          between the stages";
            return Err(Fault::new("method", "first_steps", reason));
        }
        Ok(())
    }

    /// The fault of a section of a variant at its place in the recipe; that of a method which all variants share is one of the recipe.
    fn variant_fault(&self, variant: &RecipeVariant, fault: Fault) -> Fault {
        let Some(written) = self.written_variants.iter().find(|written| written.name == variant.name) else {
            return fault;
        };
        let Fault { path, reason } = fault;
        let is_of_method = path.first().is_some_and(|section| section == "method");
        let is_shared = is_of_method && written.algorithm.is_none();
        let place = if is_shared { vec![] } else { vec![VARIANTS.to_owned(), variant.name.clone()] };
        Fault {
            path: place.into_iter().chain(path).collect(),
            reason: format!("variant `{}`: {reason}", variant.name),
        }
    }

    /// Checks that views, and images in evaluation, have the size of the encoder's input.
    fn check_views(&self) -> Result<(), Fault> {
        self.augment.validate().map_err(|error| section_fault("augment", &error))?;
        let side = self.encoder.config.input_size;
        self.augment.numbers([side; 2]).map_err(|error| section_fault("augment", &error))?;
        if self.augment.size.is_some_and(|size| size != side) {
            let reason = format!("`augment.size` must be `encoder.input_size`, {side}");
            return Err(Fault::new("augment", "size", reason));
        }
        if self.data.fit == Fit::Crops && self.augment.crop.is_none() {
            let reason = "`data.fit = \"crops\"` keeps the shape of pictures for `augment.crop`, and there is none; \
                          take `whole`";
            return Err(Fault::new("data", "fit", reason));
        }
        self.check_centre_crops(side)
    }

    /// Checks that a middle of the size of the encoder's input, `side`, is taken of something larger: of images in evaluation, and
    /// of views.
    fn check_centre_crops(&self, side: usize) -> Result<(), Fault> {
        let is_smaller = self.data.side.is_none_or(|larger| larger < side);
        if self.data.centre_crop != CentreCrop::default() && (self.augment.size.is_none() || is_smaller) {
            let reason = format!(
                "`data.centre_crop` needs pictures of at least {side} pixels, `data.side`, and views that are made of \
                 them, `augment.size = {side}`"
            );
            return Err(Fault::new("data", "centre_crop", reason));
        }
        if self.augment.centre_crop && is_smaller {
            let reason =
                format!("`augment.centre_crop` needs pictures of at least {side} pixels, `data.side`");
            return Err(Fault::new("augment", "centre_crop", reason));
        }
        let (stored, resize) = (self.data.side.unwrap_or(side), self.data.resize());
        if resize.is_some_and(|resize| !(side..=stored).contains(&resize)) {
            let reason = format!(
                "`data.centre_crop` must be true, or a side from {side}, `encoder.input_size`, to {stored}, `data.side`"
            );
            return Err(Fault::new("data", "centre_crop", reason));
        }
        if self.augment.centre_crop
            && let Some(resize) = resize.filter(|&resize| resize != stored)
        {
            let reason = format!(
                "`augment.centre_crop` takes the middle of pictures of {stored} pixels, `data.side`, and evaluation that of \
                 {resize}, `data.centre_crop`; make both the same"
            );
            return Err(Fault::new("augment", "centre_crop", reason));
        }
        Ok(())
    }

    /// Checks that the method takes images to classify, and that their size is that of the encoder's input.
    fn check_classified(&self) -> Result<(), Fault> {
        let Some(classified) = &self.classified else { return Ok(()) };
        let fault = |key, reason: String| Err(Fault::new("classified", key, reason));
        if !self.variants().iter().any(|variant| variant.algorithm.takes_images_to_classify()) {
            let reason = "`[classified]` is for a method with a classifier beside its objective: `with-classifier`, or \
                          `bias-network` with `ce_weight`";
            return fault("", reason.into());
        }
        if classified.batch < 2 {
            return fault("batch", "`classified.batch` must be at least 2".into());
        }
        if let Err(error) = classified.augment.validate() {
            return fault("augment", format!("`classified.augment`: {error}"));
        }
        if classified.augment.size != self.augment.size {
            let reason = "`classified.augment.size` must be `augment.size`: one encoder takes both";
            return fault("augment", reason.into());
        }
        Ok(())
    }

    /// Checks that the images by which the encoder is selected are not those of the final judgement.
    fn check_selection(&self, selection: &SelectionSection) -> Result<(), Fault> {
        selection.check()?;
        let dataset = self.data.dataset;
        if !selection.official {
            return Ok(());
        }
        let need = if !dataset.has_pictures() {
            format!("a data set of pictures with a validation split, which `{}` is not", dataset.name())
        } else if self.data.judged_by == JudgedBy::Validation {
            "`data.judged_by = \"test\"`: the validation split cannot both choose the encoder and judge it"
                .into()
        } else {
            return Ok(());
        };
        let reason = format!("`selection.official` needs {need}; use `selection.held_out` in its place");
        Err(Fault::new("selection", "official", reason))
    }
}

/// Checks that each variant has files of its own: they are named by the [`slug`] of its name.
fn check_file_names(variants: &[VariantSection]) -> Result<(), String> {
    let mut names_by_file: BTreeMap<String, &str> = BTreeMap::new();
    for VariantSection { name, .. } in variants {
        let file = slug(name);
        if file.is_empty() {
            return Err(format!(
                "files of a variant are named by the letters a to z and the digits of its name, and `{name}` has none; rename it"
            ));
        }
        if let Some(other) = names_by_file.get(&file) {
            return Err(format!(
                "variants `{other}` and `{name}` would have the same file name, model-{file}.safetensors; rename one (of a \
                 name only the letters a to z, digits and points count)"
            ));
        }
        names_by_file.insert(file, name);
    }
    // `model-last.safetensors` is the last encoder of a run, `model-x-last.safetensors` that of its variant `x`.
    for (file, name) in &names_by_file {
        let other = file.strip_suffix("-last").and_then(|other| names_by_file.get(other));
        let owner = match other {
            Some(other) => format!("variant `{other}`"),
            None if file == "last" => "the run".into(),
            None => continue,
        };
        return Err(format!(
            "`model-{file}.safetensors` is the file of the last encoder of {owner}, so no variant can be called `{name}`; rename it"
        ));
    }
    Ok(())
}

/// Why a parameter of an objective has no effect: another of its forms reads it.
fn unread_parameter(objective: &ObjectiveSection) -> Option<String> {
    let ObjectiveSection { name, form, parameters, .. } = objective;
    let mut ignored = loss::spec(name).into_iter().flat_map(|spec| spec.without_effect(form.as_deref()));
    let parameter = ignored.find(|parameter| parameters.contains_key(parameter.name))?;
    let form = parameter.form.unwrap_or_default();
    Some(format!(
        "`objective.{}` has no effect: only the form `{form}` of {name} reads it; leave it out, or set its `variant` to {form:?}",
        parameter.name
    ))
}

/// Why a parameter of a loss that is a setting of a method has no effect: another of its forms reads it. A value equal to the default is
/// accepted, because the recipe of a run has every setting.
fn unread_setting(algorithm: &AlgorithmConfig) -> Option<String> {
    let InnerLoss { key, spec, settings } = algorithm.inner_loss()?;
    let mut ignored = spec.without_effect(settings["variant"].as_str());
    let parameter = ignored.find(|parameter| settings[parameter.name] != parameter.default.to_value())?;
    let form = parameter.form.unwrap_or_default();
    Some(format!(
        "`{key}.{}` has no effect: only the form `{form}` of {} reads it; leave it out, or set `{key}.variant = {form:?}`",
        parameter.name, spec.name
    ))
}

/// Why a key of an objective that names an attribute of the data, or makes clusters of it, has no effect.
///
/// A bias beside class scores is taken: recipes of classifiers name it for the objectives that a user sets in their place.
fn unread_key(variant: &RecipeVariant) -> Option<String> {
    let objective = &variant.objective;
    let spec = loss::spec(&objective.name).ok()?;
    let reads = |names: [&str; 2]| names.iter().any(|name| spec.input(name).is_some());
    let gives_scores = variant.scores(1, 1).is_some();
    let reads_classes = reads(["labels", "ce_labels"]) || gives_scores;
    let weighs_images = objective.oversample.is_some();
    let takes_clusters = reads_classes || weighs_images || objective.one_cluster;
    let (no_class, such_as) = (
        "reads no classes, whose place clusters take",
        "an objective that reads them, such as `fair-info-nce`",
    );
    let rules = [
        ("clusters", objective.clusters.is_none() || takes_clusters, no_class, such_as),
        ("top_attributes", objective.top_attributes.is_none() || takes_clusters, no_class, such_as),
        (
            "condition",
            objective.condition.is_none() || objective.reads_condition(),
            "conditions on nothing",
            "an objective that does, such as `fair-cclk`",
        ),
        (
            "bias",
            objective.bias.is_none() || reads(["bias", "ce_bias"]) || gives_scores || weighs_images,
            "reads no bias",
            "an objective that does, such as `biascon`, or draw images by it, `objective.oversample`",
        ),
    ];
    let (key, _, why, instead) = rules.into_iter().find(|(_, is_sound, ..)| !is_sound)?;
    Some(format!(
        "`objective.{key}` has no effect: {} {why}; leave it out, or take {instead}",
        objective.name
    ))
}

/// The fault of a section that core refuses.
fn section_fault(section: &str, error: &Error) -> Fault {
    Fault::new(section, "", error.to_string())
}
