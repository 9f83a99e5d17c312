//! The inputs of objectives and methods beside the views, for the whole training set.

use std::sync::Arc;

use anyhow::{Context as _, Result};
use simile_core::algorithm::TrainingSet;
use simile_core::data::{Condition, Dataset};
use simile_core::error::Error;
use simile_core::eval::cluster::attribute::{AttributeClusters, attribute_clusters};
use simile_core::eval::cluster::kmeans::KMeansConfig;
use simile_core::loss::batch::Batch;
use simile_core::loss::{self, Conditioning, bias_prior};
use simile_core::numeric::matrix::Matrix;
use simile_core::train::{ClusterBatches, ConditionGroups, Purpose, WeightedSampler, bias_weights, stream};

use crate::config::objective::ObjectiveSection;
use crate::exit::{Subject, usage, usage_about};

/// The key of the objective that names its bias.
const BIAS: &str = "bias";

/// Labels, condition and bias of the training images.
pub(crate) struct Context {
    /// The attribute for clusters and condition groups.
    attribute: Option<Arc<Matrix>>,
    /// True if the objective gets it as `z`.
    is_condition: bool,
    labels: Vec<usize>,
    bias: Option<Bias>,
    /// A note on the clusters.
    note: Option<String>,
}

struct Bias {
    values: Vec<usize>,
    count: usize,
    /// `P(class | bias)`.
    prior: Matrix,
}

impl Context {
    /// Collects the attributes that `section` names from the training set.
    ///
    /// # Errors
    /// A usage error if the data set has no such attribute, or the section names no bias and its objective needs one.
    pub(crate) fn new(section: &ObjectiveSection, train: &Dataset, seed: u64) -> Result<Self> {
        let name = section.attribute_or_default();
        let attribute = train.conditions.get(&name).map(Condition::to_matrix);
        // Its default stands in no recipe.
        let key = section.condition.as_ref().map(|_| "condition");
        let wanted = match section.conditioning() {
            Conditioning::Given => true,
            Conditioning::Representation => section.condition.is_some(),
            Conditioning::None => false,
        };
        if wanted && attribute.is_none() {
            let reason = format!("the data set has no attribute `{name}` to condition `{}` on", section.name);
            return Err(unknown(key, &reason, train, |_| true));
        }
        if section.neighbourhoods.is_some() && attribute.is_none() {
            let remedy =
                if train.conditions.is_empty() { "" } else { "; name one with `objective.condition`" };
            let reason = format!(
                "`objective.neighbourhoods` groups images by an attribute, and the data set has no `{name}`{remedy}"
            );
            return Err(unknown(key, &reason, train, |_| true));
        }
        let mut note = None;
        let labels = match (section.clusters, section.top_attributes, &attribute) {
            (None, None, _) => train.labels.clone(),
            (Some(_), Some(_), _) => {
                return Err(usage(
                    "`objective.clusters` and `objective.top_attributes` both define the clusters; leave one out",
                ));
            }
            (Some(count), None, Some(values)) => clusters(&name, values, count, seed)?,
            (None, Some(count), Some(values)) => {
                let clustered = top_clusters(&name, values, count)?;
                let size = values.rows() as f64 / clustered.count as f64;
                note =
                    Some(format!("{count} attributes make {} clusters of {size:.1} images", clustered.count));
                clustered.ids
            }
            (_, _, None) => {
                let reason = format!("the data set has no attribute `{name}` to cluster");
                return Err(unknown(key, &reason, train, |_| true));
            }
        };
        let bias = match &section.bias {
            Some(name) => Some(Bias::new(name, train, &labels)?),
            None => None,
        };
        check_bias(section, bias.as_ref(), train)?;
        Ok(Self { attribute, is_condition: section.condition().is_some(), labels, bias, note })
    }

