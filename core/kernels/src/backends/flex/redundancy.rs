use burn::backend::Flex;
use burn::backend::tensor::FloatTensor;

use super::memory::{in_place, is_f32, tensor};
use crate::RedundancyOps;
use crate::cpu::redundancy::redundancy;
use crate::ops::redundancy::plain_redundancy;

impl RedundancyOps for Flex {
    fn redundancy(
        a: FloatTensor<Self>,
        b: FloatTensor<Self>,
        off_diagonal: f64,
        eps: f64,
    ) -> (FloatTensor<Self>, FloatTensor<Self>, FloatTensor<Self>) {
        if !is_f32(&a) || !is_f32(&b) {
            return plain_redundancy::<Self>(a, b, off_diagonal, eps);
        }
        let [count, width] = a.layout().shape().dims();
        let evaluate = |a: &mut [f32]| {
            let views = |b: &mut [f32]| redundancy([a, b], width, off_diagonal as f32, eps as f32);
            in_place(b, views).1
        };
        let (loss, [grad_a, grad_b]) = in_place(a, evaluate).1;
        (tensor(vec![loss], [1]), tensor(grad_a, [count, width]), tensor(grad_b, [count, width]))
    }
}
