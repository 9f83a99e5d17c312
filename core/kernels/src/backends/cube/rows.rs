use burn::backend::TensorMetadata;
use burn::backend::tensor::FloatTensor;
use burn::tensor::DType;
use burn_cubecl::CubeBackend;
use burn_cubecl::kernel::into_contiguous;

use super::memory::{empty, lanes, one_each};
use crate::RowOps;
use crate::cube::rows::{unit_rows, unit_rows_backward};
use crate::ops::rows::{SMALLEST_NORM, plain_unit_rows, plain_unit_rows_backward};

impl RowOps for CubeBackend {
    fn unit_rows(x: FloatTensor<Self>) -> (FloatTensor<Self>, FloatTensor<Self>) {
        let [rows, width] = x.shape().dims();
        if x.dtype != DType::F32 {
            return plain_unit_rows::<Self>(x);
        }
        let x = into_contiguous(x);
        let (unit, scale) = (empty(&x, [rows, width], x.dtype), empty(&x, [rows, 1], x.dtype));
        let (client, lanes) = (x.client.clone(), lanes(width));
        let (cubes, units) = one_each(&x, rows);
        // SAFETY: units past the last row return at once, and the others have a row of their own.
        #[allow(unsafe_code, reason = "bounds checks cost as much as the arithmetic")]
        unsafe {
            unit_rows::launch_unchecked(
                &client,
                cubes,
                units,
                lanes,
                x.into_tensor_arg(),
                unit.clone().into_tensor_arg(),
                scale.clone().into_tensor_arg(),
                SMALLEST_NORM as f32,
                rows,
                width / lanes,
                lanes,
            );
        }
        (unit, scale)
    }

    fn unit_rows_backward(
        unit: FloatTensor<Self>,
        scale: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
    ) -> FloatTensor<Self> {
        let [rows, width] = unit.shape().dims();
        let is_single = [&unit, &scale, &gradient].into_iter().all(|tensor| tensor.dtype == DType::F32);
        if !is_single {
            return plain_unit_rows_backward::<Self>(unit, scale, gradient);
        }
        let (unit, scale, gradient) =
            (into_contiguous(unit), into_contiguous(scale), into_contiguous(gradient));
        let out = empty(&unit, [rows, width], unit.dtype);
        let (client, lanes) = (unit.client.clone(), lanes(width));
        let (cubes, units) = one_each(&unit, rows);
        // SAFETY: units past the last row return at once, and the others have a row of their own.
        #[allow(unsafe_code, reason = "bounds checks cost as much as the arithmetic")]
        unsafe {
            unit_rows_backward::launch_unchecked(
                &client,
                cubes,
                units,
                lanes,
                unit.into_tensor_arg(),
                scale.into_tensor_arg(),
                gradient.into_tensor_arg(),
                out.clone().into_tensor_arg(),
                rows,
                width / lanes,
                lanes,
            );
        }
        out
    }
}
