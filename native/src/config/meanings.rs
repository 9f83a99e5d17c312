//! The meanings of keys, which `simile keys`, its schema and the book show: the lines of `keys.toml`, and the meanings that data sets,
//! methods and objectives give their own keys.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use simile_core::algorithm::AlgorithmConfig;
use simile_core::loss;
use simile_core::loss::spec::{Kind, Parameter};

use crate::data::sets;

/// A sentence for each key and each section, by its dotted path.
pub(crate) struct Meanings(BTreeMap<String, String>);

impl Meanings {
    /// # Errors
    /// If the file is no table of texts.
    pub(crate) fn read() -> Result<Self> {
        toml::from_str(include_str!("keys.toml")).map(Self).context("reading config/keys.toml")
    }

    /// The meaning of a key, or of a section.
    ///
    /// # Errors
    /// If it has none.
    pub(crate) fn of(&self, key: &str) -> Result<String> {
        // The same reader takes both sections.
        let shared = key.strip_prefix("classified.").filter(|rest| rest.starts_with("augment."));
        let line = self.0.get(key).or_else(|| self.0.get(shared?)).cloned();
        line.or_else(|| described_meaning(key)).with_context(|| {
            format!("`{key}` has no meaning in config/keys.toml or in the file of its data set")
        })
    }

    /// Checks that each of the keys, and each section with one of them, has a meaning.
    ///
    /// # Errors
    /// Names all that have none.
    pub(crate) fn check<'a>(&self, keys: impl Iterator<Item = &'a str> + Clone) -> Result<()> {
        let missing: Vec<&str> =
            keys.clone().chain(sections(keys)).filter(|key| self.of(key).is_err()).collect();
        let missing_keys = missing.join(", ");
        ensure!(
            missing.is_empty(),
            "no meaning in config/keys.toml, or in the file of a data set: {missing_keys}"
        );
        Ok(())
    }

    /// The keys of the file.
    #[cfg(test)]
    pub(crate) fn keys(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

/// The sections with some keys, an outer one before those in it.
pub(crate) fn sections<'a>(keys: impl Iterator<Item = &'a str>) -> impl Iterator<Item = &'a str> {
    let of_key = |key: &'a str| key.match_indices('.').map(move |(end, _)| &key[..end]);
    keys.flat_map(of_key).collect::<BTreeSet<_>>().into_iter()
}

/// The meaning of a key by the data sets, methods or objectives that read it, which describe it themselves.
pub(crate) fn described_meaning(key: &str) -> Option<String> {
    match key.split_once('.')? {
        ("data", key) => sets::meaning(key).map(str::to_owned),
        ("method", name) => setting_meaning(name),
        ("objective", name) => parameter_meaning(name),
        _ => None,
    }
}

/// The meaning of a setting of methods, each of its meanings after those that have it.
fn setting_meaning(name: &str) -> Option<String> {
    let all = AlgorithmConfig::all()
        .filter_map(|(method, meanings)| Some((meanings.iter().find(|(key, _)| *key == name)?.1, method)));
    let meanings = grouped(all);
    let each = meanings.iter().map(|(meaning, methods)| format!("`{}`: {meaning}", methods.join("`, `")));
    (!meanings.is_empty()).then(|| each.collect::<Vec<_>>().join(" "))
}

