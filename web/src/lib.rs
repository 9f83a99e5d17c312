//! The wasm-bindgen package.
