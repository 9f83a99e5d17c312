//! The environment that Mesa's graphics drivers look for a display in.

/// Gives the process a variable `XDG_RUNTIME_DIR` where it has none, as without a desktop.
///
/// A layer that Mesa adds to Vulkan (`VK_LAYER_MESA_device_select`) asks for a Wayland display each time that devices are listed, and
/// without that variable libwayland writes an error into the terminal, although nothing is wrong. A value that is no folder has the same
/// outcome without the words, and leaves the order of the devices as it is, which switching the layer off could change. Only the program
/// itself can be started with another environment, so it takes its own place; where that fails, it goes on as it is.
#[cfg(all(target_os = "linux", any(feature = "wgpu", feature = "vulkan")))]
pub(crate) fn without_desktop() {
    use std::env;
    use std::os::unix::process::CommandExt as _;
    use std::process::Command;

    const VARIABLE: &str = "XDG_RUNTIME_DIR";
    /// Nothing can be written there.
    const NOWHERE: &str = "/dev/null";

    if env::var_os(VARIABLE).is_some() {
        return;
    }
    let mut words = env::args_os();
    if let (Some(name), Ok(program)) = (words.next(), env::current_exe()) {
        // It returns only if it fails.
        let _ = Command::new(program).arg0(name).args(words).env(VARIABLE, NOWHERE).exec();
    }
}

/// Other systems, and builds without these drivers, ask for no such variable.
#[cfg(not(all(target_os = "linux", any(feature = "wgpu", feature = "vulkan"))))]
pub(crate) fn without_desktop() {}
