//! Code for data sets of picture files: annotations in the common layouts, and the decoding, resizing and caching of
//! pictures.

pub(in crate::data) mod annotations;
mod batches;
pub(in crate::data) mod cache;
pub(in crate::data) mod decode;
pub(in crate::data) mod features;
mod index;
mod layout;
pub(in crate::data) mod list;
pub(in crate::data) mod read;
mod records;
pub(in crate::data) mod resize;
pub(crate) mod space;
#[cfg(test)]
mod testing;
pub(in crate::data) mod uncached;
mod writer;
