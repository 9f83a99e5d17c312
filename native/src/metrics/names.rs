//! Names of metrics in files of results. Their titles and the tables in which they stand are in [`catalogue`](super::catalogue);
//! [`metric`](super::metric) makes those of further attributes and of other probes from them.

/// Accuracy of the linear probe on the evaluation images, 0..1.
pub(crate) const TOP1: &str = "top1";
/// The share of the images whose class is among the first five of the probe.
pub(crate) const TOP5: &str = "top5";
/// Area under the ROC curve of the second class, where there are two.
pub(crate) const ROC_AUC: &str = "roc_auc";
/// Accuracy averaged over the classes.
pub(crate) const CLASS_MEAN: &str = "class_mean";
/// Accuracy of the class where it is least.
pub(crate) const CLASS_WORST: &str = "class_worst";
/// Accuracy averaged over the cells of class × condition.
pub(crate) const UNBIASED: &str = "unbiased";
/// Accuracy of the cell of class × condition where it is least.
pub(crate) const WORST_GROUP: &str = "worst_group";
pub(crate) const EFFECTIVE_RANK: &str = "effective_rank";
/// Uniformity of the features on the unit sphere.
pub(crate) const UNIFORMITY: &str = "uniformity";
/// Silhouette of the classes.
pub(crate) const SILHOUETTE: &str = "silhouette";

/// The start of the names of metrics of the condition. Those of another attribute begin with its name.
pub(crate) const CONDITION: &str = "condition";
/// R² of the ridge regression of the condition, relative to predicting the mean: 1 for a perfect prediction, 0 for none.
pub(crate) const R2: &str = "condition_r2";
/// Squared error of the same regression, mean over its columns, in its own units squared.
pub(crate) const MSE: &str = "condition_mse";
/// Accuracy of the linear probe of a categorical condition, 0..1.
pub(crate) const CONDITION_TOP1: &str = "condition_top1";
/// The area under the ROC curve of a condition of two values.
pub(crate) const CONDITION_ROC_AUC: &str = "condition_roc_auc";
/// [`WORST_GROUP`], by the values of an attribute instead of the condition.
pub(crate) const WORST_GROUP_BY: &str = "condition_worst_group";

/// The name of the probe of the class among the fits of probes. That of an attribute is the start of the names of its metrics.
pub(crate) const CLASS_PROBE: &str = "class";

/// The name of the row of predicting the most frequent value and the mean.
pub(crate) const BASE_RATE: &str = "Chance";
