use burn::tensor::Tensor;
use simile_core::kernel::Kernel;
use simile_core::loss::{self, CclkSettings, FairCclk, batch::Batch};
use simile_core::{error::Result, numeric::matrix::Matrix};

/// The loss of two views of a batch whose embeddings are to hide `attribute`; `.backward()` goes on from it.
fn fair_loss(view_a: Tensor<2>, view_b: Tensor<2>, attribute: Matrix) -> Result<Tensor<1>> {
    let kernel = Kernel::rbf(5.0);
    let settings = CclkSettings { kernel, temperature: 0.5, lambda: 0.01, ..CclkSettings::default() };
    let batch = Batch::views(view_a, view_b).with_condition("z", attribute);
    loss::loss(&FairCclk(settings), &batch)
}
