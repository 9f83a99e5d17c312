//! Released formulas, written out in the order of their operations, on batches in which anchors lack positives or negatives, and with
//! a row of zeros.

use burn::tensor::DType;
use serde_json::json;
use simile_core::loss;
use simile_core::numeric::matrix::Matrix;

use crate::batches::{Inputs, Outcome, batches, evaluate};

const TEMPERATURE: f64 = 0.2;
const BASE_TEMPERATURE: f64 = 0.07;

/// Cosines of all rows of both views over the temperature, less the largest of each row, as released code makes its logits.
struct Logits {
    logits: Vec<Vec<f64>>,
    labels: Vec<usize>,
    bias: Vec<usize>,
}

impl Logits {
    fn of(inputs: &Inputs) -> Self {
        let views = [&inputs.tensors["view_a"], &inputs.tensors["view_b"]];
        let rows = views.iter().flat_map(|view| view.iter_rows()).map(|row| {
            let length = row.iter().map(|x| x * x).sum::<f64>().sqrt().max(1e-12);
            row.iter().map(|x| x / length).collect()
        });
        let rows: Vec<Vec<f64>> = rows.collect();
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>() / TEMPERATURE;
        let logits = rows.iter().map(|row| {
            let row: Vec<f64> = rows.iter().map(|other| dot(row, other)).collect();
            let largest = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            row.iter().map(|value| value - largest).collect()
        });
        let twice = |name: &str| inputs.indices[name].repeat(2);
        Self { logits: logits.collect(), labels: twice("labels"), bias: twice("bias") }
    }

    fn count(&self) -> usize {
        self.labels.len()
    }

    /// The sum of the exponentials of a row over those columns.
    fn sum(&self, i: usize, is_counted: impl Fn(usize) -> bool) -> f64 {
        (0..self.count()).map(|j| self.logits[i][j].exp() * f64::from(u8::from(is_counted(j)))).sum()
    }

    /// `(mask * values).sum(1) / mask.sum(1)`: 0 times infinity is not a number, as in PyTorch.
    fn masked_mean(
        &self,
        is_positive: impl Fn(usize) -> bool,
        value: impl Fn(usize) -> f64,
        least: f64,
    ) -> f64 {
        let mask = |j: usize| f64::from(u8::from(is_positive(j)));
        let (count, all) = ((0..self.count()).map(mask).sum::<f64>(), 0..self.count());
        all.map(|j| mask(j) * value(j)).sum::<f64>() / count.max(least)
    }

    fn mean(&self, of_anchor: impl Fn(usize) -> f64) -> f64 {
        (0..self.count()).map(of_anchor).sum::<f64>() / self.count() as f64
    }

    fn is_same(&self, i: usize, j: usize) -> bool {
        self.labels[i] == self.labels[j]
    }

    fn supcon(&self) -> f64 {
        let of_anchor = |i: usize| {
            let all = self.sum(i, |j| j != i).ln();
            -self.masked_mean(|j| j != i && self.is_same(i, j), |j| self.logits[i][j] - all, 0.0)
        };
        self.mean(of_anchor) * TEMPERATURE / BASE_TEMPERATURE
    }

    fn contex(&self, is_clipped: bool) -> f64 {
        let of_anchor = |i: usize| {
            let other = self.sum(i, |j| !self.is_same(i, j)).ln();
            let margin = |j: usize| {
                let margin = self.logits[i][j] - other;
                if is_clipped { margin.min(0.0) } else { margin }
            };
            let of_class = -self.masked_mean(|j| j != i && self.is_same(i, j), margin, 0.0);
            let own = (i + self.count() / 2) % self.count();
            let of_pair = self.sum(i, |j| j != i).ln() - self.logits[i][own];
            0.5 * of_class + 0.5 * of_pair
        };
        self.mean(of_anchor) * TEMPERATURE / BASE_TEMPERATURE
    }

