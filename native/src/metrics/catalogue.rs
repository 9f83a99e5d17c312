//! Every metric but those of objectives: its title, and where it is used. A new one is a constant of `names.rs`, a line here, and a value
//! that `experiment/evaluate/probe` measures.

use super::names::{
    CLASS_MEAN, CLASS_WORST, CONDITION, CONDITION_ROC_AUC, CONDITION_TOP1, EFFECTIVE_RANK, MSE, R2, ROC_AUC,
    SILHOUETTE, TOP1, TOP5, UNBIASED, UNIFORMITY, WORST_GROUP, WORST_GROUP_BY,
};

/// The unit and the digits in which values are written.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Scale {
    /// From the value in files to the unit of the title.
    pub(super) factor: f64,
    /// Digits after the point.
    pub(super) digits: usize,
}

pub(super) const PERCENT: Scale = Scale { factor: 100.0, digits: 2 };

/// Values as they are in files.
pub(super) const fn plain(digits: usize) -> Scale {
    Scale { factor: 1.0, digits }
}

/// A metric of the class, or of the representation as a whole.
#[derive(Debug, PartialEq)]
pub(super) struct ClassMetric {
    pub(super) name: &'static str,
    /// With its unit.
    pub(super) title: &'static str,
    pub(super) scale: Scale,
    /// True if it is the share of all images that are classified correctly.
    is_share: bool,
    /// True if an encoder may be chosen by it; its largest value is the best.
    is_choosable: bool,
    /// True if tables of results show it.
    is_shown: bool,
}

impl ClassMetric {
    const fn new(name: &'static str, title: &'static str, scale: Scale) -> Self {
        Self { name, title, scale, is_share: false, is_choosable: false, is_shown: false }
    }

    const fn share(self) -> Self {
        Self { is_share: true, ..self }
    }

    const fn choosable(self) -> Self {
        Self { is_choosable: true, ..self }
    }

    const fn shown(self) -> Self {
        Self { is_shown: true, ..self }
    }
}

/// The order is that of tables and of messages: the most important metric comes first.
pub(super) static CLASS: [ClassMetric; 10] = [
    ClassMetric::new(TOP1, "Top-1 %", PERCENT).share().choosable().shown(),
    ClassMetric::new(TOP5, "Top-5 %", PERCENT).share().choosable(),
    ClassMetric::new(CLASS_MEAN, "Balanced accuracy %", PERCENT).choosable(),
    ClassMetric::new(CLASS_WORST, "Worst class %", PERCENT).choosable(),
    ClassMetric::new(UNBIASED, "Mean of groups %", PERCENT).choosable().shown(),
    ClassMetric::new(WORST_GROUP, "Worst group %", PERCENT).choosable().shown(),
    ClassMetric::new(ROC_AUC, "ROC-AUC %", PERCENT).choosable(),
    ClassMetric::new(EFFECTIVE_RANK, "Effective rank", plain(1)),
    ClassMetric::new(UNIFORMITY, "Uniformity", plain(3)),
    ClassMetric::new(SILHOUETTE, "Silhouette", plain(3)),
];

/// The quantity that a metric of an attribute is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Quantity {
    /// The share of the images whose value is named.
    Share,
    /// The area under the ROC curve.
    Area,
    RSquared,
    /// The error of a prediction.
    Error,
    /// An accuracy of the class, which is no leak of the attribute.
    OfClass,
}

/// A metric of an attribute: of the condition, or of one of `probe.also`.
#[derive(Debug, PartialEq)]
pub(super) struct AttributeMetric {
    /// The name for the condition; that for another attribute has the same end.
    pub(super) name: &'static str,
    /// The title before the name of the attribute, and after it, with the unit.
    pub(super) title: [&'static str; 2],
    pub(super) scale: Scale,
    pub(super) quantity: Quantity,
    is_shown: bool,
}

impl AttributeMetric {
    const fn new(name: &'static str, title: [&'static str; 2], scale: Scale, quantity: Quantity) -> Self {
        Self { name, title, scale, quantity, is_shown: false }
    }

    const fn shown(self) -> Self {
        Self { is_shown: true, ..self }
    }

    /// The end of its name, after that of the attribute.
    pub(super) fn ending(&self) -> &'static str {
        ending(self.name)
    }
}

/// In the order of tables, after the metrics of the class.
pub(super) static ATTRIBUTE: [AttributeMetric; 5] = [
    AttributeMetric::new(R2, ["Leak of ", ", R²"], plain(3), Quantity::RSquared).shown(),
    AttributeMetric::new(MSE, ["MSE of ", ""], plain(1), Quantity::Error).shown(),
    AttributeMetric::new(CONDITION_TOP1, ["Leak of ", " %"], PERCENT, Quantity::Share).shown(),
    AttributeMetric::new(CONDITION_ROC_AUC, ["Leak of ", ", ROC-AUC %"], PERCENT, Quantity::Area),
    AttributeMetric::new(WORST_GROUP_BY, ["Worst group by ", " %"], PERCENT, Quantity::OfClass),
];

/// The end of the name of a metric of the condition, after `condition`.
pub(super) fn ending(name: &'static str) -> &'static str {
    name.strip_prefix(CONDITION).unwrap_or(name)
}

/// The metrics by which an encoder may be chosen.
pub(crate) fn choosable() -> Vec<&'static str> {
    CLASS.iter().filter(|metric| metric.is_choosable).map(|metric| metric.name).collect()
}

/// True if a metric of the class is a share of the images.
pub(crate) fn is_share_of_class(name: &str) -> bool {
    CLASS.iter().any(|metric| metric.is_share && metric.name == name)
}

/// Metrics of the tables of results, where they were measured, the most important one first; files of results have all.
pub(crate) fn shown() -> Vec<&'static str> {
    let class_metrics = CLASS.iter().filter(|metric| metric.is_shown).map(|metric| metric.name);
    class_metrics.chain(ATTRIBUTE.iter().filter(|metric| metric.is_shown).map(|metric| metric.name)).collect()
}

/// The order of a metric in a table of all: those of the tables of results come first, the others by name.
pub(crate) fn order(metric: &str) -> (usize, &str) {
    let shown = shown();
    (shown.iter().position(|shown| *shown == metric).unwrap_or(shown.len()), metric)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_metrics_are_in_the_order_of_their_importance() {
        assert_eq!(
            shown(),
            ["top1", "unbiased", "worst_group", "condition_r2", "condition_mse", "condition_top1"]
        );
        let classes = ["top1", "top5", "class_mean", "class_worst", "unbiased", "worst_group", "roc_auc"];
        assert_eq!(choosable(), classes);
        let shares: Vec<&str> = choosable().into_iter().filter(|name| is_share_of_class(name)).collect();
        assert_eq!(shares, ["top1", "top5"]);
    }

    #[test]
    fn the_accuracy_comes_first() {
        let mut metrics = [CLASS_MEAN, CONDITION_TOP1, UNBIASED, UNIFORMITY, R2, TOP1];
        metrics.sort_by(|one, other| order(one).cmp(&order(other)));
        assert_eq!(metrics, [TOP1, UNBIASED, R2, CONDITION_TOP1, CLASS_MEAN, UNIFORMITY]);
    }

    #[test]
    fn metrics_of_the_condition_are_called_after_it() {
        let endings = ATTRIBUTE.each_ref().map(AttributeMetric::ending);
        assert_eq!(endings, ["_r2", "_mse", "_top1", "_roc_auc", "_worst_group"]);
    }
}
