//! Objectives behave as their descriptions state, and the tables of the documentation agree with the descriptions.
//! `SIMILE_WRITE_TABLES=1` writes the tables anew.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use burn::tensor::DType;
use serde_json::{Value, json};
use simile_core::loss::batch::Batch;
use simile_core::loss::spec::{DefaultValue, Family, Input, Needed, Parameter, Scale, Slider, Spec};
use simile_core::loss::{build, specs};
use simile_tests::repository::{assert_kept, root};
use simile_tests::settings::{forms, least, variations};
use simile_tests::tables::{cell, file};

use crate::batches::{Inputs, Outcome, evaluate};

const LABELS: [usize; 6] = [0, 1, 0, 2, 1, 0];
const BIAS: [usize; 6] = [1, 1, 0, 0, 1, 2];

/// A batch of the named inputs only, each of the kind in its description.
fn batch(spec: &Spec, inputs: &[&Input]) -> Batch {
    let mut drawn = Inputs::random(spec.name, &LABELS, &BIAS, 4, 11);
    // Of inputs with one tensor for each view, the description lists the first.
    let is_named = |name: &str| {
        inputs.iter().any(|input| {
            input.name == name
                || input.name.strip_suffix("_0").is_some_and(|of_all| name == format!("{of_all}_1"))
        })
    };
    drawn.tensors.retain(|name, _| is_named(name));
    drawn.indices.retain(|name, _| is_named(name));
    drawn.conditions.retain(|name, _| is_named(name));
    drawn.batch(DType::F64).with_details(true)
}

fn run(spec: &Spec, inputs: &[&Input], mut params: Value) -> Result<Outcome, String> {
    params.as_object_mut().unwrap().extend(least(spec).as_object().unwrap().clone());
    let objective = build(spec.name, None, params).map_err(|error| error.to_string())?;
    evaluate(objective.as_ref(), &batch(spec, inputs))
}

/// Without the input, the error names it; with it, the objective can be evaluated.
fn is_needed(spec: &Spec, inputs: &[&Input], input: &Input, params: &Value) {
    run(spec, inputs, params.clone()).unwrap();
    let without: Vec<&Input> = inputs.iter().filter(|other| other.name != input.name).copied().collect();
    let error = run(spec, &without, params.clone()).err().unwrap_or_default();
    assert_eq!(error, format!("`{}` needs the input `{}`", spec.name, input.name));
}

#[test]
fn required_inputs_are_those_whose_absence_is_an_error() {
    for spec in specs() {
        let required: Vec<&Input> = spec.required().collect();
        for input in spec.inputs {
            match input.needed {
                Needed::Always => is_needed(spec, &required, input, &json!({})),
                Needed::If { setting, value } => {
                    let params = json!({ setting: serde_json::from_str::<Value>(value).unwrap() });
                    let also = |other: &&Input| [input.needed, Needed::Always].contains(&other.needed);
                    is_needed(spec, &spec.inputs.iter().filter(also).collect::<Vec<_>>(), input, &params);
                }
                Needed::OrRepresentation | Needed::Optional => {}
            }
        }
    }
}

#[test]
fn optional_inputs_change_the_result() {
    for spec in specs() {
        let is_used = |input: &&Input| !matches!(input.needed, Needed::If { .. });
        let (required, used): (Vec<_>, Vec<_>) =
            (spec.required().collect(), spec.inputs.iter().filter(is_used).collect());
        if required.len() < used.len() {
            let [without, with] = [&required, &used].map(|inputs| run(spec, inputs, json!({})).unwrap());
            assert!(without.loss != with.loss || without.aux != with.aux, "{}", spec.name);
        }
    }
}

