//! Objectives by name, from the parameters of a recipe, a request file or a page.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::objective::Objective;
use super::spec::{Conditioning, Described, InputKind, Spec};
use super::{cclk, debias, infonce, selfsup, supervised, uniformity};
use crate::error::{Error, Result, read_by_name};
use crate::numeric::matrix::Matrix;

/// The setting that chooses among the forms of an objective.
const VARIANT: &str = "variant";

/// An objective that can be asked for by name.
struct Entry {
    spec: Spec,
    build: fn(Value) -> Result<Box<dyn Objective>>,
    /// The parameters of an objective that is given none.
    #[cfg(test)]
    defaults: fn() -> Value,
    /// The section of a recipe of that objective, and its settings as a type.
    #[cfg(test)]
    default_config: fn() -> (Result<ObjectiveConfig>, String),
}

/// The line of an objective in the table of all.
const fn entry<O>() -> Entry
where
    O: Objective + Described + Default + Serialize + DeserializeOwned + 'static,
{
    Entry {
        spec: O::SPEC,
        build: parse::<O>,
        #[cfg(test)]
        defaults: || serde_json::to_value(O::default()).unwrap_or_default(),
        #[cfg(test)]
        default_config: || {
            let objective = O::default();
            (ObjectiveConfig::of(&objective), format!("{objective:?}"))
        },
    }
}

/// Every objective, in the order of its work.
static OBJECTIVES: &[Entry] = &[
    entry::<infonce::info_nce::InfoNce>(),
    entry::<infonce::nt_xent::NtXent>(),
    entry::<infonce::weaksup_info_nce::WeakSupInfoNce>(),
    entry::<infonce::info_nce::FairInfoNce>(),
    entry::<infonce::dcl::Dcl>(),
    entry::<infonce::hcl::Hcl>(),
    entry::<cclk::weak::WeakSupCclk>(),
    entry::<cclk::fair::FairCclk>(),
    entry::<cclk::fair::HardNegCclk>(),
    entry::<cclk::trainable::TrainableFairCclk>(),
    entry::<supervised::supcon::SupCon>(),
    entry::<supervised::contex::ConTeX>(),
    entry::<supervised::contex_clipped::ConTeXClipped>(),
    entry::<debias::biascon::BiasCon>(),
    entry::<debias::biascon_total::BiasConTotal>(),
    entry::<debias::softcon::SoftCon>(),
    entry::<debias::wcl::triplet::WclTriplet>(),
    entry::<debias::wcl::weighted::WclWeightedInfoNce>(),
    entry::<debias::wcl::weighted::WclWeightedDcl>(),
    entry::<uniformity::decoupled_uniformity::DecoupledUniformity>(),
    entry::<uniformity::kernel_decoupled_uniformity::KernelDecoupledUniformity>(),
    entry::<infonce::dc::Dc>(),
    entry::<infonce::dc::Dclw>(),
    entry::<uniformity::align_uniform::AlignUniform>(),
    entry::<selfsup::byol::Byol>(),
    entry::<selfsup::barlow_twins::BarlowTwins>(),
    entry::<selfsup::swav::Swav>(),
    entry::<selfsup::swav::SwavSinkhorn>(),
    entry::<infonce::moco::MoCo>(),
    entry::<infonce::cmc::Cmc>(),
    entry::<supervised::cross_entropy::CrossEntropy>(),
    entry::<supervised::max_margin::MaxMargin>(),
    entry::<debias::bias_balance::BiasBalance>(),
    entry::<debias::lnl::Lnl>(),
    entry::<debias::lnl::LnlAdversary>(),
    entry::<debias::domain_independent::DomainIndependent>(),
    entry::<debias::end::End>(),
    entry::<debias::learned_mixin::LearnedMixin>(),
    entry::<debias::rubi::Rubi>(),
    entry::<debias::hsic::RebiasHsic>(),
    entry::<supervised::generalised_cross_entropy::GeneralisedCrossEntropy>(),
    entry::<debias::lff::Lff>(),
    entry::<debias::jtt::Jtt>(),
    entry::<selfsup::vae::Vae>(),
];

