use burn::tensor::{DType, Device, Int, Tensor, TensorData};
use simile_kernels::{Comparison, LogSumExp, PairSums, PairWeights, Weight, log_sum_exps, own_log_sum_exps};

use crate::devices::{Target, assert_close, noise, targets, values};

type Weights = PairWeights<burn::backend::Dispatch>;

/// The weights of a case, as numbers.
#[derive(Clone)]
enum Given {
    Nothing,
    Groups(Vec<i32>),
    Pairs,
    /// Matrices of so many samples.
    Samples(usize, usize),
    Factors(usize, usize),
}

impl Given {
    fn on(&self, device: &Device, dtype: DType, [n, m]: [usize; 2]) -> Weights {
        let matrix = |values: Vec<f64>, shape: [usize; 2]| {
            Tensor::<2>::from_data(TensorData::new(values, shape), (device, dtype))
        };
        match self {
            Self::Nothing => PairWeights::Ones,
            Self::Groups(groups) => {
                let data = TensorData::new(groups.clone(), [groups.len()]);
                PairWeights::groups(Tensor::<1, Int>::from_data(data, (device, DType::I32)))
            }
            Self::Pairs => PairWeights::pairs(matrix(noise(n * m, 5), [n, m])),
            Self::Samples(views, c) => {
                PairWeights::samples(matrix(symmetric(*views, *c, 4).concat(), [views * c, *c]))
            }
            Self::Factors(views, c) => {
                let factor = || noise(views * c * 3, 6);
                let left = factor().iter().enumerate().map(|(at, x)| x * (1.0 + (at % 3) as f64)).collect();
                PairWeights::factors(matrix(left, [views * c, 3]), matrix(factor(), [views * c, 3]), *c)
            }
        }
    }

    /// The entry of a pair.
    fn entry(&self, [n, m]: [usize; 2], i: usize, j: usize) -> f64 {
        match self {
            Self::Nothing | Self::Groups(_) => 1.0,
            Self::Pairs => noise(n * m, 5)[i * m + j],
            Self::Samples(views, c) => symmetric(*views, *c, 4)[i / c % views][i % c * c + j % c],
            Self::Factors(views, c) => {
                let factor = noise(views * c * 3, 6);
                let (row, column) = (i % (views * c), i / c % views * c + j % c);
                (0..3).map(|k| factor[row * 3 + k] * (1.0 + k as f64) * factor[column * 3 + k]).sum()
            }
        }
    }
}

fn symmetric(views: usize, c: usize, seed: u32) -> Vec<Vec<f64>> {
    let of_view = |view: usize| {
        let half = noise(c * c, seed + view as u32);
        (0..c * c).map(|at| half[at] + half[at % c * c + at / c]).collect()
    };
    (0..views).map(of_view).collect()
}

/// The weight of a pair, 0 if it does not count.
fn weight(term: &LogSumExp, given: &Given, shape: [usize; 2], i: usize, j: usize) -> f64 {
    use simile_kernels::Pairs;
    let group = |k: usize| match given {
        Given::Groups(groups) => groups[k % groups.len()],
        _ => k as i32,
    };
    let counts = match term.pairs {
        Pairs::All => true,
        Pairs::NotCongruent { period } => i % period != j % period,
        Pairs::OtherLabel => group(i) != group(j),
        Pairs::SameLabel => group(i) == group(j),
    };
    let entry = match term.weight {
        Weight::One => 1.0,
        Weight::Above(threshold) => Some(given.entry(shape, i, j)).filter(|w| *w > threshold).unwrap_or(0.0),
        Weight::Below(threshold) => Some(-given.entry(shape, i, j)).filter(|w| *w > threshold).unwrap_or(0.0),
    };
    if counts { entry } else { 0.0 }
}