#[test]
fn variants_differ_and_a_setting_without_effect_is_none() {
    for spec in specs() {
        let inputs: Vec<&Input> = spec.inputs.iter().collect();
        let of = |variant: &str| {
            let outcome = run(spec, &inputs, json!({ "variant": variant })).ok()?;
            Some((outcome.loss, outcome.gradients))
        };
        let listed: Vec<_> = spec.variants.iter().map(|form| of(form.name).unwrap()).collect();
        for (at, outcome) in listed.iter().enumerate() {
            assert!(!listed[..at].contains(outcome), "{} {}", spec.name, spec.variants[at].name);
        }
        let accepted: Vec<_> = ["paper", "released", "normalised"].into_iter().filter_map(of).collect();
        match listed.len() {
            0 => assert!(accepted.iter().all(|outcome| *outcome == accepted[0]), "{}", spec.name),
            count => assert_eq!(count, accepted.len(), "{}", spec.name),
        }
    }
}

/// Values of a parameter that should differ in their effect: both ends of its slider, or its other names or flags.
fn distinct_values(spec: &Spec, parameter: &Parameter) -> Vec<Value> {
    if least(spec).get(parameter.name).is_some() {
        return Vec::new();
    }
    match parameter.slider() {
        Some(Slider { low, high, scale: Scale::Integers, .. }) => vec![json!(low as u64), json!(high as u64)],
        Some(Slider { low, high, .. }) => vec![json!(low), json!(high)],
        None => {
            let of_parameter = |params: Value| params.get(parameter.name).cloned();
            variations(spec).into_iter().filter_map(of_parameter).filter(|value| !value.is_null()).collect()
        }
    }
}

/// The settings under which a parameter is read, beside its form.
fn condition(spec: &Spec, parameter: &Parameter) -> Value {
    match (spec.name, parameter.name) {
        ("wcl-weighted-infonce", "tau_plus" | "beta") => json!({ "correction": "hcl" }),
        _ => json!({}),
    }
}

/// A recipe whose objective has a parameter that its form does not read is refused, so the descriptions have to say which form reads it.
#[test]
fn a_parameter_has_an_effect_in_the_forms_that_read_it_and_in_no_other() {
    for spec in specs() {
        // Weights that are given to LfF take the place of those that it computes with `eps`.
        let is_read = |input: &&Input| (spec.name, input.name) != ("lff", "weights");
        let inputs: Vec<&Input> = spec.inputs.iter().filter(is_read).collect();
        for (form, parameter) in
            forms(spec).into_iter().flat_map(|form| spec.parameters.iter().map(move |one| (form, one)))
        {
            let with = |value: Option<Value>| {
                let mut params = condition(spec, parameter);
                params[parameter.name] = value.unwrap_or_else(|| parameter.default.to_value());
                if let Some(form) = form {
                    params["variant"] = form.into();
                }
                run(spec, &inputs, params).unwrap()
            };
            let values = distinct_values(spec, parameter);
            if values.is_empty() {
                continue;
            }
            let usual = with(None);
            let others: Vec<Outcome> = values.into_iter().map(|value| with(Some(value))).collect();
            let name = format!("{} {form:?}: {}", spec.name, parameter.name);
            if parameter.form.is_none_or(|reader| form == Some(reader)) {
                // An assignment alone is in the details, because its loss is a constant.
                let differs = |one: &Outcome| {
                    one.loss != usual.loss || one.gradients != usual.gradients || one.aux != usual.aux
                };
                assert!(others.iter().any(differs), "{name} has no effect");
            } else {
                let is_equal = |one: &Outcome| one.loss == usual.loss && one.gradients == usual.gradients;
                assert!(others.iter().all(is_equal), "{name} has an effect");
            }
        }
    }
}

/// The name of a family in addresses.
fn slug(family: Family) -> String {
    serde_json::to_value(family).unwrap().as_str().unwrap().to_owned()
}

/// The objectives of each family, with their places in the book.
fn by_family() -> String {
    let mut page = "# Objectives\n\n`simile objectives` lists them by what each needs, `simile objectives NAME` prints one.\n\n\
                    | name | learns from |\n|---|---|\n"
        .to_owned();
    for family in Family::ALL {
        let at = slug(family);
        let _ = writeln!(page, "| **[{}](objectives/{at}.md)** | |", family.title());
        for spec in specs().filter(|spec| spec.family == family) {
            let _ = writeln!(page, "| [`{0}`](objectives/{at}.md#{0}) | {1} |", spec.name, spec.summary);
        }
    }
    page
}

