//! What data sets of picture files share: annotations of the layouts that are common, and pictures that are decoded, resized
//! and kept.

pub(in crate::data) mod annotations;
pub(in crate::data) mod cache;
pub(in crate::data) mod class_folders;
pub(in crate::data) mod decode;
pub(in crate::data) mod features;
pub(in crate::data) mod read;
pub(in crate::data) mod resize;
