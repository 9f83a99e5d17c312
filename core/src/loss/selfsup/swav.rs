//! SwAV: each view predicts the soft cluster assignment of the other views.
//!
//! ```text
//! L = - 1/|A| sum_{c in A} 1/(V-1) sum_{v != c} 1/b sum_i sum_k q_ik^c log softmax_k(s_ik^v)
//! s_ik^v = <z_i^v, p_k> / temperature,   q^c = Sinkhorn(<z^c, p>/epsilon)
//! swav-sinkhorn  q = Sinkhorn(s/epsilon)
//! ```
//!
//! with unit rows `z^v`, `[b, d]`, of `V` views, `view_a`, `view_b`, `view_c`, ..., `prototypes` `p`, `[K, d]`, as
//! unit rows, and the set `A` of views that are assigned (`crops_for_assign`, the first two). Caron et al.,
//! *Unsupervised Learning of Visual Features by Contrasting Cluster Assignments* (2020), eq. 1 to 3.
//! Assignments carry no gradient.
//!
//! Sinkhorn's iterations scale the columns and rows of `exp(scores / epsilon)` alternately, so that prototypes
//! share the batch evenly and the assignment of each sample sums to 1; the last scaling is that of the samples. The
//! first iteration runs on logarithms here, so no `epsilon` overflows.
//!
//! A batch that is small compared with the number of prototypes cannot be spread over them. Earlier embeddings can
//! be assigned together with it: with `queue_0`, `queue_1`, ..., `[L, d]`, one for each assigned view, their scores
//! precede those of the batch, and only the assignments of the batch are used, as released. Rows of a queue are not
//! normalised again (they are stored with length one), and get no gradient. In a request file they are one input,
//! `queue`, `[views][L][d]`.
//!
//! Both variants are the released mean. Eq. 1 adds both directions, while released code divides by the number of assigned views:
//! for two views value and gradient are half of those of eq. 1.
//!
//! Released code also normalises the prototypes in place before the step and never projects their gradient. With variant
//! `released`, `prototypes` gets the gradient with respect to the normalised prototypes; with `paper`, the default, the gradient
//! with respect to the given prototypes, which is the same for prototypes given as unit rows. Defaults as published: temperature
//! 0.1, `epsilon` 0.05, 3 iterations, 3000 prototypes that are fixed in the first epoch.
//!
//! `swav-sinkhorn` computes only the assignment, for inspection: its input is `scores`, `[b, K]`, its output
//! `aux.assignments`; its loss is their sum, `b`, and has no gradient. Both are defined for every batch of at least
//! one sample and prototype.

use burn::tensor::Tensor;
use serde::{Deserialize, Serialize};
use simile_kernels::{SoftCrossEntropy, gemm};

use crate::error::{Error, Result};
use crate::loss::batch::Batch;
use crate::loss::objective::{Aux, Evaluation, Objective, Variant};
use crate::loss::spec::{
    Described, FURTHER_VIEWS, Family, Form, Head, Input, Parameter, Range, Spec, VIEW_A, VIEW_B,
};
use crate::loss::views::ManyViews;
use crate::numeric::unit_rows::UnitRows;

pub use simile_kernels::sinkhorn;

/// SwAV; see the [module](self). Inputs: `view_a`, `view_b`, `[b, d]`; `view_c`, `[b, d]`, optional; `prototypes`,
/// `[K, d]`; `queue_0`, `[L, d]`, optional.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Swav {
    /// Divisor of the cosines in the prediction, 1e-12 to 1e12.
    pub temperature: f64,
    /// Divisor of the cosines in the assignment, 1e-12 to 1e12; smaller is harder.
    pub epsilon: f64,
    /// Iterations of Sinkhorn's algorithm, 1 to 10,000.
    pub sinkhorn_iterations: usize,
    /// Indices of the assigned views, from 0.
    pub crops_for_assign: Vec<usize>,
    /// The definition of the gradient of the prototypes.
    pub variant: Variant,
}

impl Default for Swav {
    fn default() -> Self {
        Self {
            temperature: 0.1,
            epsilon: 0.05,
            sinkhorn_iterations: 3,
            crops_for_assign: vec![0, 1],
            variant: Variant::Paper,
        }
    }
}

