use simile_kernels::sinkhorn;

use crate::devices::{assert_close, noise, targets, values};

const ROWS: usize = 70;
const COLUMNS: usize = 50;

/// Columns and rows of `exp(scores / epsilon)`, divided alternately by their sums.
fn repeated_division(scores: &[f64], epsilon: f64, iterations: usize) -> Vec<f64> {
    let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut terms: Vec<f64> = scores.iter().map(|x| ((x - largest) / epsilon).exp()).collect();
    for _ in 0..iterations {
        for j in 0..COLUMNS {
            let sum: f64 = terms.iter().skip(j).step_by(COLUMNS).sum();
            terms.iter_mut().skip(j).step_by(COLUMNS).for_each(|x| *x /= sum);
        }
        for row in terms.chunks_exact_mut(COLUMNS) {
            let sum: f64 = row.iter().sum();
            row.iter_mut().for_each(|x| *x /= sum);
        }
    }
    terms
}

#[test]
fn assignments_are_those_of_repeated_division_and_constants() {
    let scores = noise(ROWS * COLUMNS, 12);
    // The last case cannot be computed from exponentials in single precision.
    for (epsilon, iterations) in [(0.05, 0), (0.05, 1), (0.05, 3), (0.5, 5), (0.01, 2)] {
        // They are divided once at least.
        let expected = repeated_division(&scores, epsilon, iterations.max(1));
        for target in targets() {
            let assignments = sinkhorn(target.leaf(&scores, [ROWS, COLUMNS]), epsilon, iterations);
            assert!(!assignments.is_tracked());
            let sums = values(assignments.clone().sum_dim(1));
            assert_close(&sums, &[1.0; ROWS], &target, "sums of rows");
            let name = format!("assignments, epsilon {epsilon}, {iterations} iterations");
            assert_close(&values(assignments), &expected, &target, &name);
        }
    }
}
