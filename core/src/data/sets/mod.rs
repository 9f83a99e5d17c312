//! Sets of picture files: what their annotations say of each picture.

pub mod bias_pairs;
pub mod celeba;
pub mod chexpert;
pub mod class_folders;
pub mod cub;
pub mod ut_zappos;
pub mod utkface;
pub mod waterbirds;
