//! Data sets: images of one size with a class each, and the attributes that an objective conditions on.
//!
//! Formats are parsed from bytes; the caller reads the files. Random values are drawn by a portable generator from
//! a seed given by the caller, so that the same seed gives the same pixels on every platform.
//!
//! | module | contents |
//! |---|---|
//! | [`idx`](formats::idx) | MNIST's file format |
//! | [`cifar`](formats::cifar) | the binary layout of CIFAR-10 and CIFAR-100 |
//! | [`colour_mnist`](synthetic::colour_mnist) | digits on coloured backgrounds; the condition is the colour |
//! | [`biased_mnist`](synthetic::biased_mnist) | digits whose background colour agrees with the class in a fraction ρ of cases |
//! | [`digits`](synthetic::digits) | digits drawn from strokes, without a download |
//! | [`attributes`](synthetic::attributes) | synthetic binary attributes, which encode the class or another attribute |
//! | [`stl10`](formats::stl10), [`imagenet32`](formats::imagenet32) | the binary layouts of two more |
//! | [`catalogue`] | metadata of picture files before they are opened |
//! | [`features`](formats::features), [`npy`](formats::npy) | features of another network as an attribute |
//! | [`lines`](formats::lines) | annotation files, with errors that name the line |
//! | [`ImageSet`] | the images of a data set, in memory or read when they are needed |
//! | `formats::picture` | PNG, JPEG and WebP; needs the feature `pictures` |
//! | [`resize`] | Pillow's resampling of 8-bit images |

pub mod catalogue;
mod condition;
mod dataset;
mod error;
pub mod formats;
mod image_set;
mod images;
pub mod resize;
pub mod synthetic;
mod transformed;

pub use catalogue::{Catalogue, Split};
pub use condition::Condition;
pub use dataset::Dataset;
use dataset::{check_labels, digit_names};
pub use error::{DatasetError, Result};
pub use image_set::{ImageFile, ImageSet, ImageSource};
pub use images::{ImageShape, Images};
