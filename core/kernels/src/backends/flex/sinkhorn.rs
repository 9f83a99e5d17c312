use burn::backend::Flex;
use burn::backend::tensor::FloatTensor;

use super::memory::{contiguous, floats, in_place, is_f32};
use super::rows::sides;
use crate::SinkhornOps;
use crate::cpu::sinkhorn;
use crate::ops::sinkhorn::plain_sinkhorn;

impl SinkhornOps for Flex {
    fn sinkhorn(scores: FloatTensor<Self>, epsilon: f64, iterations: usize) -> FloatTensor<Self> {
        if !is_f32(&scores) {
            return plain_sinkhorn::<Self>(scores, epsilon, iterations);
        }
        let (scores, scale) = (contiguous(scores), epsilon.recip() as f32);
        let [_, columns] = sides(&scores);
        let Some(largest) = sinkhorn::largest(floats(&scores), scale) else {
            return plain_sinkhorn::<Self>(scores, epsilon, iterations);
        };
        in_place(scores, |scores| sinkhorn::assign(scores, columns, largest, scale, iterations)).0
    }
}
