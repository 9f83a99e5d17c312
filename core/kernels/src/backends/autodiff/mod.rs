//! Operations that record their gradient, implemented once for all backends. The gradient is computed by the backend below, with
//! its `ActivationGradients`, `NormalisationGradients` and `ConvolutionGradients`. Autodiff has none of these traits: default
//! bodies for it would be compiled for each backend and never run. `PairOps` and `RowOps` hold theirs, because programs that
//! derive one by hand call `pair_sums_backward`, `own_pair_sums_backward` and `unit_rows_backward` too.

mod activation;
mod augmentation;
mod convolution;
mod gemm;
mod normalisation;
mod pairs;
mod record;
mod redundancy;
mod rows;
mod sinkhorn;
mod uniformity;
