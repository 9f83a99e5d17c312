//! Warnings about settings that are valid but make the results of a run meaningless. They are derived from the first
//! batch and reported before the run begins, each with its value and a remedy.

use anyhow::Result;
use simile_core::algorithm::Onset;
use simile_core::data::{Condition, Dataset};
use simile_core::kernel::{Degeneracy, Kernel, Remedy, Undecided};
use simile_core::loss::Conditioning;
use simile_core::train::{Purpose, stream};

use crate::config::Recipe;
use crate::config::objective::{BatchRule, ObjectiveSection};
use crate::config::variant::RecipeVariant;
use crate::console::line;
use crate::data::{Classes, tie_to_class};
use crate::exit::usage;
use crate::experiment::evaluate::probe::measurable::one_value;
use crate::experiment::prepare::context::Context;
use crate::experiment::prepare::order::Order;
use crate::run_folder::record::KernelFault;

/// Images whose two views are compared.
const VIEWS_COMPARED: usize = 1024;
/// An attribute whose association with the class is at least this nearly determines it.
const NEARLY_THE_CLASS: f64 = 0.9;

/// The doubts about the settings of a variant, but for those that depend on the length of the run.
pub(super) struct Doubts {
    pub(super) warnings: Vec<String>,
    pub(super) kernel: Option<KernelFault>,
}

/// The doubts about a variant.
///
/// # Errors
/// If its first batch cannot be built.
pub(super) fn doubts(
    variant: &RecipeVariant,
    recipe: &Recipe,
    context: &Context,
    train: &Dataset,
) -> Result<Doubts> {
    let mut warnings: Vec<String> = Vec::new();
    let mut fault = None;
    warnings.extend(views_alike(variant, recipe, train)?);
    let section = &variant.objective;
    let one_value = |name: &str| {
        let value = one_value(train.conditions.get(name)?)?;
        Some(format!("`{name}` is {value} in all {} training images", train.len()))
    };
    let bias = section.bias.as_ref().and_then(|name| one_value(name));
    warnings.extend(
        bias.map(|value| {
            format!("{value}; there is no bias to learn from, name another with objective.bias")
        }),
    );
    let name = section.attribute_or_default();
    let condition = weighs(section).then(|| train.conditions.get(&name)).flatten();
    match (condition, one_value(&name)) {
        (None, _) => {}
        (Some(_), Some(value)) => warnings.push(format!(
            "{value}; there is nothing to condition on, name another attribute with objective.condition"
        )),
        (Some(condition), None) => {
            let sampling = recipe.train.sampling(train.len());
            let mut batch = Order::of(section, context, sampling)?.batch(0);
            batch.truncate(Kernel::MOST_COMPARED);
            let z = condition.select(&batch).to_matrix();
            if let Some(kernel) = kernel(section)
                && let Some(undecided) = kernel.warning_of_first_batch(&name, &z)
            {
                fault = kernel_fault(undecided.remedy);
                warnings.push(kernel_warning(&kernel, section, undecided));
            }
            if !section.keeps_condition() {
                warnings.extend(class_association_warning(&name, condition, train));
            }
        }
    }
    Ok(Doubts { warnings, kernel: fault })
}

/// The warnings about parts of a method that the run ends before. A smoke test has none: it takes so few steps that nothing begins.
pub(crate) fn unreached_stage_warnings(
    variant: &RecipeVariant,
    recipe: &Recipe,
) -> impl Iterator<Item = String> + use<> {
    let iterations = recipe.train.iterations;
    let onsets = recipe.smoke.is_none().then(|| variant.algorithm.onsets()).into_iter().flatten();
    onsets.filter(move |onset| onset.steps >= iterations as u64).map(move |Onset { key, steps, before }| {
        format!("{before} in its {iterations} iterations, because {key} is {steps}; set it lower")
    })
}

/// Prints the warnings that depend on the length of a run.
pub(crate) fn print_unreached_stage_warnings(recipe: &Recipe) {
    for variant in recipe.variants() {
        unreached_stage_warnings(&variant, recipe)
            .for_each(|warning| line(format_args!("warning: {}: {warning}", variant.name)));
    }
}

