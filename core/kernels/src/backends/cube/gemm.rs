use burn::backend::TensorMetadata;
use burn::backend::cubecl::dtype_to_storage_type;
use burn::backend::ops::FloatTensorOps;
use burn::backend::tensor::FloatTensor;
use burn::tensor::DType;
use burn_cubecl::CubeBackend;
use burn_cubecl::tensor::CubeTensor;
use cubek::matmul::definition::{MatmulElems, MatmulGlobalElems};
use cubek::matmul::launch::launch_ref;
use cubek::matmul::multi_level::Strategy;
use cubek::std::InputBinding;

use super::memory::empty;
use crate::GemmOps;
use crate::ops::gemm::plain_gemm;

impl GemmOps for CubeBackend {
    fn gemm(a: FloatTensor<Self>, b: FloatTensor<Self>) -> FloatTensor<Self> {
        let ([rows, k], [_, columns]) = (a.shape().dims(), b.shape().dims());
        let is_single = a.dtype == DType::F32 && b.dtype == DType::F32;
        if !is_single || [rows, k, columns].contains(&0) {
            return plain_gemm::<Self>(a, b);
        }
        let out = empty(&a, [rows, columns], DType::F32);
        // Without matrix units. The second takes every shape; if it refused one after all, Burn's product would follow, with fewer digits.
        for strategy in [Strategy::SimpleUnit(Default::default()), Strategy::Naive] {
            if multiplied(strategy, a.clone(), b.clone(), &out) {
                return out;
            }
        }
        Self::float_matmul(a, b)
    }
}

/// Writes the product of `a` and `b` to `out`. False if the kernel refuses the shapes.
fn multiplied(strategy: Strategy, a: CubeTensor, b: CubeTensor, out: &CubeTensor) -> bool {
    let single = dtype_to_storage_type(DType::F32);
    let mut types = MatmulElems::from_globals(&MatmulGlobalElems { lhs: single, rhs: single, out: single });
    let [a, b] = [a, b].map(|factor| InputBinding::new(factor.binding(), single));
    launch_ref(&strategy.into(), &out.client, a, b, out.clone().binding(), &mut types).is_ok()
}
