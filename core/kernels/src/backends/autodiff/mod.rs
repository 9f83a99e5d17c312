//! Gradients, implemented once for all backends, whose traits of gradients (`ConvolutionGradients` and others) they call. Autodiff has
//! none of those traits: default bodies for it would be compiled for each backend and never run.

mod activation;
mod augmentation;
mod convolution;
mod normalisation;
mod pairs;
mod product;
mod record;
mod redundancy;
mod rows;
mod sinkhorn;
mod uniformity;
