//! Convolutions with a normalisation and the next steps of a block.

use burn::tensor::activation::relu;
use burn::tensor::{DType, Tensor};
use simile_kernels::{Epilogue, Norm, Statistics, Windows, convolve_normalised, convolve_normalised_by};

use super::{CASES, Case, On, assert_alike, check_on, is_in_half_precision, reference};
use crate::devices::{Target, assert_close, targets};

const EPSILON: f64 = 1e-3;

impl On {
    fn norm(&self) -> Norm {
        Norm { gain: self.gain.clone(), shift: self.bias.clone(), epsilon: EPSILON }
    }

    fn statistics(&self) -> Statistics {
        Statistics { mean: self.mean.clone(), variance: self.variance.clone() }
    }

    /// The next steps of the block, by Burn.
    fn follow(
        &self,
        maps: Tensor<4>,
        statistics: [Tensor<4>; 2],
        identity: Option<Tensor<4>>,
        rectified: bool,
    ) -> Tensor<4> {
        let [mean, variance] = statistics;
        let row = |tensor: &Tensor<1>| tensor.clone().reshape([1, 1, 1, -1]);
        let maps = (maps - mean) / (variance + EPSILON).sqrt() * row(&self.gain) + row(&self.bias);
        let maps = match identity {
            Some(identity) => maps + identity,
            None => maps,
        };
        if rectified { relu(maps) } else { maps }
    }

    /// The convolution by Burn, normalised by its own statistics, with the next steps of the block.
    fn plain_normalised(&self, windows: Windows, identity: Option<Tensor<4>>, rectified: bool) -> Tensor<4> {
        let maps = self.plain(None, windows);
        let mean = |maps: Tensor<4>| maps.mean_dim(0).mean_dim(1).mean_dim(2);
        let centre = mean(maps.clone());
        let variance = mean((maps.clone() - centre.clone()).square());
        self.follow(maps, [centre, variance], identity, rectified)
    }
}

/// The cases that run with every combination of steps on every device: 32 channels, and 3, with little work.
const WITH_ALL_STEPS: [Case; 2] = [CASES[0], CASES[11]];

/// Every case with and without an identity and a rectifier.
fn joined() -> impl Iterator<Item = (&'static Case, bool, bool)> {
    let ways = [(true, true), (false, true), (true, false), (false, false)];
    CASES.iter().flat_map(move |case| ways.map(|(added, rectified)| (case, added, rectified)))
}

/// The devices that run a case with these steps. Flex joins the steps in `f32` with the convolution, and takes every combination.
///
/// In `f64` and on other devices the convolution is an operation of its own, which `plain::convolutions` compares in every case, and the
/// steps are others on its rows, which know nothing of windows. There every case runs with both steps, and those of [`WITH_ALL_STEPS`]
/// run with every combination: a GPU has a kernel for each, in which a unit takes several channels where their number is a multiple of
/// the width of a vector, as 32 is, and one channel where it is not, as 3. The second of these cases is small enough for ndarray.
fn takes(case: &Case, added: bool, rectified: bool) -> impl Fn(&Target) -> bool {
    let is_everywhere = (added && rectified) || WITH_ALL_STEPS.contains(case);
    move |target| is_everywhere || target.name == "flex"
}

#[test]
fn convolutions_normalised_by_their_batch() {
    for (case, added, rectified) in joined() {
        let identity = |on: &On| added.then(|| on.identity.clone());
        let plain = |on: &On| on.plain_normalised(case.windows, identity(on), rectified);
        let epilogue = |on: &On| Epilogue { added: identity(on), rectified };
        let ours = |on: &On| {
            let (maps, weight) = (on.maps.clone(), on.weight.clone());
            let (output, batch) = convolve_normalised(maps, weight, case.windows, on.norm(), epilogue(on));
            // The statistics too, because they normalise.
            let by = |batch| {
                let (maps, weight) = (on.maps.clone(), on.weight.clone());
                convolve_normalised_by(maps, weight, case.windows, on.norm(), batch, epilogue(on))
            };
            let again = (by(batch) - output.clone()).abs().max().into_scalar::<f64>();
            assert!(again < 1e-3, "{case:?}: {again}");
            output
        };
        let name = format!("by batch, {added}, {rectified}");
        check_on(&name, case, case.maps(), takes(case, added, rectified), plain, ours);
    }
}

