use burn::backend::cubecl::dtype_to_elem_type;
use burn::backend::ops::FloatTensorOps;
use burn::backend::tensor::FloatTensor;
use burn::tensor::{DType, Shape};
use burn_cubecl::CubeBackend;
use burn_cubecl::kernel::into_contiguous;
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::{CubeCount, CubeDim};

use super::memory::empty;
use crate::cube::norm::{
    RowSharesLaunch, UNITS, grad_sums, join_grad_sums, join_moments, moments, normalise, normalise_backward,
};
use crate::ops::normalisation::{
    plain_normalise_batch, plain_normalise_batch_backward, plain_normalise_rectified_backward,
    plain_normalise_with_epilogue,
};
use crate::ops::optional::Optional;
use crate::{NormalisationGradients, NormalisationOps};

/// Number of cubes that keep a GPU busy: more only add work to combine their results.
const CUBES: usize = 1024;
/// Minimum number of rows of a unit, if there are enough.
const LEAST: usize = 8;
/// Number of units across the channels that read memory in one go.
const ACROSS: usize = 32;

/// An output with its mean and biased variance.
type Normalised = (FloatTensor<CubeBackend>, FloatTensor<CubeBackend>, FloatTensor<CubeBackend>);
/// The gradients of values, gain and shift.
type Gradients = (FloatTensor<CubeBackend>, FloatTensor<CubeBackend>, FloatTensor<CubeBackend>);

impl NormalisationOps for CubeBackend {
    fn normalise_batch(
        x: FloatTensor<Self>,
        gain: FloatTensor<Self>,
        shift: FloatTensor<Self>,
        epsilon: f64,
    ) -> Normalised {
        if !takes(&x, &[&gain, &shift]) {
            return plain_normalise_batch::<Self>(x, gain, shift, epsilon);
        }
        let shape = x.meta.shape().clone();
        let (y, mean, variance) = forward(rows(x), [gain, shift], None, epsilon, false);
        (from_rows(y, shape), mean, variance)
    }

    fn normalise_with_epilogue(
        x: FloatTensor<Self>,
        gain: FloatTensor<Self>,
        shift: FloatTensor<Self>,
        identity: Optional<Self>,
        epsilon: f64,
        rectified: bool,
    ) -> Normalised {
        let identity = identity.into_option();
        let is_other_type = |identity: &CubeTensor| identity.dtype != x.dtype;
        if !takes(&x, &[&gain, &shift]) || identity.as_ref().is_some_and(is_other_type) {
            let identity = Optional::of(identity);
            return plain_normalise_with_epilogue::<Self>(x, [gain, shift], identity, epsilon, rectified);
        }
        let identity = identity.map(into_contiguous);
        forward(into_contiguous(x), [gain, shift], identity, epsilon, rectified)
    }
}

impl NormalisationGradients for CubeBackend {
    fn normalise_batch_backward(
        x: FloatTensor<Self>,
        gain: FloatTensor<Self>,
        mean: FloatTensor<Self>,
        variance: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
        epsilon: f64,
    ) -> Gradients {
        if !takes(&x, &[&gain, &mean, &variance]) || gradient.dtype != x.dtype {
            return plain_normalise_batch_backward::<Self>(x, gain, mean, variance, gradient, epsilon);
        }
        let shape = x.meta.shape().clone();
        // Without a rectifier no shift is read.
        let constants = Constants { shift: gain.clone(), gain, mean, variance, epsilon };
        let (grad_x, gain, shift) = backward(rows(x), rows(gradient), constants, false);
        (from_rows(grad_x, shape), gain, shift)
    }

    fn normalise_rectified_backward(
        x: FloatTensor<Self>,
        gain: FloatTensor<Self>,
        shift: FloatTensor<Self>,
        mean: FloatTensor<Self>,
        variance: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
        epsilon: f64,
    ) -> Gradients {
        if !takes(&x, &[&gain, &shift, &mean, &variance]) || gradient.dtype != x.dtype {
            let statistics = [mean, variance];
            return plain_normalise_rectified_backward::<Self>(
                x,
                [gain, shift],
                statistics,
                gradient,
                epsilon,
            );
        }
        let constants = Constants { gain, shift, mean, variance, epsilon };
        backward(into_contiguous(x), into_contiguous(gradient), constants, true)
    }
}

/// True if the kernels support tensors of these types: sums are in `f32`.
fn takes(x: &CubeTensor, constants: &[&CubeTensor]) -> bool {
    matches!(x.dtype, DType::F32 | DType::F16 | DType::BF16)
        && constants.iter().all(|constant| constant.dtype == DType::F32)
        && x.meta.shape().num_elements() > 0
}