/// The sums in Burn's operations on whole matrices, with the weights as a matrix for each term.
fn reference(anchors: Tensor<2>, candidates: Tensor<2>, comparison: &Comparison, given: &Given) -> Tensor<2> {
    let ([n, _], [m, _]) = (anchors.dims(), candidates.dims());
    let (device, dtype) = (anchors.device(), anchors.dtype());
    let terms = comparison.terms.iter().map(|term| {
        let weights: Vec<f64> = (0..n * m).map(|at| weight(term, given, [n, m], at / m, at % m)).collect();
        let weights = Tensor::<2>::from_data(TensorData::new(weights, [n, m]), (&device, dtype));
        let similarities = anchors.clone().matmul(candidates.clone().transpose()) * comparison.scale;
        ((similarities * term.power).exp() * weights).sum_dim(1).log()
    });
    Tensor::cat(terms.collect(), 1)
}

struct Case {
    name: &'static str,
    shape: [usize; 2],
    width: usize,
    given: Given,
    terms: Vec<LogSumExp>,
    scale: f64,
}

fn cases() -> Vec<Case> {
    let case = |name, shape, width, given, terms: &[LogSumExp], scale| {
        let terms = terms.to_vec();
        Case { name, shape, width, given, terms, scale }
    };
    let groups = |n: usize| Given::Groups((0..n / 2).chain(0..n / 2).map(|i| (i % 5) as i32).collect());
    let above = LogSumExp::other_samples(19).weighted(Weight::Above(0.1));
    vec![
        case("all", [7, 5], 3, Given::Nothing, &[LogSumExp::all()], 2.0),
        case("all, many", [200, 136], 8, Given::Nothing, &[LogSumExp::all()], 2.0),
        case("other rows", [38, 38], 9, Given::Nothing, &[LogSumExp::other_rows(38)], 2.0),
        case(
            "other rows at a low temperature",
            [38, 38],
            9,
            Given::Nothing,
            &[LogSumExp::other_rows(38)],
            60.0,
        ),
        case(
            "other samples by two powers",
            [38, 38],
            4,
            Given::Nothing,
            &[LogSumExp::other_samples(19).with_power(1.5), LogSumExp::other_samples(19).with_power(0.5)],
            2.0,
        ),
        case(
            "other groups",
            [38, 38],
            6,
            groups(38),
            &[LogSumExp::other_label(), LogSumExp::other_samples(19)],
            2.0,
        ),
        case("the own group", [38, 38], 6, groups(38), &[LogSumExp::same_label()], 2.0),
        case(
            "weights of pairs",
            [21, 34],
            5,
            Given::Pairs,
            &[LogSumExp::all().weighted(Weight::Above(0.0)), LogSumExp::all().weighted(Weight::Below(0.2))],
            3.0,
        ),
        case("weights of samples", [38, 38], 9, Given::Samples(1, 19), &[above, above.with_power(0.0)], 2.0),
        case("a sum of weights alone", [38, 38], 9, Given::Samples(1, 19), &[above.with_power(0.0)], 2.0),
        case(
            "weights of both views",
            [38, 38],
            9,
            Given::Samples(2, 19),
            &[above, LogSumExp::other_rows(38)],
            2.0,
        ),
        case("weights of two of four views", [76, 76], 9, Given::Samples(2, 19), &[above], 2.0),
        case("factors of weights", [38, 38], 9, Given::Factors(2, 19), &[above], 2.0),
        case("factors of weights at a low temperature", [38, 38], 9, Given::Factors(1, 19), &[above], 70.0),
    ]
}