/// The objective section of a recipe: name, variant, and further parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ObjectiveConfig {
    /// One of [`names`].
    pub name: String,
    /// `paper`, `released`, ...; the objective's own default if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
    /// Its parameters.
    #[serde(flatten)]
    pub parameters: Map<String, Value>,
}

impl Default for ObjectiveConfig {
    fn default() -> Self {
        Self::named("nt-xent")
    }
}

impl ObjectiveConfig {
    /// An objective with its default settings.
    pub fn named(name: &str) -> Self {
        Self { name: name.into(), variant: None, parameters: Map::new() }
    }

    /// An objective of this crate that is given as a value, such as `&NtXent { temperature: 0.1 }`.
    ///
    /// # Errors
    /// A setting is out of range, or the type is no objective of this crate. Give an objective of your own to an algorithm, such as
    /// [`Single`](crate::algorithm::Single).
    pub fn of<O: Objective + Described + Serialize>(objective: &O) -> Result<Self> {
        let name = O::SPEC.name;
        let is_ours = find(name).is_ok_and(|entry| entry.spec.module == O::SPEC.module);
        if !is_ours {
            let reason =
                "but its type is none of simile-core; give the objective to an algorithm, such as `Single`";
            return Err(Error::parameter("objective", name, reason));
        }
        // Also because NaN is null in JSON, which can stand for a default.
        objective.check()?;
        let refused = |reason: &str| Error::parameter("params", "not serialisable", reason);
        let settings = serde_json::to_value(objective).map_err(|error| refused(&error.to_string()))?;
        let Value::Object(mut parameters) = settings else {
            return Err(refused("expected fields with names"));
        };
        let variant = parameters.remove(VARIANT).and_then(|form| form.as_str().map(str::to_owned));
        Ok(Self { name: name.into(), variant, parameters })
    }

    /// Builds the objective.
    ///
    /// # Errors
    /// As [`build`].
    pub fn build(&self) -> Result<Box<dyn Objective>> {
        build(&self.name, self.variant.as_deref(), Value::Object(self.parameters.clone()))
    }

    /// The source of its conditioning variable; none if no objective has its name.
    pub fn conditioning(&self) -> Conditioning {
        spec(&self.name).map_or(Conditioning::None, Spec::conditioning)
    }

    /// True if it needs a variable of the samples as its condition.
    pub fn needs_condition(&self) -> bool {
        self.conditioning() == Conditioning::Given
    }

    /// Reduces the output of a network trained with this objective, `[n, scores]`, to one score for each class, `[n, classes]`, by
    /// [`Objective::class_scores`].
    ///
    /// # Errors
    /// Those of [`build`](Self::build), or the number of columns is not that of such a network.
    pub fn class_scores(&self, scores: Matrix) -> Result<Matrix> {
        self.build()?.class_scores(scores)
    }

    /// The objective as a concrete type, which must match its name.
    pub(crate) fn parse<O: Described + DeserializeOwned>(&self) -> Result<O> {
        read_by_name("params", &settings(&O::SPEC, self.variant.as_deref(), self.parameters.clone())?)
    }
}

/// The descriptions of all objectives.
pub fn specs() -> impl Iterator<Item = &'static Spec> {
    OBJECTIVES.iter().map(|entry| &entry.spec)
}

/// The description of an objective.
///
/// # Errors
/// There is none of that name.
pub fn spec(name: &str) -> Result<&'static Spec> {
    find(name).map(|entry| &entry.spec)
}

/// The names that [`build`] accepts.
pub fn names() -> impl Iterator<Item = &'static str> {
    specs().map(|spec| spec.name)
}

/// The kind of an input's numbers, the same for all objectives that read it; `None` if none does.
pub fn input_kind(name: &str) -> Option<InputKind> {
    specs().flat_map(|spec| spec.inputs).find(|input| input.name == name).map(|input| input.kind)
}

