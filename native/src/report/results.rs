//! The numbers of a report: every variant of every run, and mean and spread over several runs.

use std::collections::BTreeMap;

use anyhow::Result;
use maud::{Markup, PreEscaped, html};

use super::charts::trade_off;
use super::curves::{key, pool_curves};
use super::parts::{self, wide};
use super::pool::{Pool, pools, references};
use crate::metrics::Metrics;
use crate::metrics::format::MetricFormat;
use crate::metrics::leak::is_linear_leak;
use crate::metrics::mean_std::MeanStd;
use crate::metrics::names::{CONDITION, NAMED, NONLINEAR, R2, TOP1};
use crate::metrics::over_runs::{over_runs, rank};
use crate::metrics::two_sample::{TwoSampleTest, in_words as test_in_words};
use crate::run_folder::finished::FinishedRun;
use crate::run_folder::record::{ProbeFit, RunResult, VariantResult};
use crate::units::{self, NOTHING};

/// A column: a metric for the condition of a run. Runs with other conditions have other columns.
struct MetricColumn {
    metric: String,
    condition: String,
    format: MetricFormat,
}

/// The columns of some metrics, each with the condition of the run that it was measured in.
fn columns<'a>(measured: impl Iterator<Item = (&'a str, &'a str)>) -> Vec<MetricColumn> {
    let mut columns: Vec<MetricColumn> = Vec::new();
    for (metric, condition) in measured {
        let format = MetricFormat::of(metric, condition);
        if !columns.iter().any(|column| column.format.title == format.title) {
            columns.push(MetricColumn { metric: metric.to_owned(), condition: condition.to_owned(), format });
        }
    }
    // The most important metrics stand first.
    columns.sort_by_key(|column| (rank(&column.metric), column.metric.clone(), column.format.title.clone()));
    columns
}

