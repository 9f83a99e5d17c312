//! What an operation means: a trait a family, whose default bodies are plain Burn, and functions on tensors.

pub(crate) mod activation;
