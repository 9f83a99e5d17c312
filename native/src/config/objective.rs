//! `[objective]`: the objective to minimise, and the attributes that it uses.

use serde::{Deserialize, Serialize};
use simile_core::loss::spec::Spec;
use simile_core::loss::{self, Conditioning, ObjectiveConfig};
use toml::Table;

/// `[objective]`: the objective to minimise and its condition.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct ObjectiveSection {
    pub(crate) name: String,
    /// The form of the objective; the default one if absent.
    #[serde(default, rename = "variant", skip_serializing_if = "Option::is_none")]
    pub(crate) form: Option<String>,
    /// The attribute that is the condition `z`. By default `colour` for an objective that
    /// needs one, and none for others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) condition: Option<String>,
    /// Number of k-means clusters of the condition that replace the classes as `labels`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) clusters: Option<usize>,
    /// Number of binary columns of the condition, those of largest entropy: groups of samples that agree in them
    /// replace the classes as `labels`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) top_attributes: Option<usize>,
    /// Number of groups in each batch, each of samples with the nearest conditions; shuffled if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) neighbourhoods: Option<usize>,
    /// The categorical attribute that is the `bias`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) bias: Option<String>,
    /// Largest ratio of two weights with which samples are drawn, with replacement; a weight is `1 / p(bias | class)`
    /// (BiasCon: 10, on CelebA 30 or 50). Batches are shuffled if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) oversample: Option<f64>,
    /// True if all images of a batch are of one cluster, or of one class where there are none. Batches are shuffled if false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) one_cluster: bool,
    /// The parameters of the objective: temperature, lambda, kernel, ...
    #[serde(flatten)]
    pub(crate) parameters: Table,
}

/// The choice of the images of a batch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum BatchRule {
    Shuffled,
    ConditionGroups(usize),
    Oversampled(f64),
    OneCluster,
}

/// The attribute that objectives and probes take by default.
pub(super) fn default_condition() -> String {
    "colour".into()
}

impl ObjectiveSection {
    /// The keys beside the parameters of the objective.
    pub(crate) const OWN_KEYS: [&str; 9] = [
        "bias",
        "clusters",
        "condition",
        "name",
        "neighbourhoods",
        "one_cluster",
        "oversample",
        "top_attributes",
        "variant",
    ];

    /// The attribute for clusters and condition groups: `condition`, or the default one.
    pub(crate) fn attribute_or_default(&self) -> String {
        self.condition.clone().unwrap_or_else(default_condition)
    }

    /// The attribute that the objective gets as `z`.
    pub(crate) fn condition(&self) -> Option<String> {
        (self.condition.is_some() || self.conditioning() == Conditioning::Given)
            .then(|| self.attribute_or_default())
    }

    /// True if it makes groups of images by the attribute.
    pub(crate) fn groups_by_condition(&self) -> bool {
        [self.clusters, self.top_attributes, self.neighbourhoods].iter().any(Option::is_some)
    }

    /// True if `condition` has an effect: the objective takes an attribute as `z`, or groups of images are made by it.
    pub(crate) fn reads_condition(&self) -> bool {
        self.conditioning() != Conditioning::None || self.groups_by_condition()
    }

    /// The choice of the images of a batch.
    ///
    /// # Errors
    /// Several keys choose them.
    pub(crate) fn batch_rule(&self) -> Result<BatchRule, String> {
        let rules = [
            ("neighbourhoods", self.neighbourhoods.map(BatchRule::ConditionGroups)),
            ("oversample", self.oversample.map(BatchRule::Oversampled)),
            ("one_cluster", self.one_cluster.then_some(BatchRule::OneCluster)),
        ];
        let mut written = rules.into_iter().filter_map(|(key, rule)| Some((key, rule?)));
        match (written.next(), written.next()) {
            (None, _) => Ok(BatchRule::Shuffled),
            (Some((_, rule)), None) => Ok(rule),
            (Some((one, _)), Some((other, _))) => Err(format!(
                "`objective.{one}` and `objective.{other}` both choose the images of a batch; leave one out"
            )),
        }
    }

    /// True if images of like values of the condition are positives, so that the embedding keeps it.
    pub(crate) fn keeps_condition(&self) -> bool {
        loss::spec(&self.name).is_ok_and(|spec| spec.keeps_condition)
    }

    /// The source of the objective's condition.
    pub(crate) fn conditioning(&self) -> Conditioning {
        loss::spec(&self.name).map_or(Conditioning::None, Spec::conditioning)
    }

    /// The configuration of the objective for core.
    ///
    /// # Errors
    /// A parameter cannot be represented in JSON.
    pub(crate) fn config(&self) -> Result<ObjectiveConfig, String> {
        let parameters = serde_json::to_value(&self.parameters).map_err(|error| error.to_string())?;
        let parameters = parameters.as_object().cloned().unwrap_or_default();
        Ok(ObjectiveConfig { name: self.name.clone(), variant: self.form.clone(), parameters })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_own_keys_are_all_that_are_no_parameter() {
        let (word, count) = (Some("a".to_owned()), Some(2));
        let whole = ObjectiveSection {
            name: "nt-xent".into(),
            form: word.clone(),
            condition: word.clone(),
            clusters: count,
            top_attributes: count,
            neighbourhoods: count,
            bias: word,
            oversample: Some(10.0),
            one_cluster: true,
            parameters: Table::new(),
        };
        let mut keys: Vec<String> = Table::try_from(whole).unwrap().keys().cloned().collect();
        keys.sort();
        assert_eq!(keys, ObjectiveSection::OWN_KEYS);
    }
}
