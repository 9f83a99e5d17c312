//! The numbers of a report: every variant of every run, and how they were measured.

use std::collections::BTreeMap;

use maud::{Markup, html};

use super::parts::{self, wide};
use crate::metrics::Metrics;
use crate::metrics::format::MetricFormat;
use crate::metrics::metric::{Metric, Predictor};
use crate::metrics::names::{CONDITION, CONDITION_TOP1, R2, TOP1};
use crate::metrics::over_runs::rank;
use crate::run_folder::finished::FinishedRun;
use crate::run_folder::record::{ProbeFit, RunResult, VariantResult};
use crate::units::{self, NOTHING};

/// A column: a metric. That of the condition is another one in runs with another condition.
pub(super) struct MetricColumn<'a> {
    /// Its name in the first run that has it.
    pub(super) name: &'a str,
    metric: Metric<'a>,
    pub(super) format: MetricFormat,
}

/// The columns of some metrics, each with the condition of the run that it was measured in.
pub(super) fn columns<'a>(measured: impl Iterator<Item = (&'a str, &'a str)>) -> Vec<MetricColumn<'a>> {
    let mut columns: Vec<MetricColumn<'a>> = Vec::new();
    for (name, condition) in measured {
        let metric = Metric::of(name, condition);
        if !columns.iter().any(|column| column.metric == metric) {
            columns.push(MetricColumn { name, metric, format: MetricFormat::from_metric(metric) });
        }
    }
    // The most important metrics stand first.
    columns.sort_by_key(|column| (rank(column.name), column.name, column.format.title.clone()));
    columns
}

impl MetricColumn<'_> {
    /// Its value among the metrics of a run with a condition. An attribute may be the condition of one run, and a further one of another.
    pub(super) fn of(&self, condition: &str, metrics: &Metrics) -> Option<f64> {
        let is_mine = |name: &str| Metric::of(name, condition) == self.metric;
        metrics.iter().find(|(name, _)| is_mine(name)).map(|(_, value)| *value)
    }

    fn number(&self, condition: &str, metrics: &Metrics) -> String {
        self.format.number(self.of(condition, metrics))
    }
}

/// The numbers of every variant of every run, and how they were measured.
pub(super) fn table(runs: &[FinishedRun]) -> Markup {
    let measured = variants(runs).flat_map(|(run, variant)| {
        variant.metrics.keys().map(|metric| (metric.as_str(), run.result.condition.as_str()))
    });
    let shown = columns(measured);
    let has = |name: &str| shown.iter().any(|column| column.name == name);
    let conditions = |name: &str| -> String {
        let columns = shown.iter().filter(|column| column.name == name);
        columns.filter_map(|column| column.metric.attribute()).collect::<Vec<_>>().join(" and ")
    };
    html! {
        @match runs {
            [run] => { (one_run_table(run, &shown)) }
            _ => { (several_runs_table(runs, &shown)) }
        }
        p.soft {
            "Top-1: a linear classifier on the frozen, standardised representation."
            @if has(R2) {
                " R² and MSE: a ridge regression of " (conditions(R2)) " on the same representation; R² is 1 where it can be read \
                 off perfectly and 0 where predicting its mean does as well. Lower means less leak."
            }
            @if has(CONDITION_TOP1) {
                " Leak of " (conditions(CONDITION_TOP1)) ": accuracy of a linear classifier of it; lower means less leak."
            }
            @if runs.iter().any(|run| run.result.references().next().is_some()) {
                " The network before its first step is probed in the same way; chance predicts the most frequent value, or the mean, \
                 without a network."
            }
        }
        @for (variants, protocol) in protocols(runs) {
            p.soft { @if variants.is_empty() { "Measured by " } @else { b { (variants) } ": measured by " } (protocol) "." }
        }
        (remarks(runs))
    }
}

/// The variants of runs, each with its run.
fn variants(runs: &[FinishedRun]) -> impl Iterator<Item = (&FinishedRun, &VariantResult)> {
    runs.iter().flat_map(|run| run.result.variants.iter().map(move |variant| (run, variant)))
}

/// Remarks on variants, each with the name of its variant, and beside others with its run.
fn remarks(runs: &[FinishedRun]) -> Markup {
    let several = runs.len() > 1;
    html! { @for (run, variant) in variants(runs) {
        @let whose = html! { (variant.name) @if several { ", " (run.folder) } };
        @if let Some(words) = ridges(&variant.probes, &run.result.condition) {
            p.soft { b { (whose) } ": " (words) "." }
        }
        @if let Some(top1) = variant.last.as_ref().and_then(|last| last.get(TOP1)) {
            p.soft { b { (whose) } ": top-1 of the last encoder, which was not chosen: " (number(Some(top1 * 100.0), 2)) " %." }
        }
        @if let Some(stopped) = &variant.stopped {
            p { b { (whose) " ended early: " } (stopped.message) "." }
        }
        @for warning in &variant.warnings {
            p { b { "Warning, " (whose) ": " } (warning) "." }
        }
    } }
}

