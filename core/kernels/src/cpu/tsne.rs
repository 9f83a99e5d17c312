//! The forces that move the points of a t-SNE map (van der Maaten & Hinton, JMLR 2008).

/// Number of points that are summed side by side, so that the compiler makes vector instructions of them.
const LANES: usize = 8;

/// The forces of all points on the point `i`, which has none on itself. With `d_j = y_i - y_j`:
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Forces {
    /// `Σ_j p_ij d_j / (1 + |d_j|²)`
    pub attraction: [f64; 2],
    /// `Σ_j d_j / (1 + |d_j|²)²`
    pub repulsion: [f64; 2],
    /// `Σ_j 1 / (1 + |d_j|²)`, with the 1 of the point itself.
    pub near: f64,
}

impl Forces {
    /// The forces on the point at `own`, from the places of all points along both axes and its row of `P`.
    ///
    /// Cost: 18 operations and 24 bytes a point. The order of the sums does not depend on the processor.
    pub fn on(own: [f64; 2], axes: [&[f64]; 2], joint: &[f64]) -> Self {
        vectorised!({
            let mut sums = Sums::default();
            let [(xs, x_rest), (ys, y_rest)] = axes.map(<[f64]>::as_chunks::<LANES>);
            let (ps, p_rest) = joint.as_chunks::<LANES>();
            for ((x, y), p) in xs.iter().zip(ys).zip(ps) {
                sums.add(own, x, y, p);
            }
            for (lane, ((x, y), p)) in x_rest.iter().zip(y_rest).zip(p_rest).enumerate() {
                sums.add_one(lane, own, [*x, *y], *p);
            }
            sums.total()
        })
    }
}

#[derive(Default)]
struct Sums {
    attraction: [[f64; LANES]; 2],
    repulsion: [[f64; LANES]; 2],
    near: [f64; LANES],
}

impl Sums {
    #[inline(always)]
    fn add(&mut self, own: [f64; 2], x: &[f64; LANES], y: &[f64; LANES], p: &[f64; LANES]) {
        for lane in 0..LANES {
            self.add_one(lane, own, [x[lane], y[lane]], p[lane]);
        }
    }

    #[inline(always)]
    fn add_one(&mut self, lane: usize, own: [f64; 2], [x, y]: [f64; 2], p: f64) {
        let (dx, dy) = (own[0] - x, own[1] - y);
        let near = 1.0 / (1.0 + dx * dx + dy * dy);
        let (attraction, repulsion) = (p * near, near * near);
        self.attraction[0][lane] += attraction * dx;
        self.attraction[1][lane] += attraction * dy;
        self.repulsion[0][lane] += repulsion * dx;
        self.repulsion[1][lane] += repulsion * dy;
        self.near[lane] += near;
    }

    fn total(&self) -> Forces {
        let sum = |lanes: &[f64; LANES]| lanes.iter().sum();
        let Self { attraction, repulsion, near } = self;
        Forces {
            attraction: attraction.each_ref().map(sum),
            repulsion: repulsion.each_ref().map(sum),
            near: sum(near),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forces_are_the_sums_over_one_point_after_another() {
        for count in [1, 7, 8, 21] {
            let wave =
                |phase: f64| -> Vec<f64> { (0..count).map(|i| (f64::from(i) * 1.7 + phase).sin()).collect() };
            let (xs, ys, joint) = (wave(0.0), wave(0.4), wave(2.0));
            let own = [xs[0], ys[0]];
            let (mut expected, mut sizes) = ([0.0; 5], [1.0; 5]);
            for ((x, y), p) in xs.iter().zip(&ys).zip(&joint) {
                let (dx, dy) = (own[0] - x, own[1] - y);
                let near = (1.0 + dx.powi(2) + dy.powi(2)).recip();
                let terms = [p * near * dx, p * near * dy, near.powi(2) * dx, near.powi(2) * dy, near];
                for ((sum, size), term) in expected.iter_mut().zip(&mut sizes).zip(terms) {
                    *sum += term;
                    *size += term.abs();
                }
            }
            let Forces { attraction: [ax, ay], repulsion: [rx, ry], near } =
                Forces::on(own, [&xs, &ys], &joint);
            for ((sum, expected), size) in [ax, ay, rx, ry, near].iter().zip(expected).zip(sizes) {
                assert!((sum - expected).abs() < 1e-14 * size, "{count} points: {sum} and {expected}");
            }
        }
    }
}
