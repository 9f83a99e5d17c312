//! A batch larger than memory: the loss of the whole batch from chunks of it (gradient caching; Gao, Zhang, Han &
//! Callan, *Scaling Deep Contrastive Learning Batch Size under Memory Limited Setup*, 2021).
//!
//! ```text
//! 1  z_c = f(x_c) for every chunk c, without a graph
//! 2  the loss of all z, and its gradient g_c with respect to each z_c
//! 3  f(x_c) once more for every chunk, now with a graph; the gradients of sum(f(x_c) * g_c) add up over c
//! ```
//!
//! The result is that of one pass, not an approximation as accumulating the losses of small batches is, for twice the
//! forward work and the memory of one chunk. Batch norm is the exception: it takes its statistics from a chunk, as
//! distributed training does from each device, and its running averages move in both passes.

use burn::optim::{GradientsAccumulator, GradientsParams};
use burn::tensor::{Device, Tensor};
use rand::Rng;

use super::passes::Passes;
use super::state::TRAINED;
use super::{Method, Networks, StateReader, StateWriter, Views};
use crate::batch::Batch;
use crate::checkpoint::CheckpointError;
use crate::error::{Error, Result};
use crate::objective::{Evaluation, Objective};
use crate::optimizer::Optimizer;
use crate::train::Model;

/// One network and one objective as in [`Single`](super::Single), `chunk` samples at a time.
#[derive(Debug)]
pub struct Cached {
    model: Model,
    objective: Box<dyn Objective>,
    chunk: usize,
    pending: Vec<Chunk>,
}

/// Some samples with the gradients of the loss with respect to their projections.
#[derive(Debug)]
struct Chunk {
    views: Views,
    gradients: [Option<Tensor<2>>; 2],
}

impl Cached {
    /// A network at its random start; `chunk` samples, two views each, are in memory at once.
    ///
    /// # Errors
    /// A setting is out of range.
    pub fn new(
        networks: &Networks,
        objective: Box<dyn Objective>,
        chunk: usize,
        device: &Device,
        rng: &mut impl Rng,
    ) -> Result<Self> {
        objective.check()?;
        if chunk == 0 {
            return Err(Error::parameter("method.chunk", chunk, "expected 1 or more"));
        }
        Ok(Self { model: networks.init(device, rng)?, objective, chunk, pending: Vec::new() })
    }
}

impl Method for Cached {
    fn name(&self) -> &'static str {
        "cached"
    }

    fn model(&self) -> &Model {
        &self.model
    }

    fn loss(&mut self, views: &Views, context: Batch) -> Result<Tensor<1>> {
        let chunks = views.chunks(self.chunk);
        let project = |views| {
            let (a, b) = Passes::default().project(&self.model, views);
            (a.without_autodiff(), b.without_autodiff())
        };
        let (a, b): (Vec<_>, Vec<_>) = chunks.iter().map(project).unzip();
        let (a, b) = (Tensor::cat(a, 0), Tensor::cat(b, 0));
        let batch =
            context.with_tensor("logits", a.clone()).with_tensor("view_a", a).with_tensor("view_b", b);
        let Evaluation { loss, mut gradients, .. } = self.objective.evaluate(&batch)?;

        let of_a = match (gradients.remove("view_a"), gradients.remove("logits")) {
            (Some(view), Some(logits)) => Some(view + logits),
            (view, logits) => view.or(logits),
        };
        let whole = [of_a, gradients.remove("view_b")];
        if whole.iter().all(Option::is_none) {
            return Err(Error::Degenerate {
                reason: "the loss depends on no network".into(),
                remedy: "train with another objective, or with the method that it belongs to".into(),
            });
        }
        let mut start = 0;
        self.pending = chunks
            .into_iter()
            .map(|views| {
                let rows = start..start + views.samples();
                start = rows.end;
                let gradients = whole.clone().map(|whole| whole.map(|g| g.slice([rows.clone()])));
                Chunk { views, gradients }
            })
            .collect();
        Ok(loss)
    }

    fn descend(&mut self, _loss: Tensor<1>, optimizer: &mut Optimizer, learning_rate: f64) -> Result<()> {
        let mut sum = GradientsAccumulator::new();
        for Chunk { views, gradients } in std::mem::take(&mut self.pending) {
            sum.accumulate(&self.model, self.gradients(&views, gradients)?);
        }
        self.model = optimizer.step(learning_rate, self.model.clone(), sum.grads());
        Ok(())
    }

    fn save(&self, state: &mut StateWriter) -> Result<(), CheckpointError> {
        state.module(TRAINED, &self.model);
        Ok(())
    }

    fn restore(&mut self, state: &mut StateReader) -> Result<(), CheckpointError> {
        self.model = state.module(TRAINED, self.model.clone())?;
        Ok(())
    }
}

