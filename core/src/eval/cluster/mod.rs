//! Clusters of the conditioning variable, for the objectives that compare within or across clusters
//! (WeaklySup-InfoNCE, Fair-InfoNCE): k-means of numeric columns, and combinations of binary attributes.

pub mod attribute;
pub mod kmeans;

/// Renumbers ids in the order in which they first occur, so that equal partitions have equal ids, and returns the
/// number of ids.
pub(crate) fn rename_by_occurrence(ids: &mut [usize]) -> usize {
    let mut names = std::collections::BTreeMap::new();
    for id in ids.iter_mut() {
        let next = names.len();
        *id = *names.entry(*id).or_insert(next);
    }
    names.len()
}
