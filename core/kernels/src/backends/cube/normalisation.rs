use burn::backend::cubecl::dtype_to_elem_type;
use burn::backend::tensor::FloatTensor;
use burn::tensor::{DType, Shape};
use burn_cubecl::CubeBackend;
use burn_cubecl::kernel::into_contiguous;
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::{CubeCount, CubeDim};

use super::memory::{empty, one_each};
use crate::NormalisationOps;
use crate::cube::norm::{UNITS, join_moments, join_slopes, moments, normalise, pull_back, slopes};
use crate::ops::normalisation::{plain_normalise_batch, plain_normalise_batch_backward};

/// Number of cubes that keep a GPU busy: more only add work to combine their results.
const CUBES: usize = 512;
/// Minimum number of positions of a unit, if there are enough.
const LEAST: usize = 8;
/// Minimum number of contiguous values of a channel for units to lie along them instead of along the channels.
const SIDE_BY_SIDE: usize = 8;

impl NormalisationOps for CubeBackend {
    fn normalise_batch(
        x: FloatTensor<Self>,
        gain: FloatTensor<Self>,
        shift: FloatTensor<Self>,
        epsilon: f64,
    ) -> (FloatTensor<Self>, FloatTensor<Self>, FloatTensor<Self>) {
        if !takes(&x, &[&gain, &shift]) {
            return plain_normalise_batch::<Self>(x, gain, shift, epsilon);
        }
        let (x, gain, shift) = (into_contiguous(x), into_contiguous(gain), into_contiguous(shift));
        let plan = Plan::of(x.meta.shape());
        let (mean, variance) = plan.moments(&x);
        let y = empty(&x, x.meta.shape().clone(), x.dtype);
        let (cubes, units) = one_each(&x, plan.count());
        normalise::launch(
            &y.client,
            cubes,
            units,
            x.into_tensor_arg(),
            mean.clone().into_tensor_arg(),
            variance.clone().into_tensor_arg(),
            gain.into_tensor_arg(),
            shift.into_tensor_arg(),
            y.clone().into_tensor_arg(),
            epsilon as f32,
            plan.channels,
            plan.inner,
            plan.count(),
            dtype_to_elem_type(y.dtype),
        );
        (y, mean, variance)
    }

    fn normalise_batch_backward(
        x: FloatTensor<Self>,
        gain: FloatTensor<Self>,
        mean: FloatTensor<Self>,
        variance: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
        epsilon: f64,
    ) -> (FloatTensor<Self>, FloatTensor<Self>, FloatTensor<Self>) {
        if !takes(&x, &[&gain, &mean, &variance]) || gradient.dtype != x.dtype {
            return plain_normalise_batch_backward::<Self>(x, gain, mean, variance, gradient, epsilon);
        }
        let (x, gradient, gain) = (into_contiguous(x), into_contiguous(gradient), into_contiguous(gain));
        let (mean, variance) = (into_contiguous(mean), into_contiguous(variance));
        let plan = Plan::of(x.meta.shape());
        let Slopes { grad_gain, grad_shift, constants } =
            plan.slopes([&x, &gradient], [gain, mean, variance], epsilon);
        let grad_x = empty(&x, x.meta.shape().clone(), x.dtype);
        let (cubes, units) = one_each(&x, plan.count());
        pull_back::launch(
            &grad_x.client,
            cubes,
            units,
            x.into_tensor_arg(),
            gradient.into_tensor_arg(),
            constants.into_tensor_arg(),
            grad_x.clone().into_tensor_arg(),
            plan.channels,
            plan.inner,
            plan.count(),
            dtype_to_elem_type(grad_x.dtype),
        );
        (grad_x, grad_gain, grad_shift)
    }
}

/// True if the kernels support tensors of these types: sums are in `f32`.
fn takes(x: &CubeTensor, constants: &[&CubeTensor]) -> bool {
    matches!(x.dtype, DType::F32 | DType::F16 | DType::BF16)
        && constants.iter().all(|constant| constant.dtype == DType::F32)
        && x.meta.shape().num_elements() > 0
}

