//! The two pieces of limited-memory BFGS (Nocedal and Wright, Numerical Optimization, algorithms 7.4 and
//! 3.5): the implicit inverse Hessian, and a line search on a convex function.

use std::collections::VecDeque;

use simile_kernels::cpu::vectors::{add_scaled, dot};

use crate::error::Result;

/// Armijo constant: the least fraction of the predicted decrease that a step has to give.
const DECREASE: f64 = 1e-4;
/// Curvature constant: the largest fraction of the initial slope that may remain.
const CURVATURE: f64 = 0.9;
/// Bytes of all stored steps and changes: with the weights of a thousand classes fewer steps are remembered.
const MOST_BYTES: usize = 1 << 30;

/// One step and the change of the gradient over it.
#[derive(Debug, Clone)]
struct Pair {
    step: Vec<f64>,
    change: Vec<f64>,
    curvature: f64,
}

/// The last steps and gradient changes: an inverse Hessian that is never formed.
#[derive(Debug, Clone)]
pub(super) struct History {
    capacity: usize,
    pairs: VecDeque<Pair>,
    scale: f64,
}

impl History {
    /// An empty history that keeps the last `capacity` steps, or fewer if they take more than 1 GiB.
    pub(super) fn new(capacity: usize, parameters: usize) -> Self {
        let room = MOST_BYTES / (2 * size_of::<f64>() * parameters.max(1));
        Self { capacity: capacity.min(room).max(1), pairs: VecDeque::new(), scale: 1.0 }
    }

    /// Stores a step and the change of the gradient over it. A pair without positive curvature, which rounding can
    /// cause close to the minimum, is left out.
    ///
    /// `precondition` multiplies in place by the fixed approximation of the inverse Hessian that
    /// [`History::direction`] starts from.
    pub(super) fn push(&mut self, step: Vec<f64>, change: Vec<f64>, precondition: impl Fn(&mut [f64])) {
        let curvature = dot(&step, &change);
        if curvature <= 1e-12 * (dot(&step, &step) * dot(&change, &change)).sqrt() {
            return;
        }
        let mut conditioned = change.clone();
        precondition(&mut conditioned);
        self.scale = curvature / dot(&change, &conditioned);
        if self.pairs.len() == self.capacity {
            self.pairs.pop_front();
        }
        self.pairs.push_back(Pair { step, change, curvature });
    }

    /// The descent direction `-H gradient` by the two-loop recursion.
    pub(super) fn direction(&self, gradient: &[f64], precondition: impl Fn(&mut [f64])) -> Vec<f64> {
        let mut direction: Vec<f64> = gradient.iter().map(|g| -g).collect();
        let mut coefficients = Vec::with_capacity(self.pairs.len());
        for pair in self.pairs.iter().rev() {
            let coefficient = dot(&pair.step, &direction) / pair.curvature;
            add_scaled(&mut direction, -coefficient, &pair.change);
            coefficients.push(coefficient);
        }
        precondition(&mut direction);
        direction.iter_mut().for_each(|d| *d *= self.scale);
        for (pair, coefficient) in self.pairs.iter().zip(coefficients.iter().rev()) {
            let correction = dot(&pair.change, &direction) / pair.curvature;
            add_scaled(&mut direction, coefficient - correction, &pair.step);
        }
        direction
    }

    /// Removes all steps.
    pub(super) fn clear(&mut self) {
        self.pairs.clear();
        self.scale = 1.0;
    }

    /// True if no step is stored.
    pub(super) fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }
}

/// A point on the ray of a line search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Point {
    /// Distance from the start, in lengths of the direction.
    pub(super) step: f64,
    /// Value of the function.
    pub(super) value: f64,
    /// Its derivative along the direction.
    pub(super) slope: f64,
}