impl Described for Swav {
    const SPEC: Spec = Spec {
        name: "swav",
        title: "SwAV",
        family: Family::Representation,
        summary: "soft clusters, which each view predicts of the others",
        work: "Caron et al., Unsupervised Learning of Visual Features by Contrasting Cluster Assignments, 2020, eq. 1 to 3",
        formula: "L = - 1/|A| sum_{c in A} 1/(V-1) sum_{v != c} 1/b sum_i sum_k q_ik^c log softmax_k(s_ik^v)\n\
            s_ik^v = <z_i^v, p_k> / temperature,   q^c = Sinkhorn(<z^c, p>/epsilon)",
        symbols: "A the assigned views, V the number of views, z^v their rows, p the prototypes",
        inputs: &[
            VIEW_A,
            VIEW_B,
            FURTHER_VIEWS,
            Input::embeddings("prototypes", "[K, d]", "the centres of the clusters"),
            Input::rows(
                "queue_0",
                "[L, d]",
                "earlier embeddings of the first assigned view; queue_1 and so on for the others",
            )
            .optional(),
        ],
        algorithms: &["swav"],
        variants: &[
            Form::new("paper", "the gradient of the prototypes as given"),
            Form::new("released", "the gradient of the normalised prototypes"),
        ],
        detached: true,
        parameters: &[
            Parameter::temperature(0.1),
            EPSILON,
            SINKHORN_ITERATIONS,
            Parameter::structured(
                "crops_for_assign",
                "[0, 1]",
                "views whose codes are computed, a list of integers from 0",
            ),
        ],
        module: module_path!(),
        ..Spec::BASE
    };
}

impl Objective for Swav {
    fn check(&self) -> Result<()> {
        if self.crops_for_assign.is_empty() {
            return Err(Error::parameter("crops_for_assign", "empty", "expected at least one view, from 0"));
        }
        Self::SPEC.check(self)
    }

    fn evaluate(&self, batch: &Batch) -> Result<Evaluation> {
        let ManyViews { views, size } = ManyViews::of(batch, self.name())?;
        self.check_views(views.len())?;
        let prototypes = batch.tensor(self.name(), "prototypes")?;
        check_prototypes(&prototypes, views[0].1.rows().dims()[1])?;
        let prototypes = UnitRows::normalise(prototypes);

        let scores: Vec<Tensor<2>> =
            views.iter().map(|(_, view)| gemm(view.rows(), prototypes.rows().transpose())).collect();
        let queues = self.queues(batch, prototypes.rows())?;
        let assignments: Vec<(usize, Tensor<2>)> = (self.crops_for_assign.iter().zip(queues))
            .map(|(&v, queue)| (v, self.assign(scores[v].clone(), queue)))
            .collect();

        let share = 1.0 / (size * self.crops_for_assign.len() * (views.len() - 1)) as f64;
        let mut loss = prototypes.rows().zeros_like().sum();
        let mut grad_prototype_rows = prototypes.rows().zeros_like();
        let mut gradients = Vec::new();
        // The printed sums in the other order: the cross-entropy is linear in its target, so view `v` predicts the sum of the codes of
        // all `c != v` at once. `grad_logits` is with respect to `scores / temperature`.
        for (v, ((name, view), scores)) in views.iter().zip(scores).enumerate() {
            let targets = assignments.iter().filter(|(c, _)| *c != v).map(|(_, q)| q.clone());
            let Some(target) = targets.reduce(|sum, q| sum + q) else {
                gradients.push((name, view.rows().zeros_like()));
                continue;
            };
            let SoftCrossEntropy { losses, grad_logits } =
                SoftCrossEntropy::new(scores, target, self.temperature);
            let factor = share / self.temperature;
            loss = loss + losses.sum() * share;
            grad_prototype_rows =
                grad_prototype_rows + gemm(grad_logits.clone().transpose(), view.rows() * factor);
            gradients.push((name, view.pull_back(gemm(grad_logits, prototypes.rows()) * factor)));
        }

        let grad_prototypes = match self.variant {
            Variant::Paper if !batch.has_unit_rows() => prototypes.pull_back(grad_prototype_rows),
            _ => grad_prototype_rows,
        };
        let mut evaluation = Evaluation::new(loss).with_gradient("prototypes", grad_prototypes);
        for (name, gradient) in gradients {
            evaluation = evaluation.with_gradient(name, gradient);
        }
        for (v, assignment) in assignments {
            let letter = views[v].0.trim_start_matches("view_");
            evaluation = evaluation.with_aux(&format!("assignments_{letter}"), Aux::Tensor(assignment));
        }
        Ok(evaluation.with_aux("prototypes_normalised", Aux::Tensor(prototypes.rows())))
    }
}

