//! A linker of macOS has to be told that the symbols of Python come with the program that loads the module.

fn main() {
    pyo3_build_config::add_extension_module_link_args();
}