/// The inputs, parameters and forms of an objective.
fn settings(spec: &Spec) -> String {
    let mut text =
        format!("## {}\n\n**{}**. Learns from {}. {}\n", spec.name, spec.title, spec.summary, spec.work);
    text += "\n| input | shape | | meaning |\n|---|---|---|---|\n";
    for input in spec.inputs {
        let Input { name, shape, meaning, .. } = input;
        let kind = format!("{}; {}", input.kind.in_words(), input.needed.in_words());
        let _ = writeln!(text, "| `{name}` | `{shape}` | {} | {} |", cell(&kind), cell(meaning));
    }
    if !spec.parameters.is_empty() {
        text += "\n| parameter | default | values | meaning |\n|---|---|---|---|\n";
    }
    for parameter in spec.parameters {
        let default = match parameter.default {
            DefaultValue::Required => "none".to_owned(),
            default => format!("`{}`", default.to_value()),
        };
        let (values, meaning) = (cell(&parameter.kind.to_string()), cell(parameter.meaning));
        let null = parameter.null.map(|null| format!("; `null`: {}", cell(null))).unwrap_or_default();
        let _ = writeln!(text, "| `{}` | {default} | {values} | {meaning}{null} |", parameter.name);
    }
    if !spec.variants.is_empty() {
        text += "\n| form, by the key `variant` | |\n|---|---|\n";
    }
    for (at, form) in spec.variants.iter().enumerate() {
        let default = if at == 0 { " (default)" } else { "" };
        let _ = writeln!(text, "| `{}`{default} | {} |", form.name, cell(form.meaning));
    }
    let methods: Vec<String> = spec.algorithms.iter().map(|method| format!("`{method}`")).collect();
    let part_of: Vec<String> = spec.part_of.iter().map(|method| format!("`{method}`")).collect();
    let methods = match (methods.is_empty(), part_of.is_empty()) {
        (false, _) => methods.join(", "),
        (true, false) => format!("none alone; a part of {}", part_of.join(", ")),
        (true, true) => "none".to_owned(),
    };
    let (head, networks) = (spec.head.in_words(), spec.networks.in_words());
    text + &format!("\nReads {head}; needs {networks}; methods that train it: {methods}.\n")
}

/// A text of the sources without the targets of its links, which are other sources.
fn without_targets(text: &str) -> String {
    let mut parts = text.split("](");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (target, rest) = part.split_once(')').unwrap();
        let opened = plain.rfind('[').unwrap();
        plain = if target.starts_with("http") {
            format!("{plain}]({target}){rest}")
        } else {
            format!("{}{}{rest}", &plain[..opened], &plain[opened + 1..])
        };
    }
    plain.replace("[`", "`").replace("`]", "`")
}

/// True for a word that is written as Rust types are.
fn is_type(word: &str) -> bool {
    word.starts_with(|first: char| first.is_ascii_uppercase())
        && word.contains(|letter: char| letter.is_ascii_lowercase())
}

/// A text with the names of objectives in place of those of their Rust types, which a recipe does not know.
fn with_registered_names(text: &str) -> String {
    let name = |word: &str| {
        let plain = word.to_lowercase();
        specs().find(|spec| is_type(word) && spec.name.replace('-', "") == plain).map(|spec| spec.name)
    };
    let words: Vec<&str> = text.split('`').map(|word| name(word).unwrap_or(word)).collect();
    words.join("`")
}

/// The documentation of a file of an objective: formula, symbols, differences from released code.
fn notes(file: &Path) -> String {
    let source = fs::read_to_string(file).unwrap();
    let lines = source.lines().take_while(|line| line.starts_with("//!")).map(|line| &line[3..]);
    let mut is_code = false;
    let mut text = String::new();
    for line in lines.map(|line| line.strip_prefix(' ').unwrap_or(line)) {
        is_code ^= line.starts_with("```");
        text += &match line.strip_prefix("# ").filter(|_| !is_code) {
            Some(title) => format!("#### {title}\n"),
            None if is_code => format!("{line}\n"),
            None => line.replace('<', "&lt;") + "\n",
        };
    }
    with_registered_names(&without_targets(&text))
}