impl Cached {
    /// The gradients of the parameters, from those of a chunk's projections.
    fn gradients(&self, views: &Views, gradients: [Option<Tensor<2>>; 2]) -> Result<GradientsParams> {
        let mut passes = Passes::default();
        let (a, b) = passes.project(&self.model, views);
        let products = [a, b].into_iter().zip(gradients);
        let products = products.filter_map(|(z, g)| Some((z * g?.autodiff()).sum()));
        let Some(sum) = products.reduce(|sum, product| sum + product) else {
            return Ok(GradientsParams::new());
        };
        passes.gradients(&self.model, sum)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use burn::module::Module as _;

    use super::super::testing::{networks, rng, train, views};
    use super::super::{Single, StateWriter};
    use super::*;
    use crate::objective::{CrossEntropy, NtXent};
    use crate::optimizer::OptimizerConfig;
    use crate::optimizer::rules::Sgd;

    /// The parameters after one step of plain descent, which is linear in the gradient.
    fn descended(method: &mut dyn Method) -> (f32, Vec<f32>) {
        let context = Batch::default().with_indices("labels", vec![0, 1, 2, 0, 1]);
        let sgd = Sgd { learning_rate: 1.0, momentum: 0.0, ..Sgd::default() };
        let mut optimizer = Optimizer::new(OptimizerConfig::Sgd(sgd)).unwrap();
        let loss = method.loss(&views(5, 3), context).unwrap();
        let value = loss.clone().without_autodiff().into_scalar::<f32>();
        method.descend(loss, &mut optimizer, 1.0).unwrap();
        let features = method.model().valid().encoder.forward(views(5, 4).a.inner());
        (value, features.into_data().iter::<f32>().collect())
    }

    #[test]
    fn chunks_descend_as_one_pass_does() {
        let objectives: [fn() -> Box<dyn Objective>; 2] =
            [|| Box::new(NtXent::default()), || Box::new(CrossEntropy::default())];
        for objective in objectives {
            let device = Device::flex();
            let mut single = Single::new(&networks(3), objective(), &device, &mut rng(1)).unwrap();
            let (loss, expected) = descended(&mut single);
            for chunk in [1, 2, 5, 9] {
                let cached = Cached::new(&networks(3), objective(), chunk, &device, &mut rng(1));
                let (found, features) = descended(&mut cached.unwrap());
                assert!((found - loss).abs() < 1e-5, "{found} {loss}");
                let off = features.iter().zip(&expected).fold(0.0_f32, |m, (a, b)| m.max((a - b).abs()));
                assert!(off < 1e-4, "chunks of {chunk}: {off}");
            }
        }
    }

    #[test]
    fn a_loss_falls() {
        let mut method =
            Cached::new(&networks(3), Box::new(NtXent::default()), 4, &Device::flex(), &mut rng(1)).unwrap();
        assert!(super::super::testing::falls(&train(&mut method, &Batch::default(), 4)));
        assert!(method.save(&mut StateWriter::default()).is_ok());
    }
}