/// Values of 8 bits, with gain, shift and statistics in `f32`.
#[test]
fn convolutions_normalised_in_half_precision() {
    for (case, added) in [&CASES[0], &CASES[5]].into_iter().flat_map(|case| [(case, true), (case, false)]) {
        let mut inputs = case.inputs();
        // No value is so near 0 that rounding takes it to the other side.
        if added {
            inputs.identity.iter_mut().for_each(|x| *x = 8_f64.copysign(*x));
        } else {
            inputs.gain.iter_mut().for_each(|x| *x *= 0.1);
            inputs.bias.iter_mut().for_each(|x| *x = 1_f64.copysign(*x));
        }
        for values in [&mut inputs.maps, &mut inputs.weight, &mut inputs.along] {
            values.iter_mut().for_each(|x| *x = burn::tensor::bf16::from_f64(*x).to_f64());
        }
        let identity = |on: &On| added.then(|| on.identity.clone());
        let on = On::new(case, &inputs, &reference());
        let expected = on.results(on.plain_normalised(case.windows, identity(&on), true));
        for target in targets().into_iter().filter(is_in_half_precision) {
            let half =
                Target { device: target.device.clone(), dtype: DType::BF16, tolerance: 2e-2, ..target };
            let [gain, bias] = [&inputs.gain, &inputs.bias].map(|x| target.leaf(x, [case.outputs]));
            let on = On { gain, bias, ..On::new(case, &inputs, &half) };
            let epilogue = Epilogue { added: identity(&on), rectified: true };
            let (maps, weight) = (on.maps.clone(), on.weight.clone());
            let output = convolve_normalised(maps, weight, case.windows, on.norm(), epilogue).0;
            assert_alike(&on.results(output), &expected, &half, &format!("in bf16, {added}, {case:?}"));
        }
    }
}

#[test]
fn convolutions_normalised_by_given_statistics() {
    for (case, added, rectified) in joined() {
        let identity = |on: &On| added.then(|| on.identity.clone());
        let plain = |on: &On| {
            let of = |tensor: &Tensor<1>| tensor.clone().reshape([1, 1, 1, -1]);
            let statistics = [of(&on.mean), of(&on.variance)];
            on.follow(on.plain(None, case.windows), statistics, identity(on), rectified)
        };
        let ours = |on: &On| {
            let by = |maps: Tensor<4>, weight: Tensor<4>, norm, added| {
                let epilogue = Epilogue { added, rectified };
                convolve_normalised_by(maps, weight, case.windows, norm, on.statistics(), epilogue)
            };
            let output = by(on.maps.clone(), on.weight.clone(), on.norm(), identity(on));
            // Without gradients it is a single operation.
            let [gain, shift] = [&on.gain, &on.bias].map(|tensor| tensor.clone().set_require_grad(false));
            let [maps, weight] = [&on.maps, &on.weight].map(|tensor| tensor.clone().set_require_grad(false));
            let constant = identity(on).map(|identity| identity.set_require_grad(false));
            let alone = by(maps, weight, Norm { gain, shift, epsilon: EPSILON }, constant);
            assert!(!alone.is_tracked());
            let worst = (alone - output.clone()).abs().max().into_scalar::<f64>();
            assert!(worst < 1e-4, "{case:?}: {worst}");
            output
        };
        let name = format!("by statistics, {added}, {rectified}");
        check_on(&name, case, case.maps(), takes(case, added, rectified), plain, ours);
    }
}

/// If some of the inputs need no gradient, the others still get theirs.
#[test]
fn inputs_without_a_gradient_change_no_other() {
    for target in targets() {
        // ndarray has one body for convolutions of any size, and is slow: it takes a smaller layer of that kind, on one image.
        let case = if target.name == "ndarray" { &CASES[3] } else { &CASES[0] };
        let inputs = case.inputs();
        let run = |frozen: usize| {
            let mut on = On::new(case, &inputs, &target);
            match frozen {
                1 => on.maps = on.maps.set_require_grad(false),
                2 => on.weight = on.weight.set_require_grad(false),
                3 => on.gain = on.gain.set_require_grad(false),
                4 => on.identity = on.identity.set_require_grad(false),
                _ => {}
            }
            let (maps, weight) = (on.maps.clone(), on.weight.clone());
            let epilogue = Epilogue::added_and_rectified(on.identity.clone());
            let output = convolve_normalised(maps, weight, case.windows, on.norm(), epilogue).0;
            on.results(output)
        };
        let all = run(0);
        for frozen in 1..=4 {
            let results = run(frozen);
            assert!(results.iter().any(|(_, result)| result.is_none()), "{frozen} on {}", target.name);
            for ((what, result), (_, expected)) in results.iter().zip(&all) {
                if let (Some(result), Some(expected)) = (result, expected) {
                    assert_close(result, expected, &target, what);
                }
            }
        }
    }
}