impl Swav {
    /// The scores of the queue of each assigned view, if there are queues.
    fn queues(&self, batch: &Batch, prototypes: Tensor<2>) -> Result<Vec<Option<Tensor<2>>>> {
        let assigned = self.crops_for_assign.len();
        let is_there = |at: usize| batch.is_given(&queue_name(at));
        if is_there(assigned) {
            let expected = format!("{assigned}, one for each assigned view");
            return Err(Error::shape("queue", expected, "more"));
        }
        if !(0..assigned).any(is_there) {
            return Ok(vec![None; assigned]);
        }
        let [_, width] = prototypes.dims();
        let scores = |at| {
            let queue = batch.tensor(self.name(), &queue_name(at))?;
            match queue.dims() {
                [rows, columns] if rows > 0 && columns == width => {
                    Ok(Some(gemm(queue, prototypes.clone().transpose())))
                }
                [rows, columns] => {
                    let expected = format!("at least one row of {width}");
                    Err(Error::shape(&queue_name(at), expected, format!("{rows}x{columns}")))
                }
            }
        };
        (0..assigned).map(scores).collect()
    }

    /// The assignments of a batch with scores `[b, K]`, together with those of its queue.
    fn assign(&self, scores: Tensor<2>, queue: Option<Tensor<2>>) -> Tensor<2> {
        let (epsilon, iterations) = (self.epsilon, self.sinkhorn_iterations);
        match queue {
            None => sinkhorn(scores, epsilon, iterations),
            Some(queue) => {
                let ([earlier, _], [size, _]) = (queue.dims(), scores.dims());
                sinkhorn(Tensor::cat(vec![queue, scores], 0), epsilon, iterations)
                    .slice([earlier..earlier + size])
            }
        }
    }

    fn check_views(&self, views: usize) -> Result<()> {
        match self.crops_for_assign.iter().find(|&&v| v >= views) {
            Some(v) => Err(Error::parameter(
                "crops_for_assign",
                v,
                &format!("but the batch holds {views} views, from 0"),
            )),
            None => Ok(()),
        }
    }
}

/// The name of the input with earlier embeddings of an assigned view, counted from 0.
pub(crate) fn queue_name(at: usize) -> String {
    format!("queue_{at}")
}

/// The assignment only; see the [module](self). Inputs: `scores`, `[b, K]`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SwavSinkhorn {
    /// Divisor of the scores, 1e-12 to 1e12; smaller is harder.
    pub epsilon: f64,
    /// Iterations, 1 to 10,000.
    pub sinkhorn_iterations: usize,
}

impl Default for SwavSinkhorn {
    fn default() -> Self {
        Self { epsilon: 0.05, sinkhorn_iterations: 3 }
    }
}

impl Described for SwavSinkhorn {
    const SPEC: Spec = Spec {
        name: "swav-sinkhorn",
        title: "SwAV's assignment",
        family: Family::Representation,
        summary: "scores of soft clusters; the assignment alone",
        work: "Caron et al., Unsupervised Learning of Visual Features by Contrasting Cluster Assignments, 2020",
        formula: "q = Sinkhorn(s/epsilon)",
        symbols: "s the scores",
        inputs: &[Input::rows("scores", "[b, K]", "the score of each cluster")],
        head: Head::Other,
        parameters: &[EPSILON, SINKHORN_ITERATIONS],
        module: module_path!(),
        ..Spec::BASE
    };
}

