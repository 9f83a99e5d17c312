//! The settings under which objectives are tested, derived from their descriptions.

use serde_json::{Value, json};
use simile_core::kernel::KERNELS;
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
        [] => vec![None],
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

/// Every kernel that needs no further settings, of bandwidth 0.7 where it has one.
fn kernels() -> Vec<Value> {
    let alone = KERNELS.iter().filter(|kernel| !kernel.settings.contains(&"factors"));
    let of = |name: &str, has_bandwidth: bool| match has_bandwidth {
        true => json!({ "name": name, "sigma": 0.7 }),
        false => json!({ "name": name }),
    };
    alone.map(|kernel| of(kernel.name, kernel.settings.contains(&"sigma"))).collect()
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
