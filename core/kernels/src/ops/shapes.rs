//! Checks of shapes, before a backend gets the tensors. Functions of this crate call backends directly, past the checks of Burn's
//! `Tensor`, and kernels of GPUs check no bounds: with other shapes they would read other numbers.

use burn::tensor::Tensor;

/// Panics in the form of Burn's own checks unless the shapes of an operation's arguments fit each other.
#[track_caller]
pub(super) fn check(operation: &str, fits: bool, reason: impl FnOnce() -> String) {
    assert!(
        fits,
        "=== Tensor Operation Error ===\n  Operation: '{operation}'\n  Reason:\n    1. {}\n",
        reason()
    );
}

/// Panics unless each vector, given with its name, has a number for each channel.
#[track_caller]
pub(super) fn check_channels<const N: usize>(
    operation: &str,
    channels: usize,
    vectors: [(&str, &Tensor<1>); N],
) {
    for (name, vector) in vectors {
        let [length] = vector.dims();
        check(operation, length == channels, || {
            format!("The {name} must have a number for each channel: {channels}, not {length}.")
        });
    }
}
