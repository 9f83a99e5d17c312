use burn::tensor::Tensor;
use simile_core::loss::{self, batch::Batch};
use simile_core::{error::Result, numeric::matrix::Matrix};

/// The loss of two views of a batch whose embeddings are to hide `attribute`; `.backward()` goes on from it.
fn fair_loss(view_a: Tensor<2>, view_b: Tensor<2>, attribute: Matrix) -> Result<Tensor<1>> {
    let kernel = serde_json::json!({ "name": "rbf", "sigma": 5.0 });
    let settings = serde_json::json!({ "temperature": 0.5, "lambda": 0.01, "kernel": kernel });
    let objective = loss::build("fair-cclk", None, settings)?;
    let batch = Batch::views(view_a, view_b).with_condition("z", attribute);
    loss::loss(objective.as_ref(), &batch)
}