/// Sums and gradients of anchors and candidates; the gradient of the rows twice if they are compared with
/// themselves.
fn run(
    case: &Case,
    (device, dtype): (&Device, DType),
    tile: Option<usize>,
    sums: impl Fn(Tensor<2>, Tensor<2>, Comparison, Weights) -> Tensor<2>,
) -> [Vec<f64>; 3] {
    let [n, m] = case.shape;
    let unit = |count: usize, seed| {
        let mut values = noise(count * case.width, seed);
        for row in values.chunks_mut(case.width) {
            let length = row.iter().map(|x| x * x).sum::<f64>().sqrt();
            row.iter_mut().for_each(|x| *x /= length);
        }
        let data = TensorData::new(values, [count, case.width]);
        Tensor::<2>::from_data(data, (device, dtype)).require_grad()
    };
    let anchors = unit(n, 1);
    let candidates = if n == m { anchors.clone() } else { unit(m, 2) };
    let comparison = Comparison { tile, ..Comparison::new(case.terms.clone(), case.scale) };
    let weights = case.given.on(device, dtype, case.shape);
    let log_sums = sums(anchors.clone(), candidates.clone(), comparison, weights);
    let factors = noise(n * case.terms.len(), 3);
    let factors = Tensor::<2>::from_data(TensorData::new(factors, [n, case.terms.len()]), (device, dtype));
    let gradients = (log_sums.clone() * factors).sum().backward();
    [log_sums, anchors.grad(&gradients).unwrap(), candidates.grad(&gradients).unwrap()].map(values)
}

fn assert_equal(results: &[Vec<f64>; 3], expected: &[Vec<f64>; 3], target: &Target, name: &str) {
    for (what, (result, expected)) in
        ["sums", "anchors", "candidates"].iter().zip(results.iter().zip(expected))
    {
        assert_close(result, expected, target, &format!("{name}: {what}"));
    }
}

/// In a tile of 5 anchors similarities are not stored.
#[test]
fn sums_over_pairs() {
    let device = Device::flex().autodiff();
    for case in cases() {
        let expected = run(&case, (&device, DType::F64), None, |anchors, candidates, comparison, _| {
            reference(anchors, candidates, &comparison, &case.given)
        });
        for target in targets() {
            for tile in [None, Some(5)] {
                let of = (&target.device, target.dtype);
                let across = run(&case, of, tile, |anchors, candidates, comparison, weights| {
                    log_sum_exps(anchors, candidates, weights, comparison)
                });
                assert_equal(&across, &expected, &target, case.name);
                if case.shape[0] == case.shape[1] {
                    let within = run(&case, of, tile, |rows, _, comparison, weights| {
                        own_log_sum_exps(rows, weights, comparison)
                    });
                    assert_equal(&within, &expected, &target, &format!("{}, of one set", case.name));
                }
            }
        }
    }
}

/// WebGPU starts at most 65,535 workgroups in a row.
#[test]
fn sums_of_more_rows_than_workgroups_in_a_row() {
    let device = Device::flex().autodiff();
    for (name, shape) in [("many anchors", [66_000, 3]), ("many candidates", [3, 1_048_577])] {
        let terms = vec![LogSumExp::all()];
        let case = Case { name, shape, width: 2, given: Given::Nothing, terms, scale: 2.0 };
        let expected = run(&case, (&device, DType::F64), None, |anchors, candidates, comparison, _| {
            reference(anchors, candidates, &comparison, &case.given)
        });
        for target in targets() {
            let of = (&target.device, target.dtype);
            let mut results = run(&case, of, None, |anchors, candidates, comparison, weights| {
                log_sum_exps(anchors, candidates, weights, comparison)
            });
            if shape[1] > shape[0] {
                let grad_anchors = std::mem::replace(&mut results[1], expected[1].clone());
                // A million products are added in `f32`, on CUDA by one unit, one after another.
                let tolerance = match (target.name, target.dtype) {
                    (_, DType::F64) => target.tolerance,
                    ("cuda", _) => 1e-3,
                    _ => 1e-4,
                };
                let target = Target { device: target.device.clone(), tolerance, ..target };
                // Mesa's software GPU ends a loop after 65,535 turns, and that over the candidates is longer.
                if target.name != "wgpu" {
                    assert_close(&grad_anchors, &expected[1], &target, &format!("{name}: anchors"));
                }
            }
            assert_equal(&results, &expected, &target, name);
        }
    }
}

