//! Several variants beside each other: accuracy against leak, and over several runs the mean and spread of each variant.

use anyhow::Result;
use maud::{Markup, PreEscaped, html};

use super::charts::trade_off;
use super::curves::{key, pool_curves};
use super::parts;
use super::pool::{Pool, pools, references};
use super::results::{MetricColumn, columns};
use crate::metrics::Metrics;
use crate::metrics::leak::is_linear_leak;
use crate::metrics::mean_std::MeanStd;
use crate::metrics::names::TOP1;
use crate::metrics::over_runs::over_runs;
use crate::metrics::two_sample::{TwoSampleTest, in_words as test_in_words};
use crate::run_folder::finished::FinishedRun;
use crate::run_folder::record::VariantResult;
use crate::units::NOTHING;

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
type Compared<'a> = (&'a MetricColumn<'a>, Vec<Option<TwoSampleTest>>);

/// The comparisons by accuracy and by each leak that a linear probe finds, where some runs have a spread.
///
/// # Errors
/// If a metric is not finite.
fn compared<'a>(shown: &'a [MetricColumn<'a>], pools: &[Pool<'_>]) -> Result<Vec<Compared<'a>>> {
    let mut compared = Vec::new();
    for column in shown.iter().filter(|column| column.name == TOP1 || is_linear_leak(column.name)) {
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
    let mean_std = |column: &MetricColumn<'_>, condition: &str, runs: &[&Metrics]| {
        let values: Vec<f64> = runs.iter().filter_map(|metrics| column.of(condition, metrics)).collect();
        column.format.mean_std(MeanStd::of(&values))
    };
    let of_pool = |column: &MetricColumn<'_>, pool: &Pool<'_>| {
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
            p { (run.folder) " repeats seed " (seed) " of " (pool.variant) ", and is not counted." }
        } }
        @for pool in pools { @for run in &pool.diverged {
            p { (run.folder) ": " (pool.variant) " diverged with seed " (run.result.seed) ", and is not counted here." }
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::metrics::names::R2;
    use crate::run_folder::testing::{diverged, run, variant, with};

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
}
