#![doc = include_str!("../README.md")]
// Without a backend, as `cargo package` builds it, operations have no bodies.
#![cfg_attr(
    not(any(feature = "flex", feature = "ndarray", feature = "cube")),
    allow(unused_variables, unused_imports)
)]

mod backends;
pub mod cpu;
#[cfg(feature = "cube")]
mod cube;
mod device;
mod launches;
mod ops;
mod pair_terms;
mod persistence;

pub use cpu::augment::{Colour, View, Views, augment_pixels};
pub use cpu::resample::Filter;
pub use device::{DeviceMemory, is_cpu, memory};
pub use launches::LaunchCounter;
pub use ops::activation::{ActivationGradients, ActivationOps, sigmoid, tanh};
pub use ops::augmentation::{AugmentationOps, augment};
pub use ops::convolution::{
    Affine, ChannelStatistics, ConvNormSettings, ConvolutionGradients, ConvolutionOps, Epilogue, Norm,
    SavedForBackward, Statistics, Windows, convolve, convolve_normalised, convolve_normalised_by,
    convolve_tanh_pool, max_pool, mean_pool,
};
pub use ops::gemm::{GemmOps, gemm};
pub use ops::normalisation::{NormalisationGradients, NormalisationOps, batch_norm_train};
pub use ops::optional::Optional;
pub use ops::pairs::{
    Comparison, EMPTY, LogSumExp, PairOps, PairSums, PairWeights, Pairs, Weight, log_sum_exps,
    own_log_sum_exps, similarities_at_once, tile_rows,
};
pub use ops::precision::is_half;
pub use ops::redundancy::{Redundancy, RedundancyOps};
pub use ops::rows::{RowOps, RowSoftmax, SMALLEST_NORM, SoftCrossEntropy, pull_back_unit_rows, unit_rows};
pub use ops::sinkhorn::{SinkhornOps, sinkhorn};
pub use ops::uniformity::{UniformityOps, uniformity, uniformity_with_gradient};
pub use persistence::keep_compiled_kernels;
