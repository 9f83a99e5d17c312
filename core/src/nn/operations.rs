//! A network as a list of operations on named tensors, for formats that hold a network as a graph.
//!
//! Each [`Design`](super::design::Design) states its list beside its layers. Tensors are those of a checkpoint: a layer
//! `conv1` has `conv1.weight`, and `conv1.bias` where the file has one. Maps are `[n, channels, height, width]`.

/// A step of a network in evaluation.
#[derive(Debug, Clone, PartialEq)]
pub enum Operation {
    /// A convolution of `[outputs, inputs, side, side]`, zeros around the maps.
    Convolution {
        /// The layer.
        name: String,
        /// Stride: positions from one window to the next.
        stride: usize,
        /// Rows and columns of zeros at each side.
        padding: usize,
    },
    /// Batch norm by running statistics: `name.running_mean`, `name.running_var`, `name.weight`, `name.bias`.
    BatchNorm {
        /// The layer.
        name: String,
    },
    /// `max(x, 0)`.
    Relu,
    /// `x` above 0, else `slope x`.
    LeakyRelu {
        /// The factor below 0.
        slope: f64,
    },
    /// The hyperbolic tangent.
    Tanh,
    /// The largest value of each window.
    MaxPool {
        /// Side of a window.
        side: usize,
        /// Stride: positions from one window to the next.
        stride: usize,
        /// Rows and columns of padding at each side, which the maximum ignores.
        padding: usize,
    },
    /// The mean of each window; windows do not overlap, and rows and columns left over are dropped.
    AvgPool {
        /// Side of a window.
        side: usize,
    },
    /// The mean over all positions: rows `[n, channels]`.
    GlobalAvgPool,
    /// Maps in a row, channel by channel: `[n, channels height width]`.
    Flatten,
    /// `x Wᵀ + b` of rows, `W` of `[outputs, inputs]`.
    Linear {
        /// The layer.
        name: String,
    },
    /// Maps to tokens: rows `[n (1 + height width), channels]`, of each image first `class`, then its places line by line, plus
    /// `positions`. Tensors `[1, 1, channels]` and `[1, 1 + height width, channels]`.
    Tokens {
        /// The tensor of the first token.
        class: String,
        /// The tensor that is added.
        positions: String,
    },
    /// Rows less their mean, by `√(variance + epsilon)`, times `name.weight`, plus `name.bias`.
    LayerNorm {
        /// The layer.
        name: String,
        /// The constant that is added to the variance.
        epsilon: f64,
    },
    /// Attention between the tokens of each image, rows to rows: `softmax(q kᵀ / √e) v` for each head, with queries, keys and
    /// values one after the other from the linear layer `name.qkv`; then the linear layer `name.proj`.
    Attention {
        /// The layer.
        name: String,
        /// Parts of a row that attend on their own, of `e` numbers each.
        heads: usize,
        /// Rows of an image.
        tokens: usize,
    },
    /// `x Φ(x)` with the distribution function of the normal distribution.
    Gelu,
    /// The first of the `tokens` rows of each image.
    FirstToken {
        /// Rows of an image.
        tokens: usize,
    },
    /// The sum of two branches that both begin here; an empty one is the input itself.
    Sum([Vec<Operation>; 2]),
}

impl Operation {
    /// A convolution.
    pub(super) fn convolution(name: impl Into<String>, stride: usize, padding: usize) -> Self {
        Self::Convolution { name: name.into(), stride, padding }
    }

    /// Batch norm.
    pub(super) fn batch_norm(name: impl Into<String>) -> Self {
        Self::BatchNorm { name: name.into() }
    }

    /// A linear layer.
    pub(super) fn linear(name: impl Into<String>) -> Self {
        Self::Linear { name: name.into() }
    }
}
