use burn::backend::Flex;
use burn::backend::tensor::FloatTensor;

use super::memory::{contiguous, floats, in_place, is_f32, tensor};
use crate::RowOps;
use crate::cpu::rows;
use crate::ops::rows::{
    plain_row_softmax, plain_row_softmax_backward, plain_soft_cross_entropy, plain_unit_rows,
    plain_unit_rows_backward,
};

impl RowOps for Flex {
    fn unit_rows(x: FloatTensor<Self>) -> (FloatTensor<Self>, FloatTensor<Self>) {
        if !is_f32(&x) {
            return plain_unit_rows::<Self>(x);
        }
        let [count, width] = x.layout().shape().dims();
        let (unit, scale) = in_place(x, |x| rows::unit_rows(x, width));
        (unit, tensor(scale, [count, 1]))
    }

    fn unit_rows_backward(
        unit: FloatTensor<Self>,
        scale: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
    ) -> FloatTensor<Self> {
        if ![&unit, &scale, &gradient].into_iter().all(is_f32) {
            return plain_unit_rows_backward::<Self>(unit, scale, gradient);
        }
        let (unit, scale) = (contiguous(unit), contiguous(scale));
        in_place(gradient, |gradient| rows::unit_rows_backward(gradient, floats(&unit), floats(&scale))).0
    }

    fn row_softmax(x: FloatTensor<Self>) -> (FloatTensor<Self>, FloatTensor<Self>) {
        if !is_f32(&x) {
            return plain_row_softmax::<Self>(x);
        }
        let [count, columns] = x.layout().shape().dims();
        let (softmax, log_sum) = in_place(x, |x| rows::row_softmax(x, columns));
        (softmax, tensor(log_sum, [count, 1]))
    }

    fn row_softmax_backward(softmax: FloatTensor<Self>, gradient: FloatTensor<Self>) -> FloatTensor<Self> {
        if !is_f32(&softmax) || !is_f32(&gradient) {
            return plain_row_softmax_backward::<Self>(softmax, gradient);
        }
        let [_, columns] = softmax.layout().shape().dims();
        let softmax = contiguous(softmax);
        in_place(gradient, |gradient| rows::row_softmax_backward(gradient, floats(&softmax), columns)).0
    }

    fn soft_cross_entropy(
        scores: FloatTensor<Self>,
        targets: FloatTensor<Self>,
        temperature: f64,
    ) -> (FloatTensor<Self>, FloatTensor<Self>) {
        if !is_f32(&scores) || !is_f32(&targets) {
            return plain_soft_cross_entropy::<Self>(scores, targets, temperature);
        }
        let [count, columns] = scores.layout().shape().dims();
        let (targets, scale) = (contiguous(targets), temperature.recip() as f32);
        let evaluate =
            |scores: &mut [f32]| rows::soft_cross_entropy(scores, floats(&targets), columns, scale);
        let (grad_logits, losses) = in_place(scores, evaluate);
        (tensor(losses, [count, 1]), grad_logits)
    }
}
