//! Objectives: one file each, with the paper's equation, its symbols, and the differences from the released code.
//!
//! An objective is evaluated on a [`Batch`](batch::Batch) of named inputs and returns its loss together with the gradient with
//! respect to every differentiable input. [`loss`] hands that gradient to Burn's autodiff, so that an objective
//! fits into any training loop:
//!
//! ```
//! use burn::tensor::{Device, Distribution, Tensor};
//! use simile_core::kernel::Kernel;
//! use simile_core::loss::{self, CclkSettings, FairCclk, batch::Batch};
//! use simile_core::numeric::matrix::Matrix;
//!
//! # fn main() -> simile_core::error::Result<()> {
//! let device = Device::flex().autodiff();
//! let weight = Tensor::<2>::random([8, 4], Distribution::Default, &device).require_grad();
//! let image = Tensor::<2>::random([16, 8], Distribution::Default, &device);
//! let noise = Tensor::<2>::random([16, 8], Distribution::Default, &device) * 0.1;
//! let age = Matrix::from_fn(16, 1, |i, _| 20.0 + 3.0 * i as f64);
//!
//! let fair = FairCclk(CclkSettings { kernel: Kernel::rbf(5.0), lambda: 0.01, ..CclkSettings::default() });
//! let view_a = image.clone().matmul(weight.clone());
//! let view_b = (image + noise).matmul(weight.clone());
//! let batch = Batch::views(view_a, view_b).with_condition("z", age);
//!
//! let gradients = loss::loss(&fair, &batch)?.backward();
//! let step = weight.grad(&gradients).map(|g| g * 0.1);
//! assert!(step.is_some());
//! # Ok(())
//! # }
//! ```
//!
//! [`Objective::check`] compares the numbers of an objective with their ranges. [`build`] makes an objective from a name and JSON, for
//! settings from a file; [`ObjectiveConfig::of`] turns an objective into the setting that a [`Trainer`](crate::train::Trainer) takes.
//!
//! # An objective of your own
//!
//! An objective is a type with a description, a [`Spec`](spec::Spec), and the loss of a batch with its gradient. It derives `Serialize` of
//! `serde`, so that its numbers can be compared with their ranges. [`differentiate`] takes the gradient from Burn's autodiff,
//! [`pairwise::PairwiseLoss`] by the formula of most objectives; the page of [`pairwise`] has an example. [`build`] knows the objectives
//! of this crate alone; everything that takes a `&dyn Objective` or a `Box<dyn Objective>` takes yours too.
//!
//! ```
//! use burn::tensor::{Device, Tensor};
//! use serde::Serialize;
//! use simile_core::algorithm::Single;
//! use simile_core::error::{Error, Result};
//! use simile_core::loss::batch::Batch;
//! use simile_core::loss::spec::{Described, Parameter, Range, Spec, VIEW_A, VIEW_B};
//! use simile_core::loss::{Evaluation, Objective, differentiate};
//! use simile_core::nn::ModelConfig;
//! use simile_core::train::{Purpose, Trainer, TrainerConfig, stream};
//!
//! /// A factor times 1 less the mean cosine of the two views of a sample.
//! #[derive(Debug, Serialize)]
//! struct Alignment {
//!     factor: f64,
//! }
//!
//! impl Described for Alignment {
//!     const SPEC: Spec = Spec {
//!         name: "alignment",
//!         inputs: &[VIEW_A, VIEW_B],
//!         parameters: &[Parameter::number("factor", Range::Factor, 1.0, "factor of the loss")],
//!         ..Spec::BASE
//!     };
//! }
//!
//! impl Objective for Alignment {
//!     fn evaluate(&self, batch: &Batch) -> Result<Evaluation> {
//!         let a = batch.unit_rows(self.name(), "view_a")?;
//!         let b = batch.unit_rows(self.name(), "view_b")?;
//!         let (shape, shape_b) = (a.rows().dims(), b.rows().dims());
//!         if shape_b != shape {
//!             return Err(Error::shape("view_b", format!("{shape:?}"), format!("{shape_b:?}")));
//!         }
//!         let share = self.factor / shape[0] as f64;
//!         let loss = |[a, b]: [Tensor<2>; 2]| (a * b).sum() * -share + self.factor;
//!         let (loss, [grad_a, grad_b]) = differentiate([a.rows(), b.rows()], loss);
//!         Ok(Evaluation::new(loss)
//!             .with_gradient("view_a", a.pull_back(grad_a))
//!             .with_gradient("view_b", b.pull_back(grad_b)))
//!     }
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let device = Device::flex();
//! let rows = || Tensor::<2>::from_data([[3.0, 4.0], [1.0, 0.0]], &device);
//! let objective = Alignment { factor: 2.0 };
//! objective.check()?;
//! let loss_of_equal_views = objective.evaluate(&Batch::views(rows(), rows()))?.loss.into_scalar::<f32>();
//! assert!(loss_of_equal_views.abs() < 1e-5);
//! assert!(Alignment { factor: -1.0 }.check().is_err());
//!
//! let mut rng = stream(1, Purpose::Initialisation, 0);
//! let algorithm = Single::new(&ModelConfig::default(), Box::new(objective), &device, &mut rng)?;
//! let config = TrainerConfig { steps: 100, steps_per_epoch: 10, ..TrainerConfig::default() };
//! let trainer = Trainer::with_algorithm(config, Box::new(algorithm), &device)?;
//! # assert_eq!(trainer.step_number(), 0);
//! # Ok(())
//! # }
//! ```
//!
//! # Pages
//!
#![doc = include_str!("objectives.md")]
//!
//! # Degenerate input
//!
//! All objectives follow one rule: finite input never gives a NaN. Input of the wrong shape, and host input that is not
//! finite, is an error that names the input. NaN in a tensor passes through to the loss, because a step reads nothing
//! from its device; [`Trainer::mean_loss`](crate::train::Trainer::mean_loss) reports it. A zero embedding has cosine 0
//! with every row and gradient 0. An anchor for which the formula is not defined (no positive, no negative) contributes
//! the value stated on the objective's page, with gradient 0.

