use burn::backend::Flex;
use burn::backend::tensor::FloatTensor;

use super::memory::{contiguous, floats, is_f32, tensor};
use crate::UniformityOps;
use crate::cpu::uniformity::uniformity;
use crate::ops::uniformity::{about_mean, by_pairs};

impl UniformityOps for Flex {
    fn uniformity(
        rows: FloatTensor<Self>,
        t: f64,
        tile: Option<usize>,
    ) -> (FloatTensor<Self>, FloatTensor<Self>) {
        let rows = about_mean::<Self>(rows);
        if !is_f32(&rows) {
            return by_pairs::<Self>(rows, t, tile);
        }
        let rows = contiguous(rows);
        let [n, width] = rows.layout().shape().dims();
        match uniformity(floats(&rows), width, t) {
            Some((value, gradient)) => (tensor(vec![value], [1]), tensor(gradient, [n, width])),
            None => by_pairs::<Self>(rows, t, tile),
        }
    }
}
