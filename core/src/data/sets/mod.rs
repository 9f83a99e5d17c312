//! Annotated sets of picture files.

pub mod bias_pairs;
pub mod celeba;
pub mod chexpert;
pub mod class_folders;
pub mod cub;
pub mod ut_zappos;
pub mod utkface;
pub mod waterbirds;
