//! The environment that Mesa's graphics drivers look for a display in.

/// Gives the process a variable `XDG_RUNTIME_DIR` where it has none, as without a desktop. To be called before anything else runs.
///
/// A layer that Mesa adds to Vulkan (`VK_LAYER_MESA_device_select`) asks for a Wayland display each time that devices are listed, and
/// without that variable libwayland writes an error into the terminal, although nothing is wrong. A value that is no folder has the same
/// outcome without the words, and leaves the order of the devices as it is, which switching the layer off could change.
#[cfg(all(target_os = "linux", any(feature = "wgpu", feature = "vulkan")))]
#[allow(unsafe_code, reason = "only the process itself can change its environment")]
pub(crate) fn without_desktop() {
    const VARIABLE: &str = "XDG_RUNTIME_DIR";
    /// Nothing can be written there.
    const NOWHERE: &str = "/dev/null";

    if std::env::var_os(VARIABLE).is_none() {
        // SAFETY: it is the first call of `main`, so that no other thread reads the environment.
        unsafe { std::env::set_var(VARIABLE, NOWHERE) }
    }
}

/// Other systems, and builds without these drivers, ask for no such variable.
#[cfg(not(all(target_os = "linux", any(feature = "wgpu", feature = "vulkan"))))]
pub(crate) fn without_desktop() {}