/// `[n, channels, ...]` as rows `[n ..., channels]`.
fn rows(x: CubeTensor) -> CubeTensor {
    let dimensions = x.meta.shape().num_dims();
    if dimensions < 3 {
        return into_contiguous(x);
    }
    let channels = x.meta.shape()[1];
    let count = x.meta.shape().num_elements() / channels;
    let order: Vec<usize> = std::iter::once(0).chain(2..dimensions).chain([1]).collect();
    let places = into_contiguous(CubeBackend::float_permute(x, &order));
    CubeBackend::float_reshape(places, Shape::new([count, channels]))
}

/// The inverse of [`rows`], as a view.
fn from_rows(rows: CubeTensor, shape: Shape) -> CubeTensor {
    let dimensions = shape.num_dims();
    if dimensions < 3 {
        return rows;
    }
    let places: Vec<usize> =
        [0].into_iter().chain(2..dimensions).chain([1]).map(|axis| shape[axis]).collect();
    let places = CubeBackend::float_reshape(rows, Shape::from(places));
    let order: Vec<usize> = [0, dimensions - 1].into_iter().chain(1..dimensions - 1).collect();
    CubeBackend::float_permute(places, &order)
}

/// Rows normalised by their own statistics.
fn forward(
    x: CubeTensor,
    [gain, shift]: [CubeTensor; 2],
    identity: Option<CubeTensor>,
    epsilon: f64,
    rectified: bool,
) -> Normalised {
    let plan = Plan::of(&x);
    let [gain, shift] = [gain, shift].map(into_contiguous);
    let (mean, variance) = plan.moments(&x);
    let y = empty(&x, x.meta.shape().clone(), x.dtype);
    let (client, dtype) = (x.client.clone(), dtype_to_elem_type(x.dtype));
    let added = identity.is_some();
    // Without an identity none is read.
    let identity = identity.unwrap_or_else(|| x.clone());
    // SAFETY: units past the last vector or row read and write nothing.
    #[allow(unsafe_code, reason = "bounds checks cost as much as the arithmetic")]
    unsafe {
        normalise::launch_unchecked(
            &client,
            plan.cubes(),
            plan.units(),
            plan.width,
            x.into_tensor_arg(),
            identity.into_tensor_arg(),
            mean.clone().into_tensor_arg(),
            variance.clone().into_tensor_arg(),
            gain.into_tensor_arg(),
            shift.into_tensor_arg(),
            y.clone().into_tensor_arg(),
            epsilon as f32,
            plan.row_shares(),
            added,
            rectified,
            dtype,
        );
    }
    (y, mean, variance)
}

/// The constants of a normalisation, `[channels]` each.
struct Constants {
    gain: CubeTensor,
    /// Read only if the output was rectified.
    shift: CubeTensor,
    mean: CubeTensor,
    variance: CubeTensor,
    epsilon: f64,
}

impl Constants {
    fn contiguous(self) -> Self {
        Self {
            gain: into_contiguous(self.gain),
            shift: into_contiguous(self.shift),
            mean: into_contiguous(self.mean),
            variance: into_contiguous(self.variance),
            epsilon: self.epsilon,
        }
    }
}

/// The gradients of rows, gain and shift.
fn backward(x: CubeTensor, gradient: CubeTensor, constants: Constants, rectified: bool) -> Gradients {
    let plan = Plan::of(&x);
    let constants = constants.contiguous();
    let GradSums { grad_gain, grad_shift, middle_and_slope } =
        plan.grad_sums(&x, &gradient, &constants, rectified);
    let grad_x = empty(&x, x.meta.shape().clone(), x.dtype);
    let (client, dtype) = (x.client.clone(), dtype_to_elem_type(x.dtype));
    let Constants { gain, shift, mean, variance, epsilon } = constants;
    // SAFETY: units past the last vector or row read and write nothing.
    #[allow(unsafe_code, reason = "bounds checks cost as much as the arithmetic")]
    unsafe {
        normalise_backward::launch_unchecked(
            &client,
            plan.cubes(),
            plan.units(),
            plan.width,
            x.into_tensor_arg(),
            gradient.into_tensor_arg(),
            mean.into_tensor_arg(),
            variance.into_tensor_arg(),
            gain.into_tensor_arg(),
            shift.into_tensor_arg(),
            middle_and_slope.into_tensor_arg(),
            grad_x.clone().into_tensor_arg(),
            epsilon as f32,
            plan.row_shares(),
            rectified,
            dtype,
        );
    }
    (grad_x, grad_gain, grad_shift)
}

/// The partition of the rows of `[rows, channels]`.
struct Plan {
    rows: usize,
    channels: usize,
    /// Number of channels that a unit reads at once.
    width: usize,
    /// Number of vectors of a row.
    vectors: usize,
    /// Number of vectors of a row in a cube.
    across: usize,
    /// Number of rows of a cube.
    share: usize,
    shares: usize,
}