/// Searches a step that satisfies the strong Wolfe conditions on a convex function.
///
/// `start` has step 0 and a negative slope, `evaluate(step)` gives value and slope. Every trial lies inside the
/// current bracket, at least a tenth of its width from its ends, so that the search cannot diverge, even if the
/// function overflows. Differences of values below the fraction `rounding` of the value are ignored: then the slope
/// alone decides. Returns `None` if `trials` evaluations do not suffice or rounding hides the decrease.
///
/// # Errors
/// An error of `evaluate`.
pub(super) fn line_search(
    start: Point,
    (trials, rounding): (usize, f64),
    mut evaluate: impl FnMut(f64) -> Result<(f64, f64)>,
) -> Result<Option<Point>> {
    let mut low = start;
    let mut high: Option<Point> = None;
    let mut step = 1.0;
    let slack = rounding * start.value.abs();
    for _ in 0..trials {
        let (value, slope) = evaluate(step)?;
        let point = Point { step, value, slope };
        let falls = value <= start.value + DECREASE * step * start.slope + slack;
        if falls && slope.abs() <= CURVATURE * start.slope.abs() {
            return Ok(Some(point));
        }
        if falls && slope < 0.0 {
            low = point;
        } else {
            high = Some(point);
        }
        step = match high {
            None => step * 4.0,
            Some(high) => inside(low, high),
        };
        if high.is_some_and(|high| high.step - low.step <= f64::EPSILON * high.step) {
            break;
        }
    }
    Ok(None)
}

/// Minimiser of the cubic through both ends, kept inside the bracket.
fn inside(low: Point, high: Point) -> f64 {
    let width = high.step - low.step;
    let d1 = low.slope + high.slope - 3.0 * (high.value - low.value) / width;
    let d2 = (d1 * d1 - low.slope * high.slope).sqrt();
    let guess = high.step - width * (high.slope + d2 - d1) / (high.slope - low.slope + 2.0 * d2);
    let (least, most) = (low.step + 0.1 * width, high.step - 0.1 * width);
    if guess.is_finite() { guess.clamp(least, most) } else { 0.5 * (low.step + high.step) }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    #[test]
    fn one_step_of_a_quadratic_gives_the_exact_inverse_along_it() {
        let mut history = History::new(5, 2);
        history.push(vec![1.0, 0.0], vec![4.0, 0.0], |_| {});
        let direction = history.direction(&[8.0, 0.0], |_| {});
        assert!((direction[0] + 2.0).abs() < 1e-12);
    }

    #[test]
    fn the_secant_equation_holds_for_the_newest_pair() {
        let mut history = History::new(3, 3);
        let precondition = |v: &mut [f64]| v.iter_mut().zip([2.0, 0.5, 1.0]).for_each(|(v, s)| *v *= s);
        for k in 0..6 {
            let step: Vec<f64> = (0..3).map(|j| ((k * 3 + j) as f64).sin()).collect();
            let change = vec![3.0 * step[0] + step[1], step[0] + 2.0 * step[1], 5.0 * step[2]];
            history.push(step.clone(), change.clone(), precondition);
            let mapped = history.direction(&change, precondition);
            assert!(mapped.iter().zip(&step).all(|(m, s)| (m + s).abs() < 1e-10));
        }
    }

    #[test]
    fn pairs_without_curvature_are_left_out() {
        let mut history = History::new(3, 2);
        history.push(vec![1.0, 0.0], vec![-1.0, 0.0], |_| {});
        assert!(history.is_empty());
    }

    #[test]
    fn line_search_satisfies_both_conditions_on_any_scale() {
        for scale in [1e-6, 0.1, 1.0, 20.0, 1e4] {
            let f = |step: f64| {
                let x = scale * step;
                Ok((x.exp() - 5.0 * x, scale * (x.exp() - 5.0)))
            };
            let start = Point { step: 0.0, value: 1.0, slope: -4.0 * scale };
            let point = line_search(start, (40, 1e-15), f).unwrap().unwrap();
            let x = scale * point.step;
            assert!(point.slope.abs() <= 0.9 * 4.0 * scale && point.value <= 1.0 - 1e-4 * x * 4.0);
        }
    }

    #[test]
    fn line_search_gives_up_on_a_function_that_only_grows() {
        let start = Point { step: 0.0, value: 1.0, slope: -1.0 };
        assert_eq!(line_search(start, (100, 1e-15), |t| Ok((1.0 + t, 1.0))), Ok(None));
    }

    #[test]
    fn below_rounding_the_slope_decides() {
        let start = Point { step: 0.0, value: 1.0, slope: -1e-9 };
        let noisy = |_| Ok((1.0 + 5e-8, -1e-10));
        assert!(line_search(start, (10, 1e-7), noisy).unwrap().is_some());
        assert!(line_search(start, (10, 1e-15), noisy).unwrap().is_none());
    }
}
