//! Strokes of the ten digits, and ink on a small canvas. Only `+ − × ÷ √` are used: unlike sines, they give the
//! same bits on every platform.

/// A point: to the right, downwards. A digit fills the unit square except for a margin at its sides.
pub(in crate::data) type Point = [f64; 2];

/// Points that a stroke passes through; two points make a straight line.
type Stroke = &'static [Point];

/// The ways to write each digit.
pub(in crate::data) const GLYPHS: [&[&[Stroke]]; 10] = [
    &[
        &[&[
            [0.50, 0.06],
            [0.27, 0.22],
            [0.20, 0.50],
            [0.27, 0.78],
            [0.50, 0.94],
            [0.73, 0.78],
            [0.80, 0.50],
            [0.73, 0.22],
            [0.50, 0.06],
        ]],
        &[&[
            [0.62, 0.08],
            [0.36, 0.14],
            [0.25, 0.42],
            [0.28, 0.76],
            [0.48, 0.95],
            [0.70, 0.76],
            [0.74, 0.40],
            [0.60, 0.12],
            [0.44, 0.10],
        ]],
    ],
    &[
        &[&[[0.50, 0.05], [0.50, 0.95]]],
        &[&[[0.33, 0.24], [0.54, 0.06]], &[[0.54, 0.06], [0.54, 0.95]]],
        &[&[[0.36, 0.22], [0.52, 0.06]], &[[0.52, 0.06], [0.52, 0.94]], &[[0.30, 0.94], [0.74, 0.94]]],
    ],
    &[
        &[
            &[
                [0.24, 0.25],
                [0.38, 0.08],
                [0.64, 0.09],
                [0.76, 0.27],
                [0.64, 0.50],
                [0.40, 0.75],
                [0.22, 0.94],
            ],
            &[[0.22, 0.94], [0.80, 0.93]],
        ],
        &[&[
            [0.26, 0.20],
            [0.50, 0.06],
            [0.72, 0.22],
            [0.62, 0.52],
            [0.34, 0.88],
            [0.20, 0.84],
            [0.34, 0.76],
            [0.58, 0.92],
            [0.82, 0.88],
        ]],
    ],
    &[
        &[
            &[[0.25, 0.16], [0.48, 0.06], [0.72, 0.18], [0.66, 0.40], [0.44, 0.48]],
            &[[0.44, 0.48], [0.70, 0.55], [0.78, 0.74], [0.58, 0.94], [0.36, 0.93], [0.20, 0.82]],
        ],
        &[
            &[[0.24, 0.08], [0.74, 0.08]],
            &[[0.74, 0.08], [0.46, 0.42]],
            &[[0.46, 0.42], [0.72, 0.52], [0.78, 0.72], [0.58, 0.93], [0.36, 0.93], [0.21, 0.82]],
        ],
    ],
    &[
        &[
            &[[0.30, 0.08], [0.22, 0.40], [0.24, 0.56]],
            &[[0.24, 0.56], [0.82, 0.56]],
            &[[0.66, 0.10], [0.64, 0.95]],
        ],
        &[&[[0.62, 0.06], [0.18, 0.62]], &[[0.18, 0.62], [0.84, 0.62]], &[[0.62, 0.06], [0.62, 0.95]]],
    ],
    &[
        &[
            &[[0.76, 0.08], [0.32, 0.08]],
            &[[0.32, 0.08], [0.28, 0.45]],
            &[
                [0.28, 0.45],
                [0.52, 0.38],
                [0.76, 0.52],
                [0.76, 0.76],
                [0.54, 0.94],
                [0.32, 0.93],
                [0.20, 0.82],
            ],
        ],
        &[&[
            [0.74, 0.10],
            [0.46, 0.08],
            [0.30, 0.20],
            [0.32, 0.42],
            [0.56, 0.46],
            [0.75, 0.62],
            [0.70, 0.86],
            [0.46, 0.95],
            [0.24, 0.86],
        ]],
    ],
    &[
        &[&[
            [0.68, 0.08],
            [0.42, 0.22],
            [0.26, 0.48],
            [0.24, 0.74],
            [0.42, 0.94],
            [0.66, 0.90],
            [0.76, 0.72],
            [0.62, 0.54],
            [0.40, 0.56],
            [0.26, 0.72],
        ]],
        &[&[
            [0.44, 0.05],
            [0.26, 0.40],
            [0.24, 0.76],
            [0.46, 0.95],
            [0.70, 0.84],
            [0.68, 0.62],
            [0.48, 0.56],
            [0.28, 0.74],
        ]],
    ],
    &[
        &[&[[0.22, 0.09], [0.78, 0.09]], &[[0.78, 0.09], [0.56, 0.46], [0.42, 0.95]]],
        &[
            &[[0.22, 0.09], [0.78, 0.09]],
            &[[0.78, 0.09], [0.56, 0.46], [0.42, 0.95]],
            &[[0.34, 0.50], [0.74, 0.50]],
        ],
        &[&[[0.22, 0.24], [0.24, 0.09]], &[[0.24, 0.09], [0.78, 0.09]], &[[0.78, 0.09], [0.46, 0.95]]],
    ],
    &[
        &[&[
            [0.50, 0.48],
            [0.30, 0.34],
            [0.32, 0.14],
            [0.50, 0.06],
            [0.68, 0.14],
            [0.70, 0.34],
            [0.50, 0.48],
            [0.26, 0.66],
            [0.26, 0.86],
            [0.50, 0.95],
            [0.74, 0.86],
            [0.74, 0.66],
            [0.50, 0.48],
        ]],
        &[&[
            [0.70, 0.14],
            [0.46, 0.06],
            [0.30, 0.22],
            [0.46, 0.44],
            [0.72, 0.66],
            [0.70, 0.88],
            [0.46, 0.95],
            [0.26, 0.82],
            [0.34, 0.62],
            [0.60, 0.38],
            [0.70, 0.14],
        ]],
    ],
    &[
        &[
            &[
                [0.74, 0.28],
                [0.62, 0.10],
                [0.40, 0.08],
                [0.26, 0.26],
                [0.36, 0.46],
                [0.60, 0.46],
                [0.74, 0.28],
            ],
            &[[0.74, 0.20], [0.72, 0.62], [0.60, 0.95]],
        ],
        &[
            &[[0.74, 0.28], [0.56, 0.06], [0.30, 0.16], [0.32, 0.42], [0.58, 0.46], [0.74, 0.28]],
            &[[0.74, 0.28], [0.74, 0.62], [0.60, 0.90], [0.30, 0.92]],
        ],
    ],
];