    /// A note to the user on the clusters.
    pub(crate) fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }

    /// The description of the training set for a method.
    pub(crate) fn training_set(&self) -> TrainingSet {
        TrainingSet {
            labels: self.labels.clone(),
            bias_count: self.bias.as_ref().map_or(0, |bias| bias.count),
        }
    }

    /// The condition of all training images, if the objective gets one.
    pub(crate) fn condition(&self) -> Option<Arc<Matrix>> {
        self.attribute.clone().filter(|_| self.is_condition)
    }

    /// Batches of images with similar conditions.
    ///
    /// # Errors
    /// A usage error if the batch cannot be divided into that number of groups; an error without an attribute, which [`new`](Self::new)
    /// refuses where the section has neighbourhoods.
    pub(crate) fn condition_groups(&self, groups: usize, batch: usize, seed: u64) -> Result<ConditionGroups> {
        let attribute = self.attribute.clone().context("condition groups without an attribute")?;
        ConditionGroups::new(attribute, batch, groups, seed).map_err(usage)
    }

    /// Batches of one cluster, or class, each.
    ///
    /// # Errors
    /// A usage error if no cluster has two images.
    pub(crate) fn cluster_batches(&self, batch: usize, seed: u64) -> Result<ClusterBatches> {
        let batches = ClusterBatches::new(&self.labels, batch, seed);
        batches.map_err(|error| usage(format_args!("`objective.one_cluster`: {error}")))
    }

    /// Batches in which the rare biases of a class are more frequent.
    ///
    /// # Errors
    /// A usage error if no bias is named, or `most` is not valid.
    pub(crate) fn weighted(&self, most: f64, batch: usize, seed: u64) -> Result<WeightedSampler> {
        let bias = self.bias.as_ref();
        let bias = bias.ok_or_else(|| {
            usage("`objective.oversample` weighs images by a bias; name a categorical attribute with `objective.bias`")
        })?;
        let weights = bias_weights(&self.labels, &bias.values, most).map_err(usage)?;
        WeightedSampler::new(&weights, batch, seed).map_err(usage)
    }

    /// A batch with the classes of other training images, `indices`, that are classified beside it.
    pub(crate) fn with_classes(&self, batch: Batch, indices: &[usize]) -> Batch {
        let pick = |values: &[usize]| indices.iter().map(|&i| values[i]).collect();
        let batch = batch.with_indices("ce_labels", pick(&self.labels));
        match &self.bias {
            Some(bias) => batch.with_indices("ce_bias", pick(&bias.values)),
            None => batch,
        }
    }

    /// The inputs of the training images `indices`.
    pub(crate) fn of(&self, indices: &[usize]) -> Batch {
        let pick = |values: &[usize]| indices.iter().map(|&i| values[i]).collect();
        let mut batch = Batch::default()
            .with_indices("labels", pick(&self.labels))
            .with_indices("samples", indices.to_vec());
        if let Some(bias) = &self.bias {
            batch =
                batch.with_indices("bias", pick(&bias.values)).with_condition("prior", bias.prior.clone());
        }
        match &self.attribute {
            Some(attribute) if self.is_condition => batch.with_condition("z", attribute.select(indices)),
            _ => batch,
        }
    }
}

/// The cluster of each image by the values of an attribute.
///
/// # Errors
/// A usage error if there are fewer images or values than clusters.
fn clusters(name: &str, values: &Matrix, count: usize, seed: u64) -> Result<Vec<usize>> {
    let expected = match KMeansConfig::new(count).fit(values, &mut stream(seed, Purpose::Objective, 0)) {
        Ok(found) => return Ok(found.labels),
        Err(Error::Parameter { .. }) => format!("expected 1 to {}, the number of images", values.rows()),
        Err(Error::Degenerate { .. }) => format!("and `{name}` has fewer different values; lower it"),
        Err(other) => return Err(other).context("clustering the values of the attribute"),
    };
    Err(usage_about(
        Subject::ObjectiveKey("clusters"),
        format!("`objective.clusters` is {count}, {expected}"),
    ))
}