/// Builds an objective from its name, its variant (the objective's own default if `None`) and a JSON object of
/// parameters.
///
/// # Errors
/// An unknown name or parameter, or a value out of range.
pub fn build(name: &str, variant: Option<&str>, parameters: Value) -> Result<Box<dyn Objective>> {
    let entry = find(name)?;
    let parameters = match parameters {
        Value::Null => Map::new(),
        Value::Object(parameters) => parameters,
        other => return Err(Error::parameter("params", other, "expected an object of parameters")),
    };
    let objective = (entry.build)(settings(&entry.spec, variant, parameters)?)?;
    objective.check()?;
    Ok(objective)
}

/// The settings of an objective as its type reads them. An objective of one form has no setting `variant`: a name of that
/// form is taken, because documents name one for every objective.
fn settings(spec: &Spec, variant: Option<&str>, mut parameters: Map<String, Value>) -> Result<Value> {
    if let Some(variant) = variant {
        let also = parameters.insert(VARIANT.to_owned(), variant.into());
        if let Some(also) = also.filter(|also| also != variant) {
            let reason = format!("`{VARIANT}` beside the parameters is {variant}; leave one of them out");
            return Err(Error::parameter("params.variant", also, &reason));
        }
    }
    if spec.variants.len() < 2
        && let Some(variant) = parameters.remove(VARIANT)
    {
        let names: Vec<&str> = match spec.variants {
            [form] => vec![form.name],
            _ => vec!["paper", "released"],
        };
        let name = variant.as_str().map_or_else(|| variant.to_string(), Into::into);
        if !names.contains(&name.as_str()) {
            return Err(Error::unknown(VARIANT, &name, names.into_iter()));
        }
    }
    Ok(Value::Object(parameters))
}

fn find(name: &str) -> Result<&'static Entry> {
    let entry = OBJECTIVES.iter().find(|entry| entry.spec.name == name);
    entry.ok_or_else(|| Error::unknown("objective", name, names()))
}

