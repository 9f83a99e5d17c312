//! The npm package in `web/pkg`: compiled TypeScript, types, the WebAssembly files and `package.json`.

use std::fs;

use anyhow::Result;

use crate::wasm::{BUNDLES, GENERATED};
use crate::{Workspace, npm};

/// The modules whose types a user of the package can meet. No two have the same name: in the package they lie side by side.
const TYPES: [&str; 13] = [
    "page/index",
    "page/cache",
    "page/call-options",
    "page/catalogue",
    "page/checkpoint",
    "page/decode",
    "page/digits",
    "page/encoder",
    "page/lab",
    "page/setting",
    "page/trainer",
    "page/trainer-options",
    "shared/protocol",
];

/// Writes `web/pkg` from `web/js` and the compiled bundles.
pub(crate) fn write(workspace: &Workspace) -> Result<()> {
    let web = workspace.path("web");
    let package = workspace.path("web/pkg");
    if package.exists() {
        fs::remove_dir_all(&package)?;
    }
    fs::create_dir_all(&package)?;

    npm::run(&web, &["run", "types"])?;
    for module in TYPES {
        let types = fs::read_to_string(workspace.path("target/web/types").join(format!("{module}.d.ts")))?;
        let name = module.rsplit('/').next().unwrap_or(module);
        fs::write(package.join(format!("{name}.d.ts")), types.replace("\"../shared/", "\"./"))?;
    }
    npm::run(&web, &["run", "bundle"])?;
    for bundle in BUNDLES {
        let file = format!("{}.wasm", bundle.name());
        fs::copy(workspace.path(GENERATED).join(&file), package.join(&file))?;
    }
    fs::copy(workspace.path("web/README.md"), package.join("README.md"))?;
    for license in ["LICENSE-APACHE", "LICENSE-MIT"] {
        fs::copy(workspace.path(license), package.join(license))?;
    }
    fs::write(package.join("package.json"), manifest())?;
    Ok(())
}

fn manifest() -> String {
    let version = env!("CARGO_PKG_VERSION");
    let license = env!("CARGO_PKG_LICENSE");
    format!(
        r#"{{
  "name": "simile-web",
  "version": "{version}",
  "description": "Embed images and evaluate contrastive objectives in the browser, on WebGPU or WebAssembly",
  "license": "{license}",
  "type": "module",
  "main": "./index.js",
  "types": "./index.d.ts",
  "exports": {{
    ".": {{ "types": "./index.d.ts", "default": "./index.js" }},
    "./cpu.wasm": "./cpu.wasm",
    "./webgpu.wasm": "./webgpu.wasm",
    "./package.json": "./package.json"
  }},
  "sideEffects": ["./worker.js"]
}}
"#
    )
}