/// The clusters of images that are alike in some columns of an attribute.
///
/// # Errors
/// A usage error if `count` is 0, or a value is neither 0 nor 1.
fn top_clusters(name: &str, values: &Matrix, count: usize) -> Result<AttributeClusters> {
    attribute_clusters(values, count).map_err(|error| {
        let text = match error {
            Error::Shape { found, .. } => format!(
                "`objective.top_attributes` takes columns of 0 and 1, and `{name}` has {found}; name another with \
                 `objective.condition`"
            ),
            Error::Parameter { value, reason, .. } => {
                format!("`objective.top_attributes` is {value}, {reason}")
            }
            other => other.to_string(),
        };
        usage_about(Subject::ObjectiveKey("top_attributes"), text)
    })
}

impl Bias {
    fn new(name: &str, train: &Dataset, labels: &[usize]) -> Result<Self> {
        let reason = match train.conditions.get(name) {
            Some(Condition::Categorical { values, names }) => {
                let classes = labels.iter().max().map_or(0, |label| label + 1);
                let prior = bias_prior(labels, values, classes.max(train.classes.len()), names.len())?;
                return Ok(Self { values: values.clone(), count: names.len(), prior });
            }
            Some(Condition::Numeric(_)) => format!(
                "`{name}` is numeric and a bias is categorical; name another, or, if it is a column of a table whose numbers are names, \
                 list it in `data.table.categories`"
            ),
            None => format!("the data set has no attribute `{name}` to be the bias"),
        };
        Err(unknown(Some(BIAS), &reason, train, is_categorical))
    }
}

/// Checks that an objective has the bias that it needs, with as many values as it has domains.
fn check_bias(section: &ObjectiveSection, bias: Option<&Bias>, train: &Dataset) -> Result<()> {
    let name = &section.name;
    let Some(bias) = bias else {
        let needs_bias = loss::spec(name).is_ok_and(|spec| spec.needs("bias"));
        let reason =
            format!("`{name}` needs a bias; set `objective.bias` to a categorical attribute of the data set");
        return if needs_bias { Err(unknown(None, &reason, train, is_categorical)) } else { Ok(()) };
    };
    let (values, domains) = (bias.count, section.parameters.get("domains").and_then(toml::Value::as_integer));
    match domains.filter(|&domains| usize::try_from(domains).ok() != Some(values)) {
        None => Ok(()),
        Some(domains) => {
            let bias = section.bias.as_deref().unwrap_or_default();
            let text = format!(
                "`objective.domains` is {domains}, and `{bias}` has {values} values; set it to {values}"
            );
            Err(usage_about(Subject::ObjectiveKey("domains"), text))
        }
    }
}

fn is_categorical(condition: &Condition) -> bool {
    matches!(condition, Condition::Categorical { .. })
}