/// Number of straight pieces of a curve between two points.
const PIECES: usize = 4;

/// The straight pieces of a smooth curve (Catmull and Rom's) through `points`.
pub(in crate::data) fn curve(points: &[Point], mut piece: impl FnMut(Point, Point)) {
    let pairs = points.windows(2).enumerate();
    for (at, pair) in pairs {
        let &[start, end] = pair else { continue };
        // The neighbour beyond the end of a stroke is the end itself.
        let before = at.checked_sub(1).and_then(|i| points.get(i)).copied().unwrap_or(start);
        let after = points.get(at + 2).copied().unwrap_or(end);
        let pieces = if points.len() == 2 { 1 } else { PIECES };
        let mut from = start;
        for step in 1..=pieces {
            let t = step as f64 / pieces as f64;
            let to = std::array::from_fn(|k| {
                let (p, a, b, n) = (before[k], start[k], end[k], after[k]);
                a + 0.5 * t * (b - p + t * (2.0 * p - 5.0 * a + 4.0 * b - n + t * (3.0 * (a - b) + n - p)))
            });
            piece(from, to);
            from = to;
        }
    }
}

/// The ink coverage of each pixel, 0..=1, row-major.
#[derive(Debug)]
pub(in crate::data) struct Canvas {
    side: usize,
    coverage: Vec<f64>,
}

impl Canvas {
    /// An empty square canvas.
    pub(in crate::data) fn new(side: usize) -> Self {
        Self { side, coverage: vec![0.0; side * side] }
    }

    /// Removes all ink.
    pub(in crate::data) fn clear(&mut self) {
        self.coverage.fill(0.0);
    }

    /// The coverage of each pixel.
    pub(in crate::data) fn coverage(&self) -> &[f64] {
        &self.coverage
    }

    /// Draws a straight line with round ends, `thickness` wide; coordinates are in pixels. A pixel's coverage falls
    /// from 1 to 0 over one pixel across the edge.
    pub(in crate::data) fn line(&mut self, from: Point, to: Point, thickness: f64) {
        let reach = thickness / 2.0 + 0.5;
        let along: Point = std::array::from_fn(|k| to[k] - from[k]);
        let length = along[0] * along[0] + along[1] * along[1];
        let bounds = |k: usize| {
            // Conversion to an integer stops at 0 for negative numbers.
            let low = (from[k].min(to[k]) - reach) as usize;
            let high = (from[k].max(to[k]) + reach + 1.0) as usize;
            low..high.min(self.side)
        };
        let (columns, rows) = (bounds(0), bounds(1));
        for row in rows {
            let line = self.coverage.iter_mut().enumerate().skip(row * self.side + columns.start);
            for (at, coverage) in line.take(columns.len()) {
                let offset = [(at % self.side) as f64 + 0.5 - from[0], row as f64 + 0.5 - from[1]];
                let dot = offset[0] * along[0] + offset[1] * along[1];
                let t = if length > 0.0 { (dot / length).clamp(0.0, 1.0) } else { 0.0 };
                let (x, y) = (offset[0] - t * along[0], offset[1] - t * along[1]);
                let distance = (x * x + y * y).sqrt();
                *coverage = coverage.max((reach - distance).clamp(0.0, 1.0));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_passes_through_its_points() {
        let points = [[0.0, 0.0], [1.0, 2.0], [3.0, 1.0], [4.0, 4.0]];
        let mut ends = vec![points[0]];
        curve(&points, |_, to| ends.push(to));
        for point in points {
            assert!(
                ends.iter().any(|e| (e[0] - point[0]).abs() + (e[1] - point[1]).abs() < 1e-12),
                "{point:?}"
            );
        }
        let mut straight = 0;
        curve(&points[..2], |from, to| {
            assert_eq!((from, to), (points[0], points[1]));
            straight += 1;
        });
        assert_eq!(straight, 1);
    }

    #[test]
    fn a_line_covers_its_area() {
        let mut canvas = Canvas::new(32);
        canvas.line([6.0, 16.0], [26.0, 16.0], 3.0);
        let ink: f64 = canvas.coverage().iter().sum();
        // A box of 20 x 3 and two half discs of radius 1.5.
        assert!((ink - (60.0 + std::f64::consts::PI * 2.25)).abs() < 1.0, "{ink}");
        assert_eq!(canvas.coverage()[15 * 32 + 16], 1.0);
        assert_eq!(canvas.coverage()[20 * 32 + 16], 0.0);
        canvas.clear();
        canvas.line([-50.0, -50.0], [-40.0, 90.0], 2.0);
        canvas.line([f64::NAN, 1.0], [2.0, 3.0], 2.0);
        assert!(canvas.coverage().iter().all(|&v| v == 0.0));
    }
}