/// The warning that an attribute which is to be hidden nearly determines the class.
fn class_association_warning(name: &str, condition: &Condition, train: &Dataset) -> Option<String> {
    let classes = Classes { labels: &train.labels, count: train.classes.len() };
    let strength = tie_to_class(condition, classes).filter(|strength| *strength >= NEARLY_THE_CLASS)?;
    let measure = match condition {
        Condition::Categorical { .. } => "Cramér's V",
        Condition::Numeric(_) => "correlation ratio",
    };
    Some(format!(
        "`{name}` nearly determines the class ({measure} {strength:.2}), so hiding it will cost most of the accuracy; \
         `simile data check` tabulates it by class"
    ))
}

/// The warning that both views of an image are the same.
fn views_alike(variant: &RecipeVariant, recipe: &Recipe, train: &Dataset) -> Result<Option<String>> {
    if !variant.algorithm.sees_two_views(&variant.objective.name) {
        return Ok(None);
    }
    let (height, width) = (train.images.height(), train.images.width());
    let mut rng = stream(recipe.train.seed, Purpose::Augmentation, 0);
    let mut view = || recipe.augment.draw(VIEWS_COMPARED, height, width, &mut rng).map_err(usage);
    Ok((view()? == view()?).then(|| {
        "the two views of an image are equal, because nothing in [augment] changes them, so they agree for any \
         encoder; write for example augment.crop = { scale = [0.3, 1.0] }"
            .to_owned()
    }))
}

/// True if an objective compares the values of its condition.
fn weighs(section: &ObjectiveSection) -> bool {
    section.conditioning() == Conditioning::Given || section.groups_by_condition()
}

/// The fault of a kernel with which the condition decides nothing, if its width is at fault or no width would help.
fn kernel_fault(remedy: Remedy) -> Option<KernelFault> {
    match remedy {
        Remedy::Wider(_) => Some(KernelFault::TooNarrow),
        Remedy::LikeImages => Some(KernelFault::EquallyApart),
        Remedy::Narrower(_) | Remedy::OtherCondition => None,
    }
}

/// The warning about the kernel of an objective with which the condition decides nothing in the first batch, with its remedy in a recipe.
fn kernel_warning(
    kernel: &Kernel,
    section: &ObjectiveSection,
    Undecided { degeneracy, fact, remedy }: Undecided,
) -> String {
    let key = match kernel {
        Kernel::Rbf { .. } | Kernel::Laplacian { .. } | Kernel::MedianRbf | Kernel::MedianLaplacian => {
            "kernel.sigma = \"median\""
        }
        _ => "kernel = { name = \"rbf\", sigma = \"median\" }",
    };
    let remedy = match remedy {
        Remedy::Wider(median) => format!("take a wider one, such as {key}, which is {median:.4} here"),
        Remedy::Narrower(median) => format!("take a narrower one, such as {key}, which is {median:.4} here"),
        // Of all training images there are several values; a batch of one cluster has one of them at any size.
        Remedy::OtherCondition
            if degeneracy == Degeneracy::OneValue && matches!(section.batch_rule(), Ok(BatchRule::Shuffled)) =>
        {
            "take larger batches, train.batch, in which images have several values, or name another attribute with \
             objective.condition"
                .to_owned()
        }
        Remedy::OtherCondition => "name another attribute with objective.condition".to_owned(),
        Remedy::LikeImages => {
            let batches = match section.batch_rule() {
                Ok(BatchRule::Shuffled) => "build batches of like images, objective.neighbourhoods = 4, or ",
                _ => "",
            };
            format!(
                "a wider kernel would make them all equally alike: {batches}with objective.condition name an attribute whose values \
                 more images share"
            )
        }
    };
    format!("{fact}; {remedy}")
}