pub mod batch;
pub mod cclk;
mod condition;
pub mod debias;
#[cfg(test)]
pub(crate) mod finite_difference;
pub mod infonce;
pub(crate) mod logits;
mod objective;
pub mod pairwise;
mod reduction;
mod registry;
pub mod selfsup;
pub mod spec;
pub mod supervised;
pub mod uniformity;
mod views;

pub use cclk::{CclkSettings, FairCclk, HardNegCclk, TrainableFairCclk, TrainableKernel, WeakSupCclk};
pub use condition::ConditionedByKernel;
pub use debias::bias_balance::{BiasBalance, bias_prior};
pub use debias::biascon::BiasCon;
pub use debias::biascon_total::BiasConTotal;
pub use debias::domain_independent::{DomainIndependent, Inference};
pub use debias::end::End;
pub use debias::hsic::{RebiasHsic, unbiased_hsic};
pub use debias::jtt::{Jtt, error_set, error_weights};
pub use debias::learned_mixin::LearnedMixin;
pub use debias::lff::Lff;
pub use debias::lnl::{Lnl, LnlAdversary, reverse_gradient};
pub use debias::rubi::Rubi;
pub use debias::softcon::SoftCon;
pub use debias::wcl::{Correction, Distance, WclTriplet, WclWeightedDcl, WclWeightedInfoNce};
pub use infonce::cmc::Cmc;
pub use infonce::dc::{Dc, Dclw};
pub use infonce::dcl::Dcl;
pub use infonce::hcl::Hcl;
pub use infonce::info_nce::{FairInfoNce, InfoNce};
pub use infonce::moco::MoCo;
pub use infonce::nt_xent::NtXent;
pub use infonce::weaksup_info_nce::WeakSupInfoNce;
pub(crate) use logits::cross_entropies;
pub use objective::{Aux, Evaluation, Objective, Variant, differentiate, loss, with_representations};
pub use reduction::Reduction;
pub use registry::{ObjectiveConfig, build, input_kind, names, spec, specs};
pub use selfsup::barlow_twins::BarlowTwins;
pub use selfsup::byol::Byol;
pub use selfsup::swav::{Swav, SwavSinkhorn, sinkhorn};
pub use selfsup::vae::Vae;
pub use spec::Conditioning;
pub use supervised::contex::ConTeX;
pub use supervised::contex_clipped::ConTeXClipped;
pub use supervised::cross_entropy::CrossEntropy;
pub use supervised::generalised_cross_entropy::GeneralisedCrossEntropy;
pub use supervised::max_margin::MaxMargin;
pub use supervised::supcon::SupCon;
pub use uniformity::align_uniform::AlignUniform;
pub use uniformity::decoupled_uniformity::DecoupledUniformity;
pub use uniformity::kernel_decoupled_uniformity::KernelDecoupledUniformity;