/// The address of a heading on its page, as mdBook makes it.
fn anchor(title: &str) -> String {
    let address = title.chars().filter_map(|letter| match letter {
        ' ' => Some('-'),
        '-' | '_' => Some(letter),
        _ => letter.is_alphanumeric().then(|| letter.to_ascii_lowercase()),
    });
    address.collect()
}

/// The page of a family in the book.
fn page_of(family: Family) -> String {
    let mut page = format!("# {}\n", family.title());
    let of_family: Vec<&Spec> = specs().filter(|spec| spec.family == family).collect();
    for (at, spec) in of_family.iter().enumerate() {
        page += &format!("\n{}", settings(spec));
        let file = file(spec);
        let of_file = of_family.iter().filter(|one| one.module == spec.module);
        let names: Vec<&str> = of_file.map(|one| one.name).collect();
        let title = format!("Formula of {} (`{}`)", names.join(", "), file.display());
        let is_last = of_family[at + 1..].iter().all(|later| later.module != spec.module);
        if is_last {
            let notes = notes(&root().join(&file));
            let formula = if notes.contains("```text") {
                String::new()
            } else {
                format!("```text\n{}\n```\n\n", spec.plain_formula())
            };
            page += &format!("\n### {title}\n\n{formula}{notes}");
        } else {
            page += &format!("\nFormula: [below](#{}).\n", anchor(&title));
        }
    }
    page
}

/// The learning signal of each objective, with its page in the documentation of the crate.
fn by_module() -> String {
    let mut table = "| name | learns from | page |\n|---|---|---|\n".to_owned();
    for spec in Family::ALL.iter().flat_map(|family| specs().filter(|spec| spec.family == *family)) {
        let page = spec.module.strip_prefix("simile_core::loss::").unwrap();
        let title = page.rsplit("::").next().unwrap();
        let _ = writeln!(table, "| `{}` | {} | [`{title}`]({page}) |", spec.name, spec.summary);
    }
    table
}

/// The names in the `pub use` lines of a source.
fn exported(source: &str) -> BTreeSet<&str> {
    let uses = source.split("pub use ").skip(1).filter_map(|rest| rest.split(';').next());
    uses.flat_map(|list| list.split(|letter: char| !letter.is_alphanumeric() && letter != '_')).collect()
}

#[test]
fn types_in_the_braces_of_an_export_are_known() {
    let names = exported("mod b;\npub use a::{One, Two};\npub use b::Three;\nuse c::Four;\n");
    for (name, is_exported) in [("One", true), ("Two", true), ("Three", true), ("Four", false)] {
        assert_eq!(names.contains(name), is_exported, "{name}");
    }
}

#[test]
fn the_tables_of_the_documentation_are_those_of_the_objectives() {
    assert_kept(&root().join("core/src/loss/objectives.md"), &by_module());
    let reference = root().join("docs/src/reference");
    assert_kept(&reference.join("objectives.md"), &by_family());
    let source = fs::read_to_string(root().join("core/src/loss/mod.rs")).unwrap();
    let exported = exported(&source);
    for family in Family::ALL {
        let page = page_of(family);
        // A recipe knows an objective by its registered name.
        let words = page.split('`').skip(1).step_by(2);
        let is_named = |word: &&str| word.split("::").any(|name| is_type(name) && exported.contains(name));
        let named: Vec<&str> = words.filter(is_named).collect();
        assert_eq!(
            named, [""; 0],
            "{family:?}: label the link with the name, such as [`contex-p`](ConTeXClipped)"
        );
        assert_kept(&reference.join(format!("objectives/{}.md", slug(family))), &page);
    }
}

#[test]
fn links_to_other_sources_lose_their_targets() {
    let text = "As [`Dcl`](crate::loss::Dcl), [the folder](super), [`Hcl`] and [a page](https://x).";
    assert_eq!(without_targets(text), "As `Dcl`, the folder, `Hcl` and [a page](https://x).");
}