    fn biascon(&self) -> f64 {
        let of_anchor = |i: usize| {
            let all = (self.sum(i, |j| j != i) + 1e-9).ln();
            let is_positive = |j: usize| self.is_same(i, j) && self.bias[i] != self.bias[j];
            -self.masked_mean(is_positive, |j| self.logits[i][j] - all, 1.0)
        };
        self.mean(of_anchor)
    }
}

/// The awkward batches, as drawn and with a row of zeros.
fn cases() -> Vec<(String, Inputs)> {
    let zero_row =
        |m: &Matrix| Matrix::from_fn(m.rows(), m.columns(), |i, j| if i == 0 { 0.0 } else { m[(i, j)] });
    let of = |(kind, labels, bias): (&str, Vec<usize>, Vec<usize>)| {
        let drawn = Inputs::random("biascon", &labels, &bias, 4, 11);
        let mut with_zeros = drawn.clone();
        with_zeros.tensors.insert("view_a".into(), zero_row(&drawn.tensors["view_a"]));
        [(kind.to_owned(), drawn), (format!("{kind}, a row of zeros"), with_zeros)]
    };
    batches().into_iter().flat_map(of).collect()
}

fn evaluated(objective: &str, variant: Option<&str>, inputs: &Inputs) -> Outcome {
    let built = loss::build(objective, variant, json!({ "temperature": TEMPERATURE })).unwrap();
    evaluate(built.as_ref(), &inputs.batch(DType::F64).with_details(true)).unwrap()
}

/// The value of a variant, without bias labels where the released code takes none.
fn value(objective: &str, variant: Option<&str>, inputs: &Inputs) -> f64 {
    let mut inputs = inputs.clone();
    if objective != "biascon" {
        inputs.indices.remove("bias");
    }
    evaluated(objective, variant, &inputs).loss
}

fn assert_near(found: f64, expected: f64, what: &str) {
    assert!(
        (found - expected).abs() < 1e-10 * (1.0 + expected.abs()),
        "{what}: {found}, expected {expected}"
    );
}

#[test]
fn released_values_hold_for_anchors_without_positives_or_negatives_and_for_zeros() {
    for (kind, inputs) in cases() {
        let released = Logits::of(&inputs);
        let expected = [
            ("biascon", released.biascon()),
            ("supcon", released.supcon()),
            ("contex-p", released.contex(true)),
        ];
        for (objective, expected) in expected {
            let found = value(objective, Some("released"), &inputs);
            assert_near(found, expected, &format!("{objective}, {kind}"));
        }
    }
}

#[test]
fn contex_has_its_self_supervised_term_where_released_code_gives_no_number() {
    let mut without = 0;
    for (kind, inputs) in cases() {
        let expected = match Logits::of(&inputs).contex(false) {
            number if number.is_finite() => number,
            _ => {
                without += 1;
                assert!(
                    inputs.indices["labels"].iter().all(|label| *label == inputs.indices["labels"][0]),
                    "{kind}"
                );
                0.5 * TEMPERATURE / BASE_TEMPERATURE * value("nt-xent", None, &inputs)
            }
        };
        assert_near(value("contex", Some("released"), &inputs), expected, &format!("contex, {kind}"));
    }
    assert_eq!(without, 6, "three of the batches have one label");
}

#[test]
fn contex_counts_the_anchors_whose_term_is_left_out() {
    for objective in ["contex", "contex-p"] {
        let counts = |labels: &[usize], bias: &[usize]| {
            let aux = evaluated(objective, None, &Inputs::random(objective, labels, bias, 3, 2)).aux;
            ["positive", "negative"].map(|part| aux[format!("anchors_without_{part}")].as_f64().unwrap())
        };
        assert_eq!(counts(&[0, 0, 1], &[1, 1, 0]), [6.0, 0.0], "{objective}");
        assert_eq!(counts(&[0, 0, 0], &[1, 1, 0]), [0.0, 6.0], "{objective}");
    }
}