fn parse<O: Objective + DeserializeOwned + 'static>(parameters: Value) -> Result<Box<dyn Objective>> {
    Ok(Box::new(read_by_name::<O>("params", &parameters)?))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::super::spec::{DefaultValue, Form, Kind, Range, Scale, Slider};
    use super::super::{CclkSettings, Evaluation, FairCclk};
    use super::*;
    use crate::kernel::Kernel;
    use crate::kernel::conditional::WeightScheme;
    use crate::loss::batch::Batch;

    #[test]
    fn two_forms_at_once_are_refused() {
        let of = |form: &str| build("fair-cclk", Some("paper"), json!({ "variant": form })).map(drop);
        let error = of("released").unwrap_err().to_string();
        assert!(error.contains("`params.variant` is \"released\"") && error.contains("leave one"), "{error}");
        of("paper").unwrap();
    }

    #[test]
    fn an_objective_as_a_value_is_built_again_with_the_same_settings() {
        for Entry { spec, default_config, .. } in OBJECTIVES {
            let (config, settings) = default_config();
            if spec.parameters.iter().any(|parameter| parameter.default == DefaultValue::Required) {
                let error = config.unwrap_err().to_string();
                assert!(error.contains("expected"), "{}: {error}", spec.name);
                continue;
            }
            let config = config.unwrap();
            assert_eq!(config.name, spec.name);
            assert_eq!(format!("{:?}", config.build().unwrap()), settings, "{}", spec.name);
            let section = serde_json::to_value(&config).unwrap();
            assert_eq!(ObjectiveConfig::deserialize(&section).unwrap(), config, "{}", spec.name);
        }

        let fair = |settings| ObjectiveConfig::of(&FairCclk(settings));
        let settings = CclkSettings {
            kernel: Kernel::rbf(5.0),
            lambda: 0.2,
            variant: WeightScheme::Paper,
            ..CclkSettings::default()
        };
        let config = fair(settings.clone()).unwrap();
        assert_eq!(config.variant.as_deref(), Some("paper"));
        let built: FairCclk = config.parse().unwrap();
        assert_eq!(format!("{built:?}"), format!("{:?}", FairCclk(settings)));
    }

    /// An objective that the registry does not have, with a name of its own or with one that the registry has.
    #[derive(Debug, Serialize)]
    struct Own<const IS_NAMESAKE: bool> {}

    impl<const IS_NAMESAKE: bool> Described for Own<IS_NAMESAKE> {
        const SPEC: Spec = Spec { name: if IS_NAMESAKE { "nt-xent" } else { "own" }, ..Spec::BASE };
    }

    impl<const IS_NAMESAKE: bool> Objective for Own<IS_NAMESAKE> {
        fn evaluate(&self, _: &Batch) -> Result<Evaluation> {
            unreachable!()
        }
    }

    #[test]
    fn a_value_out_of_range_or_of_another_crate_gives_no_section() {
        let refused = |settings| ObjectiveConfig::of(&FairCclk(settings)).unwrap_err().to_string();
        let default = CclkSettings::default;
        assert!(refused(CclkSettings { temperature: 0.0, ..default() }).contains("`temperature` is 0"));
        for sigma in [0.0, f64::NAN] {
            let error = refused(CclkSettings { kernel: Kernel::rbf(sigma), ..default() });
            assert!(error.contains("`kernel.temp_z`"), "{error}");
        }
        // The section of the namesake trained NT-Xent.
        for (refused, name) in [
            (ObjectiveConfig::of(&Own::<false> {}), "own"),
            (ObjectiveConfig::of(&Own::<true> {}), "nt-xent"),
        ] {
            let remedy = "give the objective to an algorithm, such as `Single`";
            let expected = format!("`objective` is {name}, but its type is none of simile-core; {remedy}");
            assert_eq!(refused.unwrap_err().to_string(), expected);
        }
    }

    /// An objective with a setting out of range was said to condition on nothing.
    #[test]
    fn the_condition_of_an_objective_does_not_depend_on_its_settings() {
        let mut config = ObjectiveConfig::named("fair-cclk");
        config.parameters.insert("temperature".into(), json!(-1));
        assert!(config.build().is_err() && config.needs_condition());
        assert_eq!(ObjectiveConfig::named("hardneg-cclk").conditioning(), Conditioning::Representation);
        assert_eq!(ObjectiveConfig::named("no-such-name").conditioning(), Conditioning::None);
    }

    #[test]
    fn a_description_has_every_setting_of_the_objective_with_its_default() {
        for Entry { spec, defaults, .. } in OBJECTIVES {
            let Value::Object(mut fields) = defaults() else { unreachable!("{}", spec.name) };
            if let [default, _, ..] = spec.variants {
                assert_eq!(fields.remove(VARIANT).unwrap(), default.name, "{}", spec.name);
            }
            for parameter in spec.parameters {
                let value = fields.remove(parameter.name).unwrap_or_default();
                if parameter.default == DefaultValue::Required {
                    let error =
                        build(spec.name, None, json!({ parameter.name: value })).unwrap_err().to_string();
                    let names_it = error.contains(&format!("`{}`", parameter.name));
                    assert!(names_it, "{} without {}: {error}", spec.name, parameter.name);
                    continue;
                }
                let default = parameter.default.to_value();
                let is_same = match parameter.kind {
                    // A bandwidth has several names.
                    Kind::Kernel => {
                        Kernel::deserialize(&value).unwrap() == Kernel::deserialize(&default).unwrap()
                    }
                    _ => value == default,
                };
                assert!(is_same, "{}: {} is {value}, not {default}", spec.name, parameter.name);
                assert!(!value.is_null() || parameter.null.is_some(), "{}: {}", spec.name, parameter.name);
            }
            assert!(fields.is_empty(), "{}: {fields:?}", spec.name);
            let left_open = [spec.title, spec.summary, spec.work, spec.formula, spec.symbols, spec.module];
            assert!(!spec.inputs.is_empty() && !left_open.contains(&""), "{}", spec.name);
            let function = format!("def {}(", spec.name.replace('-', "_"));
            match spec.pytorch {
                Some(source) => assert!(source.contains(&function), "{}: {function}", spec.name),
                None => assert!(!spec.compares_views(), "{} has no PyTorch", spec.name),
            }
            let object = build(spec.name, None, json!({ "domains": 2 }));
            assert_eq!(object.or_else(|_| build(spec.name, None, Value::Null)).unwrap().name(), spec.name);
        }
    }

    #[test]
    fn whoever_weighs_by_a_kernel_says_which_and_solves_ahead() {
        for spec in specs().filter(|spec| !spec.algorithms.is_empty()) {
            // Some have a parameter that has to be given; none of these has a kernel.
            let Ok(objective) = build(spec.name, None, Value::Null) else {
                assert!(spec.parameter("kernel").is_none(), "{}", spec.name);
                continue;
            };
            let kernel = spec.parameter("kernel").filter(|parameter| parameter.kind == Kind::Kernel);
            let solves = objective.conditioned_by_kernel().map(|weights| weights.kernel().clone());
            let given = kernel.map(|kernel| Kernel::deserialize(&kernel.default.to_value()).unwrap());
            assert_eq!(solves, given, "{}", spec.name);
            let is_conditioned = spec.conditioning() != Conditioning::None;
            assert_eq!(solves.is_some(), is_conditioned, "{}", spec.name);
        }
        let normalises =
            |name: &str, form: &str| build(name, Some(form), Value::Null).unwrap().normalises_weights();
        assert!(normalises("fair-cclk", "normalised") && normalises("hardneg-cclk", "normalised"));
        assert!(!normalises("fair-cclk", "paper") && !normalises("weaksup-cclk", "normalised"));
    }

    #[test]
    fn a_form_whose_ridge_grows_has_such_a_ridge_and_its_defaults_are_in_range() {
        for spec in specs() {
            for form in spec.variants {
                let objective = build(spec.name, Some(form.name), Value::Null).unwrap();
                let ridge =
                    |samples: usize| objective.conditioned_by_kernel().map(|weights| weights.ridge(samples));
                let grows = ridge(10).zip(ridge(20)).is_some_and(|(ten, twenty)| twenty == 2.0 * ten);
                assert_eq!(grows, form.ridge_grows, "{} {}", spec.name, form.name);
                let Some((name, value)) = form.default else { continue };
                assert_eq!(
                    spec.parameter(name).map(|parameter| parameter.null.is_some()),
                    Some(true),
                    "{}",
                    spec.name
                );
                build(spec.name, Some(form.name), json!({ name: value })).unwrap();
            }
        }
    }

    #[test]
    fn an_objective_of_one_form_takes_a_name_of_it() {
        for spec in specs().filter(|spec| spec.variants.len() < 2) {
            let with = |variant: Value| {
                let mut parameters = json!({ "variant": variant });
                if spec.parameter("domains").is_some() {
                    parameters["domains"] = 2.into();
                }
                build(spec.name, None, parameters)
            };
            let names = match spec.variants {
                [form] => vec![form.name],
                _ => vec!["paper", "released"],
            };
            names.iter().for_each(|name| drop(with(json!(name)).unwrap()));
            let error = with(json!("printed")).unwrap_err().to_string();
            let says = |text: &str| assert!(error.contains(text), "{}: {error}", spec.name);
            ["variant", "`printed`"].iter().chain(&names).for_each(|text| says(text));
            with(json!(1)).unwrap_err();
        }
        let released =
            |name| ObjectiveConfig { variant: Some("released".into()), ..ObjectiveConfig::named(name) };
        assert!(released("moco").build().is_ok() && released("moco").parse::<infonce::moco::MoCo>().is_ok());
        // The released code trains NT-Xent by that name, and nothing by the other.
        for name in ["info-nce", "fair-info-nce"] {
            let error = released(name).build().unwrap_err().to_string();
            assert!(error.contains("`released`") && error.contains("paper"), "{error}");
        }
    }

    #[test]
    fn a_formula_has_lines_for_each_form_or_is_that_of_all() {
        for spec in specs() {
            let of = |form: &Form| spec.equations(form.name);
            assert!(spec.variants.iter().all(|form| !of(form).is_empty()), "{}", spec.name);
            let lines: Vec<_> = spec.variants.iter().map(of).collect();
            let differ = lines.iter().any(|of_form| *of_form != lines[0]);
            let names = spec.variants.iter().map(|form| form.name);
            let own = names.filter(|name| spec.formula.lines().any(|line| line.starts_with(*name)));
            assert_eq!(own.count(), if differ { lines.len() } else { 0 }, "{}", spec.name);
        }
    }

    #[test]
    fn a_number_beside_its_range_is_an_error_that_names_it() {
        for spec in specs() {
            for parameter in spec.parameters {
                let refused: &[Value] = match parameter.kind {
                    Kind::Number(Range::Factor | Range::Within(..)) => &[json!(-0.1), json!(f64::MIN)],
                    Kind::Number(Range::Moderate) => &[json!(0.0), json!(-1.0), json!(1e13)],
                    Kind::Number(Range::Positive) => &[json!(0.0), json!(-1.0)],
                    Kind::Number(Range::Probability) => &[json!(1.0), json!(-0.1)],
                    Kind::Number(Range::Share) => &[json!(0.0), json!(1.1)],
                    Kind::Integer { high: u64::MAX, .. } => &[],
                    Kind::Integer { .. } => &[json!(0), json!(1_000_000)],
                    Kind::Flag | Kind::Choice(_) | Kind::Kernel | Kind::Structured => &[json!("other")],
                };
                for value in refused {
                    let error =
                        build(spec.name, None, json!({ parameter.name: value })).unwrap_err().to_string();
                    let is_number = value.is_number();
                    let names_it = error.contains(&format!("`{}`", parameter.name));
                    assert!(names_it || !is_number, "{} {value}: {error}", spec.name);
                }
                if parameter.null.is_some() && spec.name != "di" {
                    build(spec.name, None, json!({ parameter.name: null })).unwrap();
                }
            }
        }
    }

    #[test]
    fn a_value_of_another_type_is_an_error_that_names_the_parameter() {
        for spec in specs() {
            for parameter in spec.parameters.iter().filter(|it| it.kind != Kind::Structured) {
                for value in [json!("other"), json!([1]), json!({ "nmae": 1 })] {
                    let error = build(spec.name, None, json!({ parameter.name: value })).unwrap_err();
                    let text = error.to_string();
                    let names_it = text.contains(parameter.name) && !text.contains("params");
                    assert!(names_it, "{} {}: {text}", spec.name, parameter.name);
                }
            }
        }
        let error = build("supcon", None, json!({ "temperature": "0.1" })).unwrap_err().to_string();
        assert_eq!(
            error,
            r#"`temperature` is not understood, invalid type: string "0.1", expected a number"#
        );
        let error = build("fair-cclk", None, json!({ "kernel": "rbf" })).unwrap_err().to_string();
        assert!(error.contains(r#"such as {"name": "rbf"}"#), "{error}");
    }

    #[test]
    fn the_numbers_of_a_slider_are_in_the_range() {
        for (spec, parameter) in specs().flat_map(|spec| spec.parameters.iter().map(move |it| (spec, it))) {
            let Some(Slider { low, high, start, scale }) = parameter.slider() else { continue };
            assert!(low <= start && start <= high && low < high, "{}: {}", spec.name, parameter.name);
            for value in [low, start, high] {
                let value = if scale == Scale::Integers { json!(value as u64) } else { json!(value) };
                let built = build(spec.name, None, json!({ parameter.name: value }));
                assert!(built.is_ok(), "{}: {} {value}", spec.name, parameter.name);
            }
        }
    }

    #[test]
    fn an_input_is_of_one_kind_everywhere() {
        let is_integer = |kind| matches!(kind, InputKind::Integers | InputKind::Clusters);
        let on_device = |kind| matches!(kind, InputKind::Embeddings | InputKind::Rows);
        for (spec, input) in specs().flat_map(|spec| spec.inputs.iter().map(move |input| (spec, input))) {
            let first = input_kind(input.name).unwrap();
            let agree =
                is_integer(first) == is_integer(input.kind) && on_device(first) == on_device(input.kind);
            assert!(agree, "{}: {}", spec.name, input.name);
        }
    }
}
