//! The code that the loss lab offers to copy is stored in `tests/tests/snippets`, where it is compiled, run and
//! compared with core. `SIMILE_WRITE_SNIPPETS=1` rewrites it from the page.

use std::fs;

use serde_json::{Value, json};

use crate::workspace;

/// Asserts that the stored snippets are those of the page.
pub(crate) fn are_kept(snippets: &Value) {
    let mut settings: Vec<Value> = Vec::new();
    let mut functions = Vec::new();
    for snippet in snippets.as_array().unwrap() {
        let code =
            |language: &str| snippet[language].as_str().unwrap_or_else(|| panic!("no {language}: {snippet}"));
        let setting = setting_of(code("rust"), code("torch"));
        if settings.contains(&setting) {
            continue;
        }
        // In Rust variants differ by their name alone.
        if setting["variant"].is_null() {
            functions.push((settings.len(), function_of(settings.len(), &setting, code("rust"))));
        }
        settings.push(setting);
    }
    is_kept("page.json", &(serde_json::to_string_pretty(&settings).unwrap() + "\n"));
    is_kept("page.rs", &module_of(&functions));
}

fn is_kept(name: &str, text: &str) {
    let file = workspace().join("tests/tests/snippets").join(name);
    if std::env::var_os("SIMILE_WRITE_SNIPPETS").is_some_and(|value| value == "1") {
        fs::write(&file, text).unwrap();
    }
    let is_kept = fs::read_to_string(&file).is_ok_and(|content| content == text);
    assert!(is_kept, "{} is not what the page offers; SIMILE_WRITE_SNIPPETS=1 writes it", file.display());
}

/// The setting in its Rust code: its name, its variant, its parameters, its inputs.
fn setting_of(rust: &str, torch: &str) -> Value {
    let between = |from: &str, to: &str| rust.split_once(from).and_then(|(_, rest)| rest.split_once(to));
    let name = between("loss::build(\n    \"", "\"").unwrap().0;
    let variant = between("Some(\"", "\"").map(|(variant, _)| variant);
    let params: Value = serde_json::from_str(between("json!(", "),\n)?;").unwrap().0).unwrap();
    let further = ["z", "labels", "bias"].into_iter().filter(|name| rust.contains(&format!(", {name})")));
    let inputs: Vec<&str> = ["view_a", "view_b"].into_iter().chain(further).collect();
    let source = simile_core::loss::spec(name).unwrap().pytorch.unwrap();
    let call = torch.strip_prefix(source).unwrap_or_else(|| panic!("not the PyTorch of {name}: {torch}"));
    json!({ "objective": name, "variant": variant, "params": params, "inputs": inputs, "torch": call.trim() })
}

/// A function around the Rust code of a setting, which is unchanged but for its indentation.
fn function_of(at: usize, setting: &Value, rust: &str) -> String {
    let inputs: Vec<String> = serde_json::from_value(setting["inputs"].clone()).unwrap();
    let body: String =
        rust.trim_end().lines().map(|line| format!("    {line}").trim_end().to_owned() + "\n").collect();
    format!(
        "fn setting_{at}(inputs: Inputs) -> Result<Tensor<1>> {{\n    let Inputs {{ {}, .. }} = inputs;\n{body}    \
         Ok(loss)\n}}\n",
        inputs.join(", ")
    )
}

fn module_of(functions: &[(usize, String)]) -> String {
    let names: Vec<String> = functions.iter().map(|(at, _)| format!("    ({at}, setting_{at}),\n")).collect();
    let codes: Vec<&str> = functions.iter().map(|(_, code)| code.as_str()).collect();
    format!(
        "//! The snippets of Rust that the loss lab offers, written by the browser's test of the lab.\n\nuse burn::tensor::Tensor;\n\
         use simile_core::error::Result;\n\nuse super::{{Inputs, Snippet}};\n\n/// Snippets by the number of their setting.\n\
         pub(crate) const SNIPPETS: [(usize, Snippet); {}] = [\n{}];\n\n{}",
        functions.len(),
        names.concat(),
        codes.join("\n")
    )
}
