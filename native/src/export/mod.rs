//! Files for other programs: vectors as NumPy's `.npy`, CSV or Parquet, and encoders as PyTorch code or in ONNX.

pub(crate) mod annotated;
pub(crate) mod onnx;
pub(crate) mod pytorch;
pub(crate) mod vectors;
