use burn::backend::Flex;
use burn::backend::tensor::FloatTensor;

use super::memory::{contiguous, floats, in_place, is_f32};
use crate::SinkhornOps;
use crate::cpu::sinkhorn::{largest_score, sinkhorn};
use crate::ops::sinkhorn::plain_sinkhorn;

impl SinkhornOps for Flex {
    fn sinkhorn(scores: FloatTensor<Self>, epsilon: f64, iterations: usize) -> FloatTensor<Self> {
        if !is_f32(&scores) {
            return plain_sinkhorn::<Self>(scores, epsilon, iterations);
        }
        let (scores, scale) = (contiguous(scores), epsilon.recip() as f32);
        let [_, columns] = scores.layout().shape().dims();
        let Some(largest) = largest_score(floats(&scores), scale) else {
            return plain_sinkhorn::<Self>(scores, epsilon, iterations);
        };
        in_place(scores, |scores| sinkhorn(scores, columns, largest, scale, iterations)).0
    }
}
