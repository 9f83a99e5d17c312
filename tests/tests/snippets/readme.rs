//! The Rust of the README, which is the file `library.rs`.

use burn::tensor::{Device, TensorData};

include!("library.rs");

/// Numbers between -1 and 1 without a pattern.
fn drawn(rows: usize, columns: usize, salt: f32, device: &Device) -> Tensor<2> {
    let values: Vec<f32> = (0..rows * columns).map(|at| (at as f32 * 12.9898 + salt).sin()).collect();
    Tensor::from_data(TensorData::new(values, [rows, columns]), device)
}

#[test]
fn the_example_of_the_readme_compiles_and_learns() {
    let readme = include_str!("../../../README.md");
    let example = format!("```rust\n{}```\n", include_str!("library.rs"));
    assert!(readme.contains(&example), "README.md lacks tests/tests/snippets/library.rs as it stands");

    let device = Device::flex().autodiff();
    let (image, noise) = (drawn(16, 8, 0.0, &device), drawn(16, 8, 1.0, &device) * 0.1);
    let weight = drawn(8, 4, 2.0, &device).require_grad();
    let ages = Matrix::from_fn(16, 1, |i, _| 30.0 + 2.0 * i as f64);
    let loss = |weight: Tensor<2>| {
        let view = |image: Tensor<2>| image.matmul(weight.clone());
        fair_loss(view(image.clone()), view(image.clone() + noise.clone()), ages.clone()).unwrap()
    };
    let first = loss(weight.clone());
    let gradient = weight.grad(&first.backward()).unwrap();
    let second = loss(Tensor::from_data((weight.inner() - gradient * 0.01).into_data(), &device));
    let [first, second]: [f64; 2] = [first, second].map(Tensor::into_scalar);
    assert!(second < first, "a step against the gradient takes the loss from {first} to {second}");
}