/// Meanings in their order, each once with all that have it.
fn grouped<M: PartialEq>(all: impl Iterator<Item = (M, &'static str)>) -> Vec<(M, Vec<&'static str>)> {
    let mut groups: Vec<(M, Vec<&str>)> = Vec::new();
    for (meaning, owner) in all {
        match groups.iter_mut().find(|(known, _)| *known == meaning) {
            Some((_, owners)) => owners.push(owner),
            None => groups.push((meaning, vec![owner])),
        }
    }
    groups
}

/// The meaning of a parameter by the objectives that have it: each of its meanings with these, if there are several, and the
/// defaults.
fn parameter_meaning(name: &str) -> Option<String> {
    let all = || loss::specs().filter_map(|spec| Some((spec.parameter(name)?, spec.name)));
    let meanings = grouped(all().map(|(parameter, objective)| (in_words(parameter), objective)));
    let defaults = grouped(all().filter_map(|(parameter, objective)| Some((default(parameter)?, objective))));
    let defaults: Vec<&str> = defaults.iter().map(|(default, _)| default.as_str()).collect();
    let text = match meanings.as_slice() {
        [(only, _)] => only.clone(),
        several => {
            let of_objectives = |(meaning, objectives): &(String, Vec<&str>)| {
                format!("{meaning} in `{}`", objectives.join("`, `"))
            };
            several.iter().map(of_objectives).collect::<Vec<_>>().join("; ")
        }
    };
    let by_default = match defaults.as_slice() {
        [] => String::new(),
        [only] => format!("; {only} by default"),
        [others @ .., last] => {
            format!("; {} or {last} by default, as the objective has it", others.join(", "))
        }
    };
    let first = text.chars().next()?;
    Some(format!("{}{}{by_default}.", first.to_uppercase(), &text[first.len_utf8()..]))
}

/// The meaning of a parameter with its range.
fn in_words(parameter: &Parameter) -> String {
    let Parameter { meaning, kind, .. } = parameter;
    match kind {
        Kind::Number(_) | Kind::Integer { .. } => format!("{meaning} ({kind})"),
        Kind::Choice(_) => format!("{meaning}: {kind}"),
        Kind::Flag | Kind::Kernel | Kind::Structured => (*meaning).to_owned(),
    }
}

/// The default of a parameter; none if it is `null` and has no word for that.
fn default(parameter: &Parameter) -> Option<String> {
    match parameter.default.to_value() {
        Value::Null => parameter.null.map(str::to_owned),
        Value::String(name) => Some(name),
        value => Some(value.to_string()),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::data::keys::of_dataset::OptionType;

    #[test]
    fn meanings_are_short_sentences() {
        let of_option = |option: OptionType| {
            let meanings = option.meanings.iter();
            meanings
                .map(move |(path, meaning)| (format!("data.{}.{path}", option.key), (*meaning).to_owned()))
        };
        for (key, meaning) in
            Meanings::read().unwrap().0.into_iter().chain(sets::options().flat_map(of_option))
        {
            let is_sentence = meaning.starts_with(|first: char| first.is_uppercase() || first == '`')
                && meaning.ends_with('.')
                && !meaning.contains('\n');
            assert!(is_sentence, "{key}: {meaning}");
            assert!(meaning.chars().count() <= 170, "{key}: {} characters", meaning.chars().count());
        }
    }

    #[test]
    fn a_key_and_a_section_without_a_meaning_are_named() {
        let meanings = Meanings::read().unwrap();
        let keys = ["train.batch", "train.color", "typo.batch", "classified.augment.flip", "classified.flip"];
        let error = meanings.check(keys.into_iter()).unwrap_err().to_string();
        assert!(error.ends_with(": train.color, typo.batch, classified.flip, typo"), "{error}");
        assert_eq!(meanings.of("classified.augment.flip").unwrap(), meanings.of("augment.flip").unwrap());
        assert_ne!(meanings.of("classified.augment").unwrap(), meanings.of("augment").unwrap());
    }

    #[test]
    fn a_parameter_has_the_meaning_range_and_default_of_each_objective() {
        let of = |name: &str| parameter_meaning(name).unwrap();
        assert_eq!(of("align_w"), "Factor of the alignment (0 to 1e12); 1.0 by default.");
        let temperature = of("temperature");
        assert!(temperature.starts_with("Divisor of the cosines (1e-12 to 1e12); 0.5, "), "{temperature}");
        assert!(temperature.ends_with(" by default, as the objective has it."), "{temperature}");
        let beta = of("beta");
        assert!(beta.contains("weights of the negatives (0 to 1e12) in `hcl`; "), "{beta}");
        assert!(beta.contains("parallel term (0 to 1e12) in `end`; "), "{beta}");
        assert_eq!(parameter_meaning("no-such-name"), None);
    }

    #[test]
    fn a_setting_has_the_meaning_of_each_method() {
        let of = |name: &str| setting_meaning(name).unwrap();
        assert!(of("chunk").starts_with("`cached`: Images that it computes at a time, "), "{}", of("chunk"));
        let first_steps = of("first_steps");
        assert!(first_steps.starts_with("`bias-network`, `jtt`: Iterations of "), "{first_steps}");
        let momentum = of("momentum");
        assert!(momentum.starts_with("`moco`: ") && momentum.contains(". `byol`: "), "{momentum}");
        assert_eq!(setting_meaning("no-such-name"), None);
    }
}