/// Rows that lie as columns, and rows between other numbers.
#[test]
fn rows_of_another_layout_have_the_same_sums() {
    let wide = noise(40 * 12, 1);
    let rows: Vec<f64> = (0..38 * 9).map(|at| wide[(at / 9 + 1) * 12 + at % 9 + 2]).collect();
    let across: Vec<f64> = (0..9 * 38).map(|at| rows[at % 38 * 9 + at / 38]).collect();
    for target in targets() {
        let run = |leaf: Tensor<2>, view: fn(Tensor<2>) -> Tensor<2>| {
            let comparison = Comparison::new([LogSumExp::other_rows(38)], 2.0);
            let sums = own_log_sum_exps(view(leaf.clone()), PairWeights::Ones, comparison);
            let gradients = sums.clone().sum().backward();
            [values(sums), values(view(leaf.grad(&gradients).unwrap()))]
        };
        let expected = run(target.leaf(&rows, [38, 9]), |rows| rows);
        let transposed = run(target.leaf(&across, [9, 38]), Tensor::transpose);
        let part = run(target.leaf(&wide, [40, 12]), |rows| rows.slice([1..39, 2..11]));
        for (result, expected) in transposed.iter().chain(&part).zip(expected.iter().cycle()) {
            assert_close(result, expected, &target, "rows of another layout");
        }
    }
}

#[test]
fn candidates_without_anchors_have_a_gradient_of_zeros() {
    for target in targets() {
        let none = |width| target.leaf(&[], [0, width]).without_autodiff();
        let candidates = target.leaf(&noise(9 * 4, 2), [9, 4]).without_autodiff();
        let comparison = Comparison::new([LogSumExp::all()], 2.0);
        let sums = PairSums::across(none(4), candidates, PairWeights::Ones, comparison);
        let (grad_anchors, grad_candidates) = sums.pull_back(none(1));
        assert_eq!(grad_anchors.dims(), [0, 4], "{}", target.name);
        assert_eq!(values(grad_candidates.unwrap()), [0.0; 36], "{}", target.name);
    }
}

/// Rows in groups of one have no pair of the same group.
#[test]
fn an_anchor_without_pairs_has_no_gradient() {
    for target in targets() {
        let rows = target.leaf(&noise(6 * 4, 1), [6, 4]);
        let (device, dtype) = (&target.device, target.dtype);
        let weights = Given::Groups(vec![0; 6]).on(device, dtype, [6, 6]);
        let comparison =
            || Comparison::new([LogSumExp::other_label(), LogSumExp::other_label().with_power(0.0)], 60.0);
        for within in [false, true] {
            let (rows, weights) = (rows.clone(), weights.clone());
            let sums = match within {
                true => own_log_sum_exps(rows.clone(), weights, comparison()),
                false => log_sum_exps(rows.clone(), rows.clone(), weights, comparison()),
            };
            assert!(values(sums.clone()).iter().all(|sum| *sum < -9e29), "{}", target.name);
            let gradient = rows.grad(&sums.sum().backward()).unwrap();
            assert!(values(gradient).iter().all(|g| *g == 0.0), "{}", target.name);
        }
    }
}

#[test]
fn constant_candidates_get_no_gradient_and_anchors_the_same() {
    for target in targets() {
        let anchors = target.leaf(&noise(6 * 4, 1), [6, 4]).without_autodiff();
        let candidates = target.leaf(&noise(9 * 4, 2), [9, 4]).without_autodiff();
        let gradient = target.leaf(&noise(6, 3), [6, 1]).without_autodiff();
        let of = |constant_candidates| {
            let comparison = Comparison { constant_candidates, ..Comparison::new([LogSumExp::all()], 2.0) };
            let (anchors, candidates) = (anchors.clone(), candidates.clone());
            PairSums::across(anchors, candidates, PairWeights::Ones, comparison).pull_back(gradient.clone())
        };
        let ((both, some), (alone, none)) = (of(false), of(true));
        assert!(some.is_some() && none.is_none());
        assert_close(&values(alone), &values(both), &target, "anchors");
    }
}