impl Plan {
    fn of(x: &CubeTensor) -> Self {
        let [rows, channels] = [0, 1].map(|axis| x.meta.shape()[axis]);
        let mut widths = x.client.properties().io_optimized_vector_sizes(x.dtype.size());
        let width = widths.find(|width| channels.is_multiple_of(*width)).unwrap_or(1);
        let vectors = channels / width;
        let across = vectors.next_power_of_two().min(ACROSS);
        let most = rows.div_ceil(UNITS / across * LEAST);
        let shares = (CUBES / vectors.div_ceil(across)).clamp(1, most.max(1));
        let share = rows.div_ceil(shares);
        Self { rows, channels, width, vectors, across, share, shares: rows.div_ceil(share) }
    }

    fn units(&self) -> CubeDim {
        CubeDim::new_2d(self.across as u32, (UNITS / self.across) as u32)
    }

    /// Cubes for all rows.
    fn cubes(&self) -> CubeCount {
        CubeCount::Static(self.vectors.div_ceil(self.across) as u32, self.shares as u32, 1)
    }

    fn row_shares(&self) -> RowSharesLaunch {
        RowSharesLaunch { vectors: self.vectors, rows: self.rows, share: self.share, across: self.across }
    }

    /// Cubes that join the shares, one for each vector of channels.
    fn joining(&self) -> (CubeCount, CubeDim) {
        (CubeCount::Static(self.vectors as u32, 1, 1), CubeDim::new_2d(1, UNITS as u32))
    }

    /// Mean and variance of each channel.
    fn moments(&self, x: &CubeTensor) -> (CubeTensor, CubeTensor) {
        let partials = empty(x, [2, self.shares, self.channels], DType::F32);
        let [mean, variance] = [(); 2].map(|()| empty(x, [self.channels], DType::F32));
        let (cubes, units) = self.joining();
        // SAFETY: units past the last vector, row or share read and write nothing.
        #[allow(unsafe_code, reason = "bounds checks cost as much as the arithmetic")]
        unsafe {
            moments::launch_unchecked(
                &x.client,
                self.cubes(),
                self.units(),
                self.width,
                x.clone().into_tensor_arg(),
                partials.clone().into_tensor_arg(),
                self.row_shares(),
                dtype_to_elem_type(x.dtype),
            );
            join_moments::launch_unchecked(
                &x.client,
                cubes,
                units,
                self.width,
                partials.into_tensor_arg(),
                mean.clone().into_tensor_arg(),
                variance.clone().into_tensor_arg(),
                self.vectors,
                self.rows,
                self.share,
                self.shares,
            );
        }
        (mean, variance)
    }

    /// The gradients of gain and shift, and the constants of that of the values.
    fn grad_sums(
        &self,
        x: &CubeTensor,
        gradient: &CubeTensor,
        constants: &Constants,
        rectified: bool,
    ) -> GradSums {
        let partials = empty(x, [2, self.shares, self.channels], DType::F32);
        let middle_and_slope = empty(x, [2, self.channels], DType::F32);
        let [grad_gain, grad_shift] = [(); 2].map(|()| empty(x, [self.channels], DType::F32));
        let epsilon = constants.epsilon as f32;
        let (cubes, units) = self.joining();
        // SAFETY: units past the last vector, row or share read and write nothing.
        #[allow(unsafe_code, reason = "bounds checks cost as much as the arithmetic")]
        unsafe {
            grad_sums::launch_unchecked(
                &x.client,
                self.cubes(),
                self.units(),
                self.width,
                x.clone().into_tensor_arg(),
                gradient.clone().into_tensor_arg(),
                constants.mean.clone().into_tensor_arg(),
                constants.variance.clone().into_tensor_arg(),
                constants.gain.clone().into_tensor_arg(),
                constants.shift.clone().into_tensor_arg(),
                partials.clone().into_tensor_arg(),
                epsilon,
                self.row_shares(),
                rectified,
                dtype_to_elem_type(x.dtype),
            );
            join_grad_sums::launch_unchecked(
                &x.client,
                cubes,
                units,
                self.width,
                partials.into_tensor_arg(),
                constants.variance.clone().into_tensor_arg(),
                grad_gain.clone().into_tensor_arg(),
                grad_shift.clone().into_tensor_arg(),
                middle_and_slope.clone().into_tensor_arg(),
                epsilon,
                self.vectors,
                self.rows,
                self.shares,
            );
        }
        GradSums { grad_gain, grad_shift, middle_and_slope }
    }
}

/// The sums of a backward pass over the rows of each channel.
struct GradSums {
    grad_gain: CubeTensor,
    grad_shift: CubeTensor,
    /// Two a channel.
    middle_and_slope: CubeTensor,
}
