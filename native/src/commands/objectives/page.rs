//! The page of one objective: `simile objectives NAME`, and `simile loss --describe NAME`.

use anyhow::Result;
use serde_json::Value;
use simile_core::loss;
use simile_core::loss::spec::{DefaultValue, Parameter, Spec};

use crate::config::explain::suggestion;
use crate::console::{Console, table};
use crate::exit::usage;

/// Prints the description of an objective and its inputs and parameters.
///
/// # Errors
/// A usage error if there is none of that name.
pub(in crate::commands) fn run(objective: &str, console: Console) -> Result<()> {
    // Papers and reports write its title.
    let titled = loss::specs().find(|spec| spec.title.eq_ignore_ascii_case(objective));
    let word = titled.map_or(objective, |spec| spec.name);
    let unknown =
        |_| usage(format_args!("unknown objective `{objective}`{}", suggestion(word, loss::names())));
    let spec = loss::spec(objective).map_err(unknown)?;
    console.answer(spec, || in_words(spec))
}

fn in_words(spec: &Spec) -> String {
    let Spec { name, title, summary, work, symbols, .. } = spec;
    let formula: String = spec.plain_formula().lines().map(|line| format!("  {line}\n")).collect();
    let mut text = format!(
        "{name}: {title}\nLearns from {summary}.\n{work}\n\n{formula}  with {symbols}\n\n{}\n",
        inputs(spec)
    );
    if !spec.parameters.is_empty() {
        text += &format!("\n{}\n", parameters(spec));
    }
    if !spec.variants.is_empty() {
        text += &format!("\n{}\n", variants(spec));
    }
    let (head, networks) = (spec.head.in_words(), spec.networks.in_words());
    let trained = match spec.algorithms {
        [] if spec.part_of.is_empty() => "no method of a recipe trains it".to_owned(),
        [] => format!("a part of method {}", spec.part_of.join(", ")),
        methods => format!("trained by method {}", methods.join(", ")),
    };
    format!("{text}\nReads {head}; needs {networks}; {trained}.\nDocumented in {}\n", spec.module)
}

fn inputs(spec: &Spec) -> impl std::fmt::Display {
    let mut rows = table(["input", "shape", "numbers", "needed", "meaning"]);
    for input in spec.inputs {
        let (numbers, needed) = (input.kind.in_words().to_owned(), input.needed.in_words());
        rows.add_row([
            input.name.to_owned(),
            input.shape.to_owned(),
            numbers,
            needed,
            input.meaning.to_owned(),
        ]);
    }
    rows
}

fn parameters(spec: &Spec) -> impl std::fmt::Display {
    let mut rows = table(["parameter", "default", "values", "meaning"]);
    for parameter in spec.parameters {
        let (name, meaning) = (parameter.name.to_owned(), parameter.meaning.to_owned());
        rows.add_row([name, default(parameter), parameter.kind.to_string(), meaning]);
    }
    rows
}

/// The default as a request file writes it, and the meaning of `null`; `none` for a parameter that has to be given.
fn default(parameter: &Parameter) -> String {
    let value = match (parameter.default, parameter.default.to_value()) {
        (DefaultValue::Required, _) => return "none".to_owned(),
        (_, Value::String(name)) => name,
        (_, value) => value.to_string(),
    };
    match parameter.null {
        Some(meaning) if value == "null" => format!("null: {meaning}"),
        Some(meaning) => format!("{value} (null: {meaning})"),
        None => value,
    }
}

fn variants(spec: &Spec) -> impl std::fmt::Display {
    let mut rows = table(["form, by the key variant", "meaning"]);
    for (at, form) in spec.variants.iter().enumerate() {
        let name = if at == 0 { format!("{} (default)", form.name) } else { form.name.to_owned() };
        rows.add_row([name, form.meaning.to_owned()]);
    }
    rows
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_parameter_that_has_to_be_given_has_no_default() {
        for (objective, name, shown) in [("di", "domains", "none"), ("nt-xent", "temperature", "0.5")] {
            let parameter = loss::spec(objective).unwrap().parameter(name).unwrap();
            assert_eq!(default(parameter), shown, "{objective} {name}");
        }
    }
}