/// The usage error of a key of the objective that names no attribute which fits.
fn unknown(
    key: Option<&'static str>,
    reason: &str,
    train: &Dataset,
    fits: impl Fn(&Condition) -> bool,
) -> anyhow::Error {
    let known: Vec<&str> =
        train.conditions.iter().filter(|(_, c)| fits(c)).map(|(name, _)| name.as_str()).collect();
    let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
    let text = format!("{reason}; known: {known}");
    match key {
        Some(key) => usage_about(Subject::ObjectiveKey(key), text),
        None => usage(text),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::collections::BTreeMap;

    use simile_core::data::Images;

    use super::*;
    use crate::exit::Usage;

    #[test]
    fn an_objective_that_needs_a_bias_is_refused_without_one_or_with_another_number_of_values() {
        let images = Images::new(1, 1, 3, (0..12).collect()).unwrap();
        let classes = ["one", "two"].map(str::to_owned).to_vec();
        let names = ["north", "south", "west"].map(str::to_owned).to_vec();
        let train = Dataset::new(images, vec![0, 1, 0, 1], classes).unwrap();
        let sites = Condition::Categorical { values: vec![0, 1, 2, 0], names };
        let train = train.with_condition("site", sites).unwrap();
        let of = |objective: &str| {
            let section: ObjectiveSection = toml::from_str(objective).unwrap();
            Context::new(&section, &train, 0).map_or_else(|error| error.to_string(), |_| String::new())
        };
        let mut needy = Vec::new();
        for spec in loss::specs().filter(|spec| spec.needs("bias")) {
            needy.push(spec.name);
            let condition = if spec.needs("z") { "condition = \"site\"" } else { "" };
            let error = of(&format!("name = \"{}\"\n{condition}", spec.name));
            assert!(error.contains("set `objective.bias` to") && error.contains("known: site"), "{error}");
            assert_eq!(of(&format!("name = \"{}\"\nbias = \"site\"\n{condition}", spec.name)), "");
        }
        for name in ["biasbal", "biascon", "di", "end"] {
            assert!(needy.contains(&name), "{name}: {needy:?}");
        }
        let domains = |count: usize| of(&format!("name = \"di\"\nbias = \"site\"\ndomains = {count}"));
        assert_eq!(domains(3), "");
        for wrong in [2, 4] {
            let error = domains(wrong);
            assert!(error.contains("`site` has 3 values; set it to 3"), "{error}");
        }
        assert_eq!(of("name = \"nt-xent\""), "");
    }

    /// The line of an error is that of the key. The line of `bias` was given for an error that asks for another `domains`.
    #[test]
    fn an_attribute_that_is_refused_comes_with_the_key_that_names_it() {
        let images = Images::new(1, 1, 3, (0..12).collect()).unwrap();
        let train = Dataset::new(images, vec![0, 1, 0, 1], vec!["one".into(), "two".into()]).unwrap();
        let sides =
            Condition::Categorical { values: vec![0, 0, 1, 1], names: vec!["left".into(), "right".into()] };
        let train = train.with_condition("side", sides).unwrap();
        let key = |objective: &str| {
            let section: ObjectiveSection = toml::from_str(objective).unwrap();
            let error = Context::new(&section, &train, 0).err().unwrap();
            match error.downcast::<Usage>().unwrap().subject {
                Some(Subject::ObjectiveKey(key)) => Some(key),
                _ => None,
            }
        };
        assert_eq!(key("name = \"fair-cclk\"\ncondition = \"site\""), Some("condition"));
        assert_eq!(key("name = \"fair-cclk\""), None, "the default stands in no recipe");
        assert_eq!(key("name = \"biasbal\"\nbias = \"site\""), Some("bias"));
        assert_eq!(key("name = \"biasbal\""), None, "there is no such key");
        assert_eq!(key("name = \"di\"\nbias = \"side\"\ndomains = 3"), Some("domains"));
    }

    /// Names of functions of the program were given, and the advice to set `condition` in place of a bias.
    #[test]
    fn values_that_an_attribute_lacks_are_said_by_the_key_that_asks_for_them() {
        let images = Images::new(1, 1, 3, (0..12).collect()).unwrap();
        let train = Dataset::new(images, vec![0, 1, 0, 1], vec!["one".into(), "two".into()]).unwrap();
        let ages = Matrix::column(&[20.0, 61.0, 35.0, 35.0]);
        let train = train.with_condition("age", Condition::Numeric(ages.into())).unwrap();
        for (objective, key, reason) in [
            (
                "fair-info-nce\"\nclusters = 5",
                "clusters",
                "`objective.clusters` is 5, expected 1 to 4, the number of",
            ),
            ("fair-info-nce\"\nclusters = 0", "clusters", "`objective.clusters` is 0, expected 1 to 4"),
            ("fair-info-nce\"\nclusters = 4", "clusters", "`objective.clusters` is 4, and `age` has fewer"),
            (
                "supcon\"\ntop_attributes = 0",
                "top_attributes",
                "`objective.top_attributes` is 0, expected at least 1",
            ),
            (
                "supcon\"\ntop_attributes = 1",
                "top_attributes",
                "takes columns of 0 and 1, and `age` has 20 in row 0",
            ),
            ("biasbal\"\nbias = \"age\"", "bias", "list it in `data.table.categories`"),
        ] {
            let section: ObjectiveSection =
                toml::from_str(&format!("condition = \"age\"\nname = \"{objective}")).unwrap();
            let error = Context::new(&section, &train, 0).err().unwrap().downcast::<Usage>().unwrap();
            assert!(error.to_string().contains(reason), "{error}");
            assert!(
                matches!(error.subject, Some(Subject::ObjectiveKey(named)) if named == key),
                "{objective}"
            );
        }
    }

    /// A representation of ImageNet has 21 GB.
    #[test]
    fn the_condition_is_no_copy_of_that_of_the_data_set() {
        let images = Images::new(1, 1, 3, (0..12).collect()).unwrap();
        let train = Dataset::new(images, vec![0, 1, 0, 1], vec!["one".into(), "two".into()]).unwrap();
        let given = Arc::new(Matrix::from_fn(4, 3, |i, j| (3 * i + j) as f64));
        let train = train.with_condition("prior", Condition::Numeric(Arc::clone(&given))).unwrap();
        let section = "name = \"kernel-decoupled-uniformity\"\ncondition = \"prior\"";
        let context = Context::new(&toml::from_str(section).unwrap(), &train, 0).unwrap();
        assert!(Arc::ptr_eq(&given, &context.condition().unwrap()));
    }

    #[test]
    fn an_objective_that_needs_no_condition_takes_none_unless_one_is_named() {
        let images = Images::new(1, 1, 3, (0..12).collect()).unwrap();
        let colours = Matrix::from_fn(4, 3, |i, j| (3 * i + j) as f64);
        let names = vec!["one".to_owned(), "two".to_owned()];
        let train = Dataset::new(images, vec![0, 1, 0, 1], names).unwrap();
        let train = train.with_condition("colour", Condition::Numeric(colours.clone().into())).unwrap();
        let z = |objective: &str| {
            let section: ObjectiveSection = toml::from_str(objective).unwrap();
            let context = Context::new(&section, &train, 0).unwrap();
            context.condition_groups(2, 2, 0).unwrap();
            let batch = context.of(&[0, 2]);
            batch.condition("any", "z", 2).ok().cloned()
        };
        let misspelt = toml::from_str("name = \"hardneg-cclk\"\ncondition = \"color\"").unwrap();
        let error = Context::new(&misspelt, &train, 0).err().unwrap().to_string();
        assert!(error.contains("`color`") && error.contains("known: colour"), "{error}");
        let misspelt = "name = \"nt-xent\"\ncondition = \"color\"\nneighbourhoods = 2";
        let refused = |train: &Dataset| {
            Context::new(&toml::from_str(misspelt).unwrap(), train, 0).err().unwrap().to_string()
        };
        let error = refused(&train);
        let words = "the data set has no `color`; name one with `objective.condition`; known: colour";
        assert!(error.starts_with("`objective.neighbourhoods`") && error.ends_with(words), "{error}");
        let error = refused(&Dataset { conditions: BTreeMap::new(), ..train.clone() });
        assert!(error.ends_with("the data set has no `color`; known: none"), "{error}");
        let of_both = Some(colours.select(&[0, 2]));
        assert_eq!(z("name = \"hardneg-cclk\""), None);
        assert_eq!(z("name = \"nt-xent\"\nneighbourhoods = 2"), None);
        assert_eq!(z("name = \"hardneg-cclk\"\ncondition = \"colour\""), of_both);
        for needy in ["fair-cclk", "weaksup-cclk", "kernel-decoupled-uniformity"] {
            assert_eq!(z(&format!("name = \"{needy}\"")), of_both, "{needy}");
        }
    }
}
