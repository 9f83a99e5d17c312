//! Builds the crate `simile-web` into a WebAssembly file with its JavaScript glue.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use wasm_bindgen_cli_support::Bindgen;

use crate::{Workspace, npm};

/// The two bundles of the package, built from one source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bundle {
    /// Flex with SIMD: small, and loaded at once.
    Cpu,
    /// The same with the WebGPU backend and its shader compiler: fetched only where it can run.
    WebGpu,
}

impl Bundle {
    /// The stem of the files that belong to this bundle.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::WebGpu => "webgpu",
        }
    }

    /// The file that wasm-bindgen writes.
    fn bound_wasm(self) -> String {
        format!("{}_bg.wasm", self.name())
    }

    fn features(self) -> &'static [&'static str] {
        match self {
            Self::Cpu => &[],
            Self::WebGpu => &["--features", "wgpu"],
        }
    }
}

/// Both, in the order in which they are built.
pub(crate) const BUNDLES: [Bundle; 2] = [Bundle::Cpu, Bundle::WebGpu];

/// The folder of the glue, its types and the WebAssembly files, which the TypeScript of the package imports.
pub(crate) const GENERATED: &str = "web/js/generated";

const TARGET: &str = "wasm32-unknown-unknown";

/// Fails where the compiler has no standard library for WebAssembly, before anything is built.
pub(crate) fn check_target(workspace: &Workspace) -> Result<()> {
    let mut rustc = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    rustc.current_dir(&workspace.root).args(["--print", "target-libdir", "--target", TARGET]);
    let output = rustc.output().context("cannot start `rustc`")?;
    // The compiler names the folder whether it is there or not.
    let library = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    let is_there = fs::read_dir(library).is_ok_and(|mut files| files.next().is_some());
    ensure!(is_there, "the compiler's WebAssembly target is missing; run `rustup target add {TARGET}`");
    Ok(())
}

/// Compiles both bundles into [`GENERATED`]. A quick build compiles the larger one alone and takes it as both: it has all the
/// functions of the smaller, and two feature sets would compile Burn twice.
pub(crate) fn build(workspace: &Workspace, quick: bool) -> Result<()> {
    fs::create_dir_all(workspace.path(GENERATED))?;
    let bound = workspace.path("target/web/bound");
    if quick {
        let larger = Bundle::WebGpu;
        bind(&compile(workspace, larger, "web-quick")?, larger, &bound)?;
        let wasm = bound.join(larger.bound_wasm());
        return BUNDLES.into_iter().try_for_each(|bundle| place(workspace, larger, &wasm, bundle));
    }
    for bundle in BUNDLES {
        bind(&compile(workspace, bundle, "web")?, bundle, &bound)?;
        let wasm = optimise(workspace, &bound.join(bundle.bound_wasm()))?;
        place(workspace, bundle, &wasm, bundle)?;
    }
    Ok(())
}

/// Copies the glue of the bundle `source` and its WebAssembly file to where the TypeScript imports `bundle` from.
fn place(workspace: &Workspace, source: Bundle, wasm: &Path, bundle: Bundle) -> Result<()> {
    let (bound, generated) = (workspace.path("target/web/bound"), workspace.path(GENERATED));
    for extension in ["js", "d.ts"] {
        let file = |bundle: Bundle| format!("{}.{extension}", bundle.name());
        fs::copy(bound.join(file(source)), generated.join(file(bundle)))?;
    }
    let mut bytes = fs::read(wasm)?;
    if source != bundle {
        // Bundlers make one file of two with the same bytes: an empty section with a name of its own keeps them apart.
        let name = bundle.name().as_bytes();
        bytes.extend([0, name.len() as u8 + 1, name.len() as u8]);
        bytes.extend(name);
    }
    fs::write(generated.join(format!("{}.wasm", bundle.name())), bytes)?;
    Ok(())
}

/// Uses a separate target folder, because these flags would otherwise invalidate every native build.
fn compile(workspace: &Workspace, bundle: Bundle, profile: &str) -> Result<PathBuf> {
    let target = workspace.path("target/web");
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo
        .current_dir(&workspace.root)
        .args(["build", "--package", "simile-web", "--lib", "--profile", profile])
        .args(["--target", TARGET, "--target-dir"])
        .arg(&target)
        .args(bundle.features())
        .env("RUSTFLAGS", "-C target-feature=+simd128");
    npm::run_command(&mut cargo)?;
    Ok(target.join(TARGET).join(profile).join("simile_web.wasm"))
}

fn bind(compiled: &Path, bundle: Bundle, folder: &Path) -> Result<()> {
    let wasm = fs::read(compiled).with_context(|| format!("cannot read {}", compiled.display()))?;
    ensure!(
        !contains(&wasm, b".command_export"),
        "wasm-ld wrapped the exports of {}, so that every call would run all constructors again; \
         `start` in web/src/lib.rs must call `__wasm_call_ctors` itself",
        compiled.display()
    );
    Bindgen::new()
        .input_bytes(bundle.name(), wasm)
        .web(true)?
        .typescript(true)
        // The package passes the address of the file itself, in a form that bundlers recognise.
        .omit_default_module_path(true)
        // Two fifths of the file of a quick build.
        .remove_name_section(true)
        .demangle(false)
        .generate(folder)
}

/// Runs wasm-opt, which takes minutes, unless it was run on the same bytes before.
fn optimise(workspace: &Workspace, wasm: &Path) -> Result<PathBuf> {
    let source = wasm.with_extension("source");
    let optimised = wasm.with_extension("optimised");
    let bytes = fs::read(wasm)?;
    if optimised.exists() && fs::read(&source).is_ok_and(|last| last == bytes) {
        return Ok(optimised);
    }
    let mut command = Command::new("node");
    command
        .arg(workspace.path("web/node_modules/binaryen/bin/wasm-opt"))
        .args(["-Oz", "--strip-debug", "--strip-producers"])
        .args([
            "--enable-simd",
            "--enable-bulk-memory",
            "--enable-nontrapping-float-to-int",
            "--enable-sign-ext",
        ])
        .args(["--enable-reference-types", "--enable-multivalue", "--enable-mutable-globals"])
        .arg(wasm)
        .arg("-o")
        .arg(&optimised);
    npm::run_command(&mut command)?;
    fs::write(&source, bytes)?;
    Ok(optimised)
}

fn contains(haystack: &[u8], needle: &[u8]) -> bool {
    haystack.windows(needle.len()).any(|window| window == needle)
}