/// The kernel of the condition, where the objective has one whose bandwidth is not learned.
pub(super) fn kernel(section: &ObjectiveSection) -> Option<Kernel> {
    if section.conditioning() != Conditioning::Given {
        return None;
    }
    let objective = section.config().ok()?.build().ok()?;
    objective.conditioned_by_kernel().map(|weights| weights.kernel().clone())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use simile_core::data::synthetic::colour_mnist::Colours;
    use simile_core::data::synthetic::digits::draw_digits;
    use simile_core::numeric::matrix::Matrix;

    use super::super::leak_warnings::probe_warnings;
    use super::*;
    use crate::config::Changes;
    use crate::data::EvaluationSplit;
    use crate::experiment::prepare::splits::Evaluated;

    fn of(set: &[&str], change: impl FnOnce(Dataset) -> Dataset) -> Vec<String> {
        doubted(set, change).warnings
    }

    /// The doubts about a variant, with all of its other warnings.
    fn doubted(set: &[&str], change: impl FnOnce(Dataset) -> Dataset) -> Doubts {
        let set: Vec<String> = set.iter().map(|&set| set.to_owned()).collect();
        let variants = vec!["Fair-CCLK".to_owned()];
        let recipe =
            Recipe::load("fair-digits", &Changes { set: &set, variants: &variants, ..Changes::default() });
        let (recipe, train) = (recipe.unwrap(), change(draw_digits(300, Colours::Palette, 0).unwrap()));
        let variant = recipe.variants().remove(0);
        let context = Context::new(&variant.objective, &train, 0).unwrap();
        let mut doubts = doubts(&variant, &recipe, &context, &train).unwrap();
        let evaluated = Evaluated { dataset: train.clone(), split: EvaluationSplit::Test };
        doubts.warnings.extend(unreached_stage_warnings(&variant, &recipe));
        doubts.warnings.extend(probe_warnings(&recipe, &train, &evaluated));
        doubts
    }

    fn one_doubt(set: &[&str], words: &[&str]) {
        let warnings = of(set, |train| train);
        assert_eq!(warnings.len(), 1, "{set:?}: {warnings:?}");
        assert!(words.iter().all(|word| warnings[0].contains(word)), "{warnings:?}");
    }

    #[test]
    fn shipped_settings_are_not_doubted() {
        assert_eq!(of(&[], |train| train), [""; 0]);
        assert_eq!(of(&["variant.Fair-CCLK.objective.kernel={ name = \"cosine\" }"], |train| train), [""; 0]);
        assert_eq!(of(&["augment={ flip = 0.1 }"], |train| train), [""; 0]);
    }

    #[test]
    fn views_that_never_differ_are_named() {
        for same in ["augment={}", "augment={ flip = 1.0 }", "augment={ grey = 1.0 }"] {
            one_doubt(&[same], &["two views", "augment.crop"]);
        }
        let classes = ["variant.Fair-CCLK.objective={ name = \"cross-entropy\" }", "augment={}"];
        assert_eq!(of(&classes, |train| train), [""; 0], "class scores need no second view");
        let joint = [
            "variant.Fair-CCLK.objective={ name = \"contex\" }",
            "variant.Fair-CCLK.method={ name = \"with-classifier\" }",
            "augment={}",
        ];
        let warnings = of(&joint, |train| train);
        assert!(warnings.len() == 1 && warnings[0].contains("two views"), "{warnings:?}");
        let rebias = [
            "variant.Fair-CCLK.objective={ name = \"rebias-hsic\" }",
            "variant.Fair-CCLK.method={ name = \"rebias\" }",
            "augment={}",
        ];
        assert_eq!(of(&rebias, |train| train), [""; 0], "two networks see one view");
    }

    #[test]
    fn parts_of_a_method_that_begin_after_the_last_step_are_named() {
        let with = |method: &str| {
            let set = [
                "variant.Fair-CCLK.objective={ name = \"swav\" }",
                &format!("variant.Fair-CCLK.method={{ name = \"swav\", prototypes = 10, {method} }}"),
                "train.iterations=30",
            ];
            of(&set, |train| train)
        };
        assert_eq!(with("frozen_steps = 29, queue = 600, queue_from = 29"), [""; 0]);
        let warnings = with("frozen_steps = 30, queue = 600, queue_from = 40");
        assert_eq!(warnings.len(), 2, "{warnings:?}");
        assert!(
            warnings[0].contains("prototypes are not trained") && warnings[0].contains("frozen_steps is 30")
        );
        assert!(warnings[1].contains("queue is not filled") && warnings[1].contains("queue_from is 40"));
    }

    #[test]
    fn a_kernel_that_is_black_or_white_is_named_with_its_value_and_a_rule() {
        let kernel =
            |sigma: &str| format!("variant.Fair-CCLK.objective.kernel={{ name = \"rbf\", sigma = {sigma} }}");
        one_doubt(&[&kernel("0.5")], &["apart", "`colour`", "wider", "median"]);
        one_doubt(&[&kernel("3000")], &["alike", "`colour`", "narrower", "median"]);
        let exact = "variant.Fair-CCLK.objective.kernel={ name = \"exact-match\" }";
        one_doubt(&[exact], &["apart", "wider", "kernel = { name = \"rbf\", sigma = \"median\" }"]);
        assert_eq!(of(&[&kernel("\"median\"")], |train| train), [""; 0]);
        let fault = |sigma: &str| doubted(&[&kernel(sigma)], |train| train).kernel;
        let faults = ["0.5", "3000", "\"median\""].map(fault);
        assert_eq!(faults, [Some(KernelFault::TooNarrow), None, None]);
    }

    /// A wider kernel was advised, under which all of them are equally alike.
    #[test]
    fn categories_that_few_images_share_need_batches_of_like_images() {
        let patients = |train: Dataset| {
            let count = train.len();
            let names = (0..count).map(|at| format!("p{at}")).collect();
            let each = Condition::Categorical { values: (0..count).collect(), names };
            train.with_condition("patient", each).unwrap()
        };
        let warning = |batches: &str| {
            let set = format!(
                "variant.Fair-CCLK.objective={{ name = \"weaksup-cclk\", condition = \"patient\", \
                 kernel = {{ name = \"exact-match\" }}{batches} }}"
            );
            let Doubts { warnings, kernel } = doubted(&[&set], patients);
            assert_eq!(kernel, Some(KernelFault::EquallyApart));
            warnings.join("\n")
        };
        let shuffled = warning("");
        assert!(shuffled.contains("apart by `patient`") && !shuffled.contains("take a wider"), "{shuffled}");
        let remedy =
            "build batches of like images, objective.neighbourhoods = 4, or with objective.condition name an";
        assert!(shuffled.contains(remedy), "{shuffled}");
        let grouped = warning(", neighbourhoods = 4");
        assert!(grouped.contains("objective.condition") && !grouped.contains("neighbourhoods"), "{grouped}");
    }

    /// Another attribute was advised, though other batches have both values.
    #[test]
    fn a_value_that_is_too_rare_for_a_batch_needs_larger_ones() {
        let set = ["variant.Fair-CCLK.objective.condition=device", "train.batch=2"];
        // The first batch has images of at most two of these groups, each of which has the rare value once.
        let warnings = [0, 5, 10].map(|first| {
            let rare = |train: Dataset| {
                let of_group = |at: usize| usize::from((first..first + 5).contains(&at));
                let values = (0..train.len()).map(of_group).collect();
                let names = ["a", "b"].map(str::to_owned).to_vec();
                train.with_condition("device", Condition::Categorical { values, names }).unwrap()
            };
            of(&set, rare).join("\n")
        });
        let of_one = warnings.iter().find(|text| text.contains("have one value of `device`")).unwrap();
        let remedy =
            "in that batch; take larger batches, train.batch, in which images have several values, or";
        assert!(of_one.contains(remedy) && of_one.contains("objective.condition"), "{of_one}");
    }

    #[test]
    fn an_attribute_that_is_the_class_is_named_where_it_is_to_be_hidden() {
        let same = |train: Dataset| {
            let (values, names) = (train.labels.clone(), train.classes.clone());
            train.with_condition("copy", Condition::Categorical { values, names }).unwrap()
        };
        let warnings = |objective: &str| {
            let set = format!(
                "variant.Fair-CCLK.objective={{ name = \"{objective}\", condition = \"copy\", kernel = {{ name = \"exact-match\" }} }}"
            );
            of(&[&set], same).join("\n")
        };
        let hidden = warnings("fair-cclk");
        assert!(hidden.contains("`copy` nearly determines the class (Cramér's V 1.00)"), "{hidden}");
        assert_eq!(warnings("weaksup-cclk"), "");
    }

    #[test]
    fn an_attribute_with_one_value_is_named_wherever_it_is_used() {
        let same = |train: Dataset| {
            let count = train.len();
            let one = Condition::Categorical {
                values: vec![1; count],
                names: vec!["south".into(), "north".into()],
            };
            let train = train.with_condition("hospital", one).unwrap();
            let age = Matrix::from_fn(count, 1, |_, _| 7.5);
            train.with_condition("age", Condition::Numeric(age.into())).unwrap()
        };
        let warnings = |set: &[&str]| of(set, same).join("\n");
        let of_objective = warnings(&["variant.Fair-CCLK.objective.condition=hospital"]);
        assert!(
            of_objective.contains("`hospital` is north in all 300")
                && of_objective.contains("objective.condition")
        );
        let of_bias = warnings(&["variant.Fair-CCLK.objective={ name = \"biascon\", bias = \"hospital\" }"]);
        assert!(of_bias.contains("objective.bias"), "{of_bias}");
        let of_probe = warnings(&["probe.condition=age", "probe.also=[\"hospital\"]"]);
        assert!(of_probe.contains("`age` is 7.5") && of_probe.contains("`hospital` is north"), "{of_probe}");
    }
}