/// The name of a variant in a table, with a mark if its numbers are those of a network before it diverged.
fn marked(variant: &VariantResult) -> Markup {
    html! { (variant.name) @if variant.diverged().is_some() { " (diverged)" } }
}

/// A number of the training of a variant, as text.
type TrainingNumber = fn(&VariantResult) -> String;

/// The variants of a run side by side, a line for each number, so that the table fits a narrow page.
fn one_run_table(run: &FinishedRun, shown: &[MetricColumn<'_>]) -> Markup {
    let RunResult { condition, variants, .. } = &run.result;
    let references: Vec<(&str, &Metrics)> = run.result.references().collect();
    let others = || references.iter().map(|_| NOTHING);
    // A name breaks between its words alone; columns that would be narrower than a word make the table scroll.
    let width = format!("min-width: {}rem", 6 + 4 * (variants.len() + references.len()));
    let training_numbers: [(&str, TrainingNumber); 3] = [
        ("Final loss", |variant| number(variant.final_loss, 4)),
        ("Iterations", |variant| variant.iterations.to_string()),
        ("Training", |variant| units::seconds(variant.training_seconds)),
    ];
    html! {
        (wide("Results of the run", &html! { table.numbers style=(width) {
            thead { tr {
                td {}
                @for variant in variants { th.own scope="col" { (marked(variant)) } }
                @for (name, _) in &references { th scope="col" { (name) } }
            } }
            tbody {
                tr { th scope="row" { "Objective" } @for variant in variants { td { (variant.objective) } } @for dash in others() { td { (dash) } } }
                @for column in shown { tr {
                    th scope="row" { (column.format.title) }
                    @for variant in variants { td { b { (column.number(condition, &variant.metrics)) } } }
                    @for (_, metrics) in &references { td { (column.number(condition, metrics)) } }
                } }
                @for (title, value) in training_numbers { tr {
                    th scope="row" { (title) }
                    @for variant in variants { td { (value(variant)) } }
                    @for dash in others() { td { (dash) } }
                } }
            }
        } }))
    }
}

/// Every variant of every run, one row each.
fn several_runs_table(runs: &[FinishedRun], shown: &[MetricColumn<'_>]) -> Markup {
    let head = html! {
        th { "Variant" } th { "Run" } th { "Seed" }
        @for column in shown { th { (column.format.title) } }
        th { "Final loss" } th { "Iterations" } th { "Training" }
    };
    let body = html! { @for run in runs {
        @for variant in &run.result.variants { tr {
            td { b { (marked(variant)) } " " span.soft { (variant.objective) } }
            td { (run.folder) } td { (run.result.seed) }
            @for column in shown { td { (column.number(&run.result.condition, &variant.metrics)) } }
            td { (number(variant.final_loss, 4)) }
            td { (variant.iterations) }
            td { (units::seconds(variant.training_seconds)) }
        } }
        @for (name, metrics) in run.result.references() { tr.soft {
            td { (name) } td { (run.folder) } td { (run.result.seed) }
            @for column in shown { td { (column.number(&run.result.condition, metrics)) } }
            @for _ in 0..3 { td { (NOTHING) } }
        } }
    } };
    parts::table("Results of every run", &head, &body)
}

/// The penalties of a variant's probes, in words.
fn ridges(probes: &BTreeMap<String, ProbeFit>, condition: &str) -> Option<String> {
    let one = |(name, fit): (&String, &ProbeFit)| {
        let of = |target: &str| if target == CONDITION { condition.to_owned() } else { target.to_owned() };
        let name = match Predictor::of(name) {
            (Predictor::Nonlinear, target) if fit.random_features == 0 => {
                return format!("random features find no more of {} on held-out training images", of(target));
            }
            (Predictor::Nonlinear, target) => {
                format!("{} with {} random features", of(target), fit.random_features)
            }
            _ => of(name),
        };
        let chosen = match fit.held_out {
            0 => String::new(),
            images => format!(" (by {images} held-out training images)"),
        };
        format!("{name} {:e}{chosen}", fit.ridge)
    };
    (!probes.is_empty())
        .then(|| format!("ridge of the probes: {}", probes.iter().map(one).collect::<Vec<_>>().join("; ")))
}

/// The protocols of the numbers, each once with its variants; without the variants if there is only one.
fn protocols(runs: &[FinishedRun]) -> Vec<(String, &str)> {
    let mut protocols: Vec<(&str, Vec<&str>)> = Vec::new();
    for variant in
        runs.iter().flat_map(|run| &run.result.variants).filter(|variant| !variant.protocol.is_empty())
    {
        match protocols.iter_mut().find(|(protocol, _)| *protocol == variant.protocol) {
            Some((_, variants)) if variants.contains(&variant.name.as_str()) => {}
            Some((_, variants)) => variants.push(&variant.name),
            None => protocols.push((&variant.protocol, vec![&variant.name])),
        }
    }
    let one = protocols.len() == 1;
    let named = |(protocol, variants): (_, Vec<&str>)| {
        (if one { String::new() } else { variants.join(", ") }, protocol)
    };
    protocols.into_iter().map(named).collect()
}

fn number(value: Option<f64>, digits: usize) -> String {
    value.map_or_else(|| NOTHING.into(), |value| format!("{value:.digits$}"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::comparison::comparison;
    use super::*;
    use crate::run_folder::testing::{diverged, run, variant, with};

    #[test]
    fn an_attribute_of_two_runs_has_one_column_whichever_comes_first() {
        for (attribute, metric) in [("age", "age_r2"), ("class", "attribute_class_r2")] {
            let of = |condition: &str, metric: &str, r2: f64| {
                run(condition, 0, &format!("probe.condition={condition}"), vec![with("x", &[(metric, r2)])])
            };
            let runs = || [of(attribute, R2, 0.25), of("hospital", metric, 0.75)];
            let [first, further] = runs();
            for runs in [runs(), [further, first]] {
                let html = table(&runs).into_string();
                assert_eq!(html.matches(&format!("Leak of {attribute}, R²")).count(), 1, "{html}");
                assert!(html.contains("0.250") && html.contains("0.750"), "{html}");
            }
        }
    }

    #[test]
    fn random_features_are_said_for_each_attribute_and_doubted_on_held_out_images_alone() {
        let fit = |random_features: usize| ProbeFit { ridge: 0.1, held_out: 80, random_features };
        let fits = [("condition", fit(0)), ("condition_nonlinear", fit(0)), ("half_nonlinear", fit(512))];
        let words = ridges(&fits.map(|(name, fit)| (name.to_owned(), fit)).into(), "coin").unwrap();
        for part in [
            "coin 1e-1 (by 80 held-out training images)",
            "random features find no more of coin on held-out training images",
            "half with 512 random features 1e-1",
        ] {
            assert!(words.contains(part), "{words}");
        }
    }

    #[test]
    fn every_remark_names_its_variant_and_among_several_its_run() {
        let run_of = |folder: &str, seed| {
            let mut both = [diverged("x", 0.1), variant("y", 0.8)];
            for variant in &mut both {
                variant.last = Some(BTreeMap::from([(TOP1.to_owned(), 0.75)]));
                variant.warnings = vec!["its views are equal".into()];
            }
            run(folder, seed, "", both.to_vec())
        };
        let runs = [run_of("a/seed-0", 0), run_of("a/seed-1", 1)];
        let html = table(&runs).into_string();
        let last = "top-1 of the last encoder, which was not chosen: 75.00 %.";
        for whose in ["x, a/seed-0", "x, a/seed-1", "y, a/seed-0", "y, a/seed-1"] {
            assert!(html.contains(&format!("<b>{whose}</b>: {last}")), "{html}");
            assert!(html.contains(&format!("<b>Warning, {whose}: </b>its views are equal.")), "{html}");
            let ended = html.contains(&format!("<b>{whose} ended early: </b>a number is not finite"));
            assert_eq!(ended, whose.starts_with('x'), "{html}");
        }
        assert_eq!((html.matches("<b>x (diverged)</b>").count(), html.matches("<b>y</b>").count()), (2, 2));
        let html = table(&runs[..1]).into_string();
        assert!(html.contains("<b>Warning, x: </b>") && html.contains("<b>Warning, y: </b>"), "{html}");
        assert!(html.contains(">x (diverged)</th>") && html.contains(">y</th>"), "{html}");
    }

    #[test]
    fn each_condition_keeps_its_name() {
        let by_age = run("a", 0, "probe.condition=age", vec![with("x", &[(R2, 0.25)])]);
        let by_hospital = run("b", 0, "probe.condition=hospital", vec![with("x", &[(CONDITION_TOP1, 0.92)])]);
        let html = table(&[by_age, by_hospital]).into_string();
        assert!(html.contains("Leak of age, R²") && html.contains("Leak of hospital %"), "{html}");
        assert!(!html.contains("Leak of age %") && !html.contains("Leak of hospital, R²"), "{html}");
        assert!(html.contains("92.00") && html.contains("0.250"));
        let both = [
            run("a", 0, "probe.condition=age", vec![with("x", &[(CONDITION_TOP1, 0.5)])]),
            run("b", 0, "probe.condition=hospital", vec![with("x", &[(CONDITION_TOP1, 0.92)])]),
        ];
        let html = table(&both).into_string() + &comparison(&both).unwrap().into_string();
        assert!(html.contains("Leak of age %") && html.contains("Leak of hospital %"), "{html}");
    }

    #[test]
    fn a_network_that_was_never_trained_has_a_row_and_so_has_no_network() {
        let mut one = run("a", 0, "", vec![with("x", &[(R2, 0.25)])]);
        let of = |top1: f64, r2: f64| BTreeMap::from([(TOP1.to_owned(), top1), (R2.to_owned(), r2)]);
        one.result.untrained = Some(crate::run_folder::record::Untrained {
            name: "Untrained network".into(),
            metrics: of(0.4321, 0.9),
            probes: BTreeMap::new(),
        });
        one.result.base_rates = of(0.1234, 0.0);
        let html = table(&[one]).into_string();
        assert!(html.contains("Untrained network") && html.contains("43.21"), "{html}");
        assert!(html.contains("Chance") && html.contains("12.34"), "{html}");
    }
}