impl MetricColumn {
    /// Its value among the metrics of a run with a condition. An attribute may be the condition of one run, and a further one of another.
    fn of(&self, condition: &str, metrics: &Metrics) -> Option<f64> {
        let is_mine = |metric: &str| MetricFormat::of(metric, condition).title == self.format.title;
        metrics.iter().find(|(metric, _)| is_mine(metric)).map(|(_, value)| *value)
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
    let has = |metric: &str| shown.iter().any(|column| column.metric == metric);
    let titles = |metric: &str| -> String {
        let metric_columns = shown.iter().filter(|column| column.metric == metric);
        metric_columns.map(|column| column.condition.as_str()).collect::<Vec<_>>().join(" and ")
    };
    html! {
        @match runs {
            [run] => { (one_run_table(run, &shown)) }
            _ => { (several_runs_table(runs, &shown)) }
        }
        p.soft {
            "Top-1: a linear classifier on the frozen, standardised representation."
            @if has(R2) {
                " R² and MSE: a ridge regression of " (titles(R2)) " on the same representation; R² is 1 where it can be read \
                 off perfectly and 0 where predicting its mean does as well. Lower means less leak."
            }
            @if has(NAMED) {
                " Leak of " (titles(NAMED)) ": how often a linear classifier names it; lower means less leak."
            }
            @if runs.iter().any(|run| run.result.references().next().is_some()) {
                " The network before its first step is probed in the same way; chance is what naming the most frequent value, or the \
                 mean, gives without any network."
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
        @let whose = html! { (variant.name) @if several { ", " (run.place) } };
        @if let Some(words) = ridges(&variant.probes, &run.result.condition) {
            p.soft { b { (whose) } ": " (words) "." }
        }
        @if let Some(top1) = variant.last.as_ref().and_then(|last| last.get(TOP1)) {
            p.soft { b { (whose) } ": the last encoder has " (number(Some(top1 * 100.0), 2)) " %." }
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
fn one_run_table(run: &FinishedRun, shown: &[MetricColumn]) -> Markup {
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
fn several_runs_table(runs: &[FinishedRun], shown: &[MetricColumn]) -> Markup {
    let head = html! {
        th { "Variant" } th { "Run" } th { "Seed" }
        @for column in shown { th { (column.format.title) } }
        th { "Final loss" } th { "Iterations" } th { "Training" }
    };
    let body = html! { @for run in runs {
        @for variant in &run.result.variants { tr {
            td { b { (marked(variant)) } " " span.soft { (variant.objective) } }
            td { (run.place) } td { (run.result.seed) }
            @for column in shown { td { (column.number(&run.result.condition, &variant.metrics)) } }
            td { (number(variant.final_loss, 4)) }
            td { (variant.iterations) }
            td { (units::seconds(variant.training_seconds)) }
        } }
        @for (name, metrics) in run.result.references() { tr.soft {
            td { (name) } td { (run.place) } td { (run.result.seed) }
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
        let name = match name.strip_suffix(NONLINEAR) {
            Some(target) if fit.random_features == 0 => {
                return format!("random features find no more of {} on held-out training images", of(target));
            }
            Some(target) => format!("{} with {} random features", of(target), fit.random_features),
            None => of(name),
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

/// Accuracy against leak of several variants; over several runs the mean and spread of each variant, and their losses.
///
/// # Errors
/// If a chart cannot be drawn.
pub(super) fn comparison(runs: &[FinishedRun]) -> Result<Markup> {
    let pools = pools(runs);
    Ok(html! {
        @if runs.len() > 1 {
            h2 { "Over the runs" }
            (over_the_runs(runs, &pools)?)
        }
        @if pools.len() > 1 || runs.len() > 1 {
            (key(pools.iter().map(|pool| label(pool, &pools))))
            div.pair {
                @for figure in trade_offs(&pools)? { (figure) }
                @if runs.len() > 1 { (pool_curves(&pools)?) }
            }
        }
    })
}

/// The label of a pool beside others: with its differences, if several pools have the same variant.
fn label(pool: &Pool<'_>, pools: &[Pool<'_>]) -> String {
    let same = pools.iter().filter(|other| other.variant == pool.variant).count();
    if same > 1 { format!("{}: {}", pool.variant, pool.differences()) } else { pool.variant.to_owned() }
}

/// A column, and for each pool the comparison of its runs with those of the first one.
type Compared<'a> = (&'a MetricColumn, Vec<Option<TwoSampleTest>>);

/// The comparisons by accuracy and by each leak that a linear probe finds, where some runs have a spread.
///
/// # Errors
/// If a metric is not finite.
fn compared<'a>(shown: &'a [MetricColumn], pools: &[Pool<'_>]) -> Result<Vec<Compared<'a>>> {
    let mut compared = Vec::new();
    for column in shown.iter().filter(|column| column.metric == TOP1 || is_linear_leak(&column.metric)) {
        let values = |pool: &Pool<'_>| -> Vec<f64> {
            let runs = pool.runs.iter();
            let measured = runs.filter_map(|(_, variant)| column.of(pool.condition, &variant.metrics));
            measured.map(|value| column.format.value(value)).collect()
        };
        let first = pools.first().map(values).unwrap_or_default();
        let others = pools.iter().skip(1).map(|pool| TwoSampleTest::of(&values(pool), &first));
        let tests = std::iter::once(Ok(None)).chain(others).collect::<Result<Vec<_>>>()?;
        if tests.iter().any(Option::is_some) {
            compared.push((column, tests));
        }
    }
    Ok(compared)
}

/// Mean and deviation of each variant over the runs that are equal but for the seed.
fn over_the_runs(runs: &[FinishedRun], pools: &[Pool<'_>]) -> Result<Markup> {
    let measured = pools
        .iter()
        .flat_map(|pool| over_runs(pool.metrics()).into_iter().map(|metric| (metric, pool.condition)));
    let shown = columns(measured);
    let mean_std = |column: &MetricColumn, condition: &str, runs: &[&Metrics]| {
        let values: Vec<f64> = runs.iter().filter_map(|metrics| column.of(condition, metrics)).collect();
        column.format.mean_std(MeanStd::of(&values))
    };
    let of_pool = |column: &MetricColumn, pool: &Pool<'_>| {
        let metrics: Vec<_> = pool.runs.iter().map(|(_, variant)| &variant.metrics).collect();
        mean_std(column, pool.condition, &metrics)
    };
    let compared = compared(&shown, pools)?;
    let differ = pools.iter().any(|pool| !pool.differs.is_empty());
    let head = html! {
        th { "Variant" } th { "Recipe" } th { "Runs" }
        @for column in &shown { th { (column.format.title) } }
        @if differ { th { "Differs in" } }
    };
    let body = html! {
        @for pool in pools { tr {
            td { b { (pool.variant) } } td { (pool.recipe) } td { (pool.runs.len()) }
            @for column in &shown { td { (of_pool(column, pool)) } }
            @if differ { td.words { (pool.differences()) } }
        } }
        @for reference in references(runs) { tr.soft {
            td { (reference.name) } td { (NOTHING) } td { (reference.runs.len()) }
            @for column in &shown { td { (mean_std(column, reference.condition, &reference.runs)) } }
            @if differ { td {} }
        } }
    };
    Ok(html! {
        (parts::table("Results over the runs", &head, &body))
        p.soft { "Mean ± standard deviation over the runs (n − 1)." }
        (against_first(pools, &compared))
        (not_counted(pools, differ))
    })
}

/// The comparisons with the first variant: a table of their own, because one with the means too would be wider than a page.
fn against_first(pools: &[Pool<'_>], compared: &[Compared<'_>]) -> Markup {
    let Some(words) = test_in_words(compared.iter().flat_map(|(_, tests)| tests.iter().flatten())) else {
        return html! {};
    };
    let text = |(column, tests): &Compared<'_>, at: usize| {
        let test = tests.get(at).and_then(Option::as_ref);
        test.map_or_else(|| NOTHING.to_owned(), |test| test.text(column.format.digits()))
    };
    let head = html! {
        th { "Against the first" } th { "Recipe" }
        @for (column, _) in compared { th { (column.format.title) } }
    };
    let body = html! { @for (at, pool) in pools.iter().enumerate().skip(1) { tr {
        td { b { (pool.variant) } } td { (pool.recipe) }
        @for one in compared { td { (text(one, at)) } }
    } } };
    html! {
        (parts::table("Comparison with the first variant", &head, &body))
        p.soft { "Against the first variant: " (words) "." }
    }
}

/// Why runs stand side by side or are in no mean. `differ`: some differ in more than the seed.
fn not_counted(pools: &[Pool<'_>], differ: bool) -> Markup {
    html! {
        @if differ {
            p {
                "Only runs that are equal but for the seed are repeats of each other. These differ in more, and so stand \
                 side by side, each with its values of the keys that differ."
            }
        }
        @for pool in pools { @for (run, seed) in &pool.again {
            p { (run.place) " repeats seed " (seed) " of " (pool.variant) ", and is not counted." }
        } }
        @for pool in pools { @for run in &pool.diverged {
            p { (run.place) ": " (pool.variant) " diverged with seed " (run.result.seed) ", and is not counted here." }
        } }
    }
}

/// Accuracy against leak, a chart for each attribute.
fn trade_offs(pools: &[Pool<'_>]) -> Result<Vec<Markup>> {
    let leaks = columns(pools.iter().flat_map(|pool| {
        pool.metrics().filter(|metric| is_linear_leak(metric)).map(|metric| (metric, pool.condition))
    }));
    let mut figures = Vec::new();
    for column in leaks {
        let of_pool = |(ink, pool): (usize, &Pool<'_>)| -> Vec<(f64, f64, usize)> {
            let both = |variant: &VariantResult| {
                let leak = column.of(pool.condition, &variant.metrics)?;
                Some((leak, variant.metric(TOP1)? * 100.0, ink))
            };
            pool.runs.iter().filter_map(|(_, variant)| both(variant)).collect()
        };
        let points: Vec<(f64, f64, usize)> = pools.iter().enumerate().flat_map(of_pool).collect();
        if points.len() > 1 {
            // The axis is a fraction of 1.
            let title = column.format.title.as_str();
            let title =
                title.strip_suffix(" %").map_or_else(|| title.to_owned(), |leak| format!("{leak}, accuracy"));
            figures.push(html! { figure {
                (PreEscaped(trade_off(&title, &points)?))
                figcaption { b { "Accuracy against leak," } " one point a run. Up and left is better." }
            } });
        }
    }
    Ok(figures)
}

fn number(value: Option<f64>, digits: usize) -> String {
    value.map_or_else(|| NOTHING.into(), |value| format!("{value:.digits$}"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::testing::{diverged, run, variant};
    use super::*;

    fn with(name: &str, metrics: &[(&str, f64)]) -> VariantResult {
        let mut variant = variant(name, 0.5);
        variant.metrics.extend(metrics.iter().map(|(name, value)| ((*name).to_owned(), *value)));
        variant
    }

    #[test]
    fn no_spread_and_no_p_stand_over_runs_of_different_settings() {
        let seeds = |set: &str, first: u64| {
            [run("a", first, set, vec![variant("x", 0.8)]), run("b", first + 1, set, vec![variant("x", 0.9)])]
        };
        let text = |runs: &[FinishedRun]| comparison(runs).unwrap().into_string();
        let [one, other] = seeds("", 0);
        let pooled = text(&[one, other]);
        assert!(pooled.contains("85.00 ± 7.07") && !pooled.contains("Differs in"));
        let [one, _] = seeds("", 0);
        let [_, other] = seeds("train.batch=32", 0);
        let apart = text(&[one, other]);
        assert!(
            !apart.contains("±</td>") && !apart.contains(" ± 7.07") && !apart.contains("Against the first")
        );
        let variants = |seed, x, y| run("a", seed, "", vec![variant("x", x), variant("y", y)]);
        let against = text(&[variants(0, 0.5, 0.8), variants(1, 0.6, 0.9)]);
        assert!(against.contains("Against the first variant: the difference"), "{against}");
        assert!(apart.contains("train.batch = 16") && apart.contains("train.batch = 32"), "{apart}");
    }

    #[test]
    fn every_metric_of_the_tables_has_a_mean_and_every_leak_a_test() {
        let seed = |seed: u64, more: f64| {
            let of = |name: &str, r2: f64| {
                let nonlinear = ("condition_r2_nonlinear", r2 + more + 0.125);
                with(
                    name,
                    &[(R2, r2 + more), nonlinear, ("unbiased", 0.5 + more), ("worst_group", 0.25 + more)],
                )
            };
            run("a", seed, "", vec![of("x", 0.75), of("y", 0.25)])
        };
        let runs = [seed(0, 0.0), seed(1, 0.05)];
        let over = comparison(&runs).unwrap().into_string();
        for title in ["Mean of groups %", "Worst group %", "Leak of colour, R², non-linear probe"] {
            assert!(over.contains(&format!("<th>{title}</th>")), "{title}: {over}");
        }
        assert!(over.contains("0.900 ± 0.035") && over.contains("52.50 ± 3.54"), "{over}");
        let (_, against) = over.split_once("<th>Against the first</th>").unwrap();
        for title in ["Top-1 %", "Leak of colour, R²"] {
            assert!(against.contains(&format!("<th>{title}</th>")), "{title}: {against}");
        }
        assert!(over.contains("-0.500 ["), "{over}");
        let place = |title: &str| over.find(&format!("<th>{title}</th>")).unwrap();
        assert!(place("Leak of colour, R²") < place("Leak of colour, R², non-linear probe"));
    }

    #[test]
    fn a_further_attribute_has_its_means_its_test_and_its_chart() {
        let of = |name: &str, r2: f64, half: f64| {
            let nonlinear = ("half_top1_nonlinear", half + 0.125);
            with(name, &[(R2, r2), ("half_top1", half), nonlinear, ("half_worst_group", 0.5)])
        };
        let seed = |seed: u64, half: f64| {
            run("a", seed, "probe.condition=age", vec![of("x", 0.5, half), of("y", 0.4, half - 0.5)])
        };
        let runs = [seed(0, 0.75), seed(1, 0.80)];
        let over = comparison(&runs).unwrap().into_string();
        let (means, against) = over.split_once("<th>Against the first</th>").unwrap();
        let linear = "<th>Leak of half %</th>";
        assert!(means.contains(linear) && means.contains("77.50 ± 3.54"), "{over}");
        assert!(means.contains("<th>Leak of half %, non-linear probe</th>"), "{over}");
        assert!(!means.contains("Worst group by half"), "{over}");
        assert!(against.contains(linear) && against.contains("-50.00 ["), "{over}");
        assert_eq!(over.matches("Accuracy against leak").count(), 2);
        assert!(over.contains("Leak of half, accuracy") && over.contains("Leak of age, R²"), "{over}");
    }

    #[test]
    fn an_attribute_of_two_runs_has_one_column_whichever_comes_first() {
        let first = run("a", 0, "probe.condition=age", vec![with("x", &[(R2, 0.25)])]);
        let further = run("b", 0, "probe.condition=hospital", vec![with("x", &[("age_r2", 0.75)])]);
        let html = table(&[first, further]).into_string();
        assert_eq!(html.matches("Leak of age, R²").count(), 1, "{html}");
        assert!(html.contains("0.250") && html.contains("0.750"), "{html}");
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
    fn a_variant_that_diverged_is_named_and_not_counted() {
        let variants = |seed, x: VariantResult, y| run("a", seed, "", vec![x, variant("y", y)]);
        let runs = [
            variants(0, variant("x", 0.5), 0.8),
            variants(1, variant("x", 0.6), 0.9),
            variants(2, diverged("x", 0.1), 0.85),
        ];
        let text = comparison(&runs).unwrap().into_string();
        assert!(text.contains("55.00 ± 7.07") && text.contains("85.00 ± 5.00"), "{text}");
        assert!(text.contains("a: x diverged with seed 2, and is not counted here."), "{text}");
    }

    #[test]
    fn every_remark_names_its_variant_and_among_several_its_run() {
        let run_of = |place: &str, seed| {
            let mut both = [diverged("x", 0.1), variant("y", 0.8)];
            for variant in &mut both {
                variant.last = Some(BTreeMap::from([(TOP1.to_owned(), 0.75)]));
                variant.warnings = vec!["its views are equal".into()];
            }
            run(place, seed, "", both.to_vec())
        };
        let runs = [run_of("a/seed-0", 0), run_of("a/seed-1", 1)];
        let html = table(&runs).into_string();
        for whose in ["x, a/seed-0", "x, a/seed-1", "y, a/seed-0", "y, a/seed-1"] {
            assert!(html.contains(&format!("<b>{whose}</b>: the last encoder has 75.00 %.")), "{html}");
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
        let by_hospital = run("b", 0, "probe.condition=hospital", vec![with("x", &[(NAMED, 0.92)])]);
        let html = table(&[by_age, by_hospital]).into_string();
        assert!(html.contains("Leak of age, R²") && html.contains("Leak of hospital %"), "{html}");
        assert!(!html.contains("Leak of age %") && !html.contains("Leak of hospital, R²"), "{html}");
        assert!(html.contains("92.00") && html.contains("0.250"));
        let both = [
            run("a", 0, "probe.condition=age", vec![with("x", &[(NAMED, 0.5)])]),
            run("b", 0, "probe.condition=hospital", vec![with("x", &[(NAMED, 0.92)])]),
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
