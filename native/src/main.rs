//! The command line of Simile.
mod data;

fn main() {
    let device = burn::tensor::Device::flex().autodiff();
    let x = burn::tensor::Tensor::<2>::ones([2, 2], &device);
    eprintln!("{}", x.sum().into_scalar::<f32>());
}
