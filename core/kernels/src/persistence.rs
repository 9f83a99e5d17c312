/// Has CubeCL's backends keep the kernels that they compile on the disk, in the folder in which they keep those that they chose for a
/// shape: `~/.cache/cubecl` on Linux, or `target/environment` of the Cargo project around the working directory. A file `cubecl.toml`
/// or `CUBECL_*` variables set everything else.
///
/// Without effect in a build without the feature `persistence` or a GPU's backend, on a web page, and once a device was opened.
pub fn keep_compiled_kernels() {
    #[cfg(all(feature = "cube", feature = "persistence", not(target_family = "wasm")))]
    {
        use cubecl::config::{CubeClRuntimeConfig, RuntimeConfig as _};

        let mut config = CubeClRuntimeConfig::from_current_dir().override_from_env();
        config.compilation.cache = true;
        // False if a device read the settings before: it then works with those.
        CubeClRuntimeConfig::try_set(config);
    }
}