impl Objective for SwavSinkhorn {
    fn evaluate(&self, batch: &Batch) -> Result<Evaluation> {
        let scores = batch.tensor(self.name(), "scores")?;
        let [rows, columns] = scores.dims();
        if rows == 0 || columns == 0 {
            return Err(Error::shape(
                "scores",
                "at least one row and one column",
                format!("{rows}x{columns}"),
            ));
        }
        let assignments = sinkhorn(scores, self.epsilon, self.sinkhorn_iterations);
        let sum = assignments.clone().sum();
        Ok(Evaluation::new(sum).with_aux("assignments", Aux::Tensor(assignments)))
    }
}

/// Sums of rows and columns have long stopped to change.
const MOST_ITERATIONS: u64 = 10_000;

/// The parameter `epsilon` of both objectives.
const EPSILON: Parameter = Parameter::number(
    "epsilon",
    Range::Moderate,
    0.05,
    "divisor of the scores in the assignment; smaller is harder",
);
/// The parameter `sinkhorn_iterations` of both objectives.
const SINKHORN_ITERATIONS: Parameter =
    Parameter::integer("sinkhorn_iterations", [1, MOST_ITERATIONS], 3, "iterations of Sinkhorn's algorithm");

fn check_prototypes(prototypes: &Tensor<2>, width: usize) -> Result<()> {
    match prototypes.dims() {
        [rows, columns] if rows > 0 && columns == width => Ok(()),
        [rows, columns] => Err(Error::shape(
            "prototypes",
            format!("at least one row of {width}"),
            format!("{rows}x{columns}"),
        )),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::loss::finite_difference::{place, random, read};
    use crate::numeric::matrix::Matrix;

    fn unit(rows: &Matrix) -> Matrix {
        read(UnitRows::normalise(place(rows)).rows())
    }

    fn products(a: &Matrix, b: &Matrix) -> Matrix {
        let of = |i, j| a.row(i).iter().zip(b.row(j)).map(|(x, y)| x * y).sum();
        Matrix::from_fn(a.rows(), b.rows(), of)
    }

    /// `distributed_sinkhorn` of the released code on the scores of a queue and a batch; the batch's rows.
    fn released(queue: &Matrix, batch: &Matrix, epsilon: f64, iterations: usize) -> Matrix {
        let (n, k) = (queue.rows() + batch.rows(), batch.columns());
        let score = |i: usize, j: usize| {
            if i < queue.rows() { queue[(i, j)] } else { batch[(i - queue.rows(), j)] }
        };
        let mut q = Matrix::from_fn(n, k, |i, j| (score(i, j) / epsilon).exp());
        for _ in 0..iterations {
            let sums: Vec<f64> = (0..k).map(|j| (0..n).map(|i| q[(i, j)]).sum()).collect();
            q = Matrix::from_fn(n, k, |i, j| q[(i, j)] / sums[j] / k as f64);
            let sums: Vec<f64> = q.iter_rows().map(|row| row.iter().sum()).collect();
            q = Matrix::from_fn(n, k, |i, j| q[(i, j)] / sums[i] / n as f64);
        }
        Matrix::from_fn(batch.rows(), k, |i, j| q[(i + queue.rows(), j)] * n as f64)
    }

    /// The loss for fixed assignments.
    fn loss(
        [a, b]: [&Matrix; 2],
        prototypes: &Matrix,
        [targets_a, targets_b]: [&Matrix; 2],
        temperature: f64,
    ) -> f64 {
        let prototypes = unit(prototypes);
        let predicted = |view: &Matrix, target: &Matrix| {
            let scores = products(&unit(view), &prototypes);
            let rows = scores.iter_rows().zip(target.iter_rows()).map(|(scores, target)| {
                let sum: f64 = scores.iter().map(|s| (s / temperature).exp()).sum();
                scores.iter().zip(target).map(|(s, q)| q * (sum.ln() - s / temperature)).sum::<f64>()
            });
            rows.sum::<f64>() / view.rows() as f64
        };
        (predicted(b, targets_a) + predicted(a, targets_b)) / 2.0
    }

    #[test]
    fn a_queue_is_assigned_with_the_batch_as_released() {
        const STEP: f64 = 1e-6;
        let objective = Swav { epsilon: 0.3, temperature: 0.4, ..Swav::default() };
        let [a, b, p] = [(4, 1), (4, 2), (5, 3)].map(|(rows, seed)| read(random(rows, 3, seed)));
        let queues = [6, 7].map(|seed| unit(&read(random(8, 3, seed))));
        let batch = Batch::views(place(&a), place(&b)).with_tensor("prototypes", place(&p));
        let queued =
            batch.clone().with_tensor("queue_0", place(&queues[0])).with_tensor("queue_1", place(&queues[1]));
        let [targets_a, targets_b] = [(&a, &queues[0]), (&b, &queues[1])].map(|(view, queue)| {
            released(&products(queue, &unit(&p)), &products(&unit(view), &unit(&p)), 0.3, 3)
        });
        let evaluation = objective.evaluate(&queued).unwrap();
        for (name, expected) in [("assignments_a", &targets_a), ("assignments_b", &targets_b)] {
            let Aux::Tensor(assignments) = evaluation.aux[name].clone() else { unreachable!() };
            let off = (assignments - place(expected)).abs().max().into_scalar::<f64>();
            assert!(off < 1e-12, "{name}: {off}");
        }
        let queued_loss = read(evaluation.loss.unsqueeze())[(0, 0)];
        assert!((queued_loss - loss([&a, &b], &p, [&targets_a, &targets_b], 0.4)).abs() < 1e-12);
        let without = read(objective.evaluate(&batch).unwrap().loss.unsqueeze())[(0, 0)];
        assert!((queued_loss - without).abs() > 1e-3, "{queued_loss} {without}");

        for (at, name) in ["view_a", "view_b", "prototypes"].into_iter().enumerate() {
            let gradient = read(evaluation.gradients[name].clone());
            for entry in 0..gradient.data().len() {
                let moved = |step: f64| {
                    let mut inputs = [a.clone(), b.clone(), p.clone()];
                    inputs[at].data_mut()[entry] += step;
                    loss([&inputs[0], &inputs[1]], &inputs[2], [&targets_a, &targets_b], 0.4)
                };
                let difference = (moved(STEP) - moved(-STEP)) / (2.0 * STEP);
                assert!((gradient.data()[entry] - difference).abs() < 1e-7, "{name} {entry}");
            }
        }
        assert_eq!(evaluation.gradients.len(), 3, "a queue gets none");
    }

    #[test]
    fn prototypes_given_as_unit_rows_get_partial_derivatives() {
        let [a, b, p] = [(4, 1), (4, 2), (5, 3)].map(|(rows, seed)| unit(&read(random(rows, 3, seed))));
        let batch = Batch::views(place(&a), place(&b)).with_tensor("prototypes", place(&p));
        let gradient = |batch: &Batch, variant: Variant| {
            let evaluation = Swav { variant, ..Swav::default() }.evaluate(batch).unwrap();
            read(evaluation.gradients["prototypes"].clone())
        };
        let along = |gradient: &Matrix| products(gradient, &p)[(0, 0)].abs();
        assert!(along(&gradient(&batch, Variant::Paper)) < 1e-12);
        let partial = gradient(&batch.with_unit_rows(true), Variant::Paper);
        assert!(along(&partial) > 1e-3, "{}", along(&partial));
    }

    #[test]
    fn queues_that_do_not_fit_are_named() {
        let batch = Batch::views(random(4, 3, 1), random(4, 3, 2)).with_tensor("prototypes", random(5, 3, 3));
        let error = |batch: Batch| Swav::default().evaluate(&batch).unwrap_err().to_string();
        let first = batch.clone().with_tensor("queue_0", random(8, 3, 4));
        assert!(error(first.clone()).contains("queue_1"));
        assert!(error(first.clone().with_tensor("queue_1", random(8, 2, 5))).contains("queue_1"));
        let three = first.with_tensor("queue_1", random(8, 3, 5)).with_tensor("queue_2", random(8, 3, 6));
        assert!(error(three).contains("one for each assigned view"));
    }
}
