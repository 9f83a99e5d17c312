//! The wasm-bindgen layer of the npm package `simile-web`: numbers in, numbers out. The TypeScript in `web/js` fetches,
//! decodes images, and runs workers and queues.

pub mod catalogue;
pub mod device;
pub mod digits;
pub mod encoder;
pub mod lab;
mod mathml;
pub mod trainer;
mod warning;

use wasm_bindgen::prelude::wasm_bindgen;

#[cfg(target_family = "wasm")]
#[allow(unsafe_code)]
mod constructors {
    unsafe extern "C" {
        fn __wasm_call_ctors();
    }

    /// Runs the linker's constructors once.
    ///
    /// Without this call, wasm-ld wraps every export in a call of all of them; the WebGPU backend registers
    /// hundreds, and each call into the module then takes milliseconds.
    pub(crate) fn run() {
        // SAFETY: wasm-bindgen calls `start` once, before any other export, and nothing else calls this function.
        unsafe { __wasm_call_ctors() }
    }
}

/// Prepares the module; wasm-bindgen calls it when the module is instantiated.
#[wasm_bindgen(start)]
pub fn start() {
    #[cfg(target_family = "wasm")]
    {
        constructors::run();
        console_error_panic_hook::set_once();
    }
}