/// The partition of a reduction over the positions of each channel.
struct Plan {
    channels: usize,
    /// Number of contiguous values of a channel.
    inner: usize,
    /// Number of values of a channel.
    positions: usize,
    /// Number of adjacent channels in a cube.
    lanes: usize,
    /// Number of positions of a share.
    share: usize,
    shares: usize,
}

impl Plan {
    fn of(shape: &Shape) -> Self {
        let channels = shape.iter().nth(1).copied().unwrap_or(1);
        let inner = shape.iter().skip(2).product();
        let positions = shape.num_elements() / channels.max(1);
        let lanes = if inner >= SIDE_BY_SIDE { 1 } else { channels.next_power_of_two().min(32) };
        let most = positions.div_ceil(UNITS / lanes * LEAST);
        let shares = (CUBES / channels.div_ceil(lanes)).clamp(1, most.max(1));
        let share = positions.div_ceil(shares);
        Self { channels, inner, positions, lanes, share, shares: positions.div_ceil(share) }
    }

    fn count(&self) -> usize {
        self.channels * self.positions
    }

    fn cubes(&self) -> (CubeCount, CubeDim) {
        let (across, along) = (self.channels.div_ceil(self.lanes), self.shares);
        let dim = CubeDim::new_2d(self.lanes as u32, (UNITS / self.lanes) as u32);
        (CubeCount::Static(across as u32, along as u32, 1), dim)
    }

    /// Mean and variance of each channel.
    fn moments(&self, x: &CubeTensor) -> (CubeTensor, CubeTensor) {
        let partials = empty(x, [2, self.shares, self.channels], DType::F32);
        let [mean, variance] = [(); 2].map(|()| empty(x, [self.channels], DType::F32));
        let (cubes, units) = self.cubes();
        moments::launch(
            &x.client,
            cubes,
            units,
            x.clone().into_tensor_arg(),
            partials.clone().into_tensor_arg(),
            self.channels,
            self.inner,
            self.positions,
            self.share,
            self.lanes,
            self.inner == 1,
            dtype_to_elem_type(x.dtype),
        );
        let (cubes, units) = one_each(x, self.channels);
        join_moments::launch(
            &x.client,
            cubes,
            units,
            partials.into_tensor_arg(),
            mean.clone().into_tensor_arg(),
            variance.clone().into_tensor_arg(),
            self.channels,
            self.shares,
            self.positions,
            self.share,
        );
        (mean, variance)
    }

    /// The gradients of gain and shift, and the constants of that of the values.
    fn slopes(
        &self,
        [x, gradient]: [&CubeTensor; 2],
        [gain, mean, variance]: [CubeTensor; 3],
        epsilon: f64,
    ) -> Slopes {
        let partials = empty(x, [2, self.shares, self.channels], DType::F32);
        let constants = empty(x, [4, self.channels], DType::F32);
        let [grad_gain, grad_shift] = [(); 2].map(|()| empty(x, [self.channels], DType::F32));
        let (cubes, units) = self.cubes();
        slopes::launch(
            &x.client,
            cubes,
            units,
            x.clone().into_tensor_arg(),
            gradient.clone().into_tensor_arg(),
            mean.clone().into_tensor_arg(),
            partials.clone().into_tensor_arg(),
            self.channels,
            self.inner,
            self.positions,
            self.share,
            self.lanes,
            self.inner == 1,
            dtype_to_elem_type(x.dtype),
        );
        let (cubes, units) = one_each(x, self.channels);
        join_slopes::launch(
            &x.client,
            cubes,
            units,
            partials.into_tensor_arg(),
            gain.into_tensor_arg(),
            mean.into_tensor_arg(),
            variance.into_tensor_arg(),
            grad_gain.clone().into_tensor_arg(),
            grad_shift.clone().into_tensor_arg(),
            constants.clone().into_tensor_arg(),
            epsilon as f32,
            self.channels,
            self.shares,
            self.positions,
        );
        Slopes { grad_gain, grad_shift, constants }
    }
}

/// The sums of a backward pass over the positions of each channel.
struct Slopes {
    grad_gain: CubeTensor,
    grad_shift: CubeTensor,
    /// Four a channel.
    constants: CubeTensor,
}
