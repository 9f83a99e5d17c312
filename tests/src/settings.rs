//! The settings under which objectives are tested, derived from their descriptions.

use serde_json::{Value, json};
use simile_core::kernel::{KERNELS, NamedKernel};
use simile_core::loss::spec::{Kind, Parameter, Scale, Spec};

/// Classes, biases and domains in tests.
pub const CLASSES: usize = 3;

/// The parameters that an objective requires.
pub fn least(spec: &Spec) -> Value {
    match spec.parameter("domains") {
        Some(_) => json!({ "domains": CLASSES }),
        None => json!({}),
    }
}

/// Parameters of an objective: only the required ones, and these with one parameter at a value other than its default.
pub fn variations(spec: &Spec) -> Vec<Value> {
    let least = least(spec);
    let with = |parameter: &Parameter, value: Value| {
        let mut parameters = least.clone();
        parameters[parameter.name] = value;
        parameters
    };
    let open = spec.parameters.iter().filter(|parameter| least.get(parameter.name).is_none());
    let changed =
        open.flat_map(|parameter| others(parameter).into_iter().map(|value| with(parameter, value)));
    std::iter::once(least.clone()).chain(changed).collect()
}

/// The names of the forms of an objective; `None` if it has one form.
pub fn forms(spec: &Spec) -> Vec<Option<&'static str>> {
    match spec.variants {
        [] | [_] => vec![None],
        forms => forms.iter().map(|form| Some(form.name)).collect(),
    }
}

/// Values of a parameter beside its default: all names and flags, each kernel, a smaller and a larger number.
fn others(parameter: &Parameter) -> Vec<Value> {
    let default = parameter.default.to_value();
    let values: Vec<Value> = match parameter.kind {
        Kind::Flag => vec![json!(default != true)],
        Kind::Choice(names) => names.iter().map(|name| json!(name)).collect(),
        Kind::Kernel => kernels(),
        Kind::Structured => Vec::new(),
        Kind::Number(_) | Kind::Integer { .. } => numbers(parameter),
    };
    let null = parameter.null.map(|_| Value::Null);
    values.into_iter().chain(null).filter(|value| *value != default).collect()
}

/// Every kernel that needs no factors: of bandwidth 0.7, or with its defaults if it has none; of the median distance; and with each of its
/// other settings at once.
fn kernels() -> Vec<Value> {
    let without_factors = KERNELS.iter().filter(|kernel| !kernel.settings.contains(&"factors"));
    without_factors.flat_map(settings_of).collect()
}

fn settings_of(kernel: &NamedKernel) -> Vec<Value> {
    let mut other = json!({ "name": kernel.name });
    for setting in kernel.settings.iter().filter(|setting| **setting != "sigma") {
        other[*setting] = if *setting == "degree" { json!(2) } else { json!(0.8) };
    }
    match kernel.settings {
        [] => vec![other],
        settings if settings.contains(&"sigma") => {
            let of = |sigma: Value| json!({ "name": kernel.name, "sigma": sigma });
            vec![of(json!(0.7)), of(json!("median")), other]
        }
        _ => vec![json!({ "name": kernel.name }), other],
    }
}

/// The numbers half way from the start of the slider to its ends.
fn numbers(parameter: &Parameter) -> Vec<Value> {
    let Some(slider) = parameter.slider() else { return Vec::new() };
    let between = |end: f64| match slider.scale {
        Scale::Logarithmic => json!((end * slider.start).sqrt()),
        Scale::Linear => json!(f64::midpoint(end, slider.start)),
        Scale::Integers => json!(f64::midpoint(end, slider.start).round() as u64),
    };
    vec![between(slider.low), between(slider.high)]
}
