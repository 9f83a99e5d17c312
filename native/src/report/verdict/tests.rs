use super::*;
use crate::metrics::names::CONDITION_ROC_AUC;
use crate::run_folder::record::{ImageCounts, Untrained, VariantResult};
use crate::run_folder::testing::{self, run, variant};

fn with(name: &str, top1: f64, leak: (&str, f64)) -> VariantResult {
    let mut variant = variant(name, top1);
    variant.metrics.insert(leak.0.to_owned(), leak.1);
    variant
}

fn finished(leaks: &[[f64; 2]], metric: &str, base: f64) -> Vec<FinishedRun> {
    let one = |(seed, [plain, hidden]): (usize, &[f64; 2])| {
        let variants = vec![with("plain", 0.63, (metric, *plain)), with("hide", 0.86, (metric, *hidden))];
        let mut run = run("a", seed as u64, "probe.condition=hospital", variants);
        let metrics =
            |top1: f64, leak: f64| BTreeMap::from([(TOP1.to_owned(), top1), (metric.to_owned(), leak)]);
        run.result.base_rates = metrics(0.26, base);
        run.result.untrained = Some(Untrained {
            name: "Untrained network".into(),
            metrics: metrics(0.5, 0.9),
            probes: BTreeMap::new(),
        });
        run
    };
    leaks.iter().enumerate().map(one).collect()
}

fn of(finished: &[FinishedRun]) -> Vec<String> {
    let recipe = Recipe::resolved(&finished[0].recipe, Path::new("recipe.toml")).unwrap();
    verdict(&recipe, &finished.iter().map(|run| &run.result).collect::<Vec<_>>()).unwrap()
}

#[test]
fn the_leak_and_the_accuracy_are_said_beside_plain_chance_and_the_untrained_network() {
    let said = of(&finished(&[[0.92, 0.84]], CONDITION_TOP1, 0.36));
    assert_eq!(
        said[0],
        "hide: hospital can be named 92 → 84 % of the time (chance 36 %, untrained network 90 %); class accuracy \
         63 → 86 % (chance 26 %, untrained network 50 %)."
    );
    assert!(said[1].contains("plain") && said[2].contains("`--seeds 5`"), "{said:?}");
    assert_eq!(said.len(), 3, "there is nothing to try where it worked: {said:?}");
    let mut one = finished(&[[0.92, 0.84]], CONDITION_TOP1, 0.36);
    one[0].result.variants[1].paired =
        BTreeMap::from([(TOP1.to_owned(), 1e-9), (CONDITION_TOP1.to_owned(), 0.0312)]);
    let tested = of(&one);
    assert!(
        tested[0].contains("network 90 %, p 0.031") && tested[0].contains("50 %, p < 0.001"),
        "{tested:?}"
    );
    assert!(tested[2].contains("McNemar") && tested[2].contains("`--seeds 5`"), "{tested:?}");
    one[0].result.images = Some(ImageCounts { train: 400, test: 100, test_subjects: Some(17) });
    let by_subject = of(&one);
    assert!(by_subject[2].contains("test on the 17 subjects of the test images"), "{by_subject:?}");
    let of_number = of(&finished(&[[0.8, 0.1]], R2, 0.0));
    assert!(of_number[0].contains("hospital can be predicted with an R² of 0.80 → 0.10"), "{of_number:?}");
}

#[test]
fn several_seeds_have_a_spread_and_p() {
    let said = of(&finished(&[[0.92, 0.84], [0.94, 0.82], [0.93, 0.83]], CONDITION_TOP1, 0.36));
    assert!(said[0].contains("93 ± 1 → 83 ± 1 % of the time") && said[0].contains("p 0.100"), "{said:?}");
    assert!(said[2].contains("3 seeds") && said[2].contains("0.100"), "{said:?}");
}

#[test]
fn a_variant_that_diverged_is_named_and_compared_with_nothing() {
    let stopped = testing::diverged("hide", 0.0).stopped;
    let mut seeds = finished(&[[0.92, 0.84], [0.94, 0.1], [0.93, 0.82]], CONDITION_TOP1, 0.36);
    seeds[1].result.variants[1].stopped.clone_from(&stopped);
    let said = of(&seeds);
    assert!(said[0].contains("93 ± 1 → 83 ± 1 % of the time"), "{said:?}");
    assert_eq!(said[2], "Diverged, and not counted here: hide with seed 1.");
    assert!(said[3].contains("2 to 3 seeds. p,") && said[3].contains("below 0.100."), "{said:?}");
    assert_eq!(FinishedRun::verdict(&seeds).unwrap(), said);

    let mut one = finished(&[[0.92, 0.84]], CONDITION_TOP1, 0.36);
    one[0].result.variants[0].stopped.clone_from(&stopped);
    let said = of(&one);
    assert!(said[0].starts_with("hide: hospital can be named 84 % of the time"), "{said:?}");
    assert_eq!(said[1], "Diverged, and not counted here: plain.");
    one[0].result.variants[1].stopped = stopped;
    assert_eq!(of(&one), ["Diverged, and not counted here: plain, hide."]);
}

#[test]
fn variants_are_paired_by_their_names() {
    let mut seeds = finished(&[[0.92, 0.84], [0.94, 0.82]], CONDITION_TOP1, 0.36);
    let in_order = of(&seeds);
    seeds[1].result.variants.reverse();
    assert_eq!(of(&seeds), in_order);
}

#[test]
fn where_nothing_moved_the_next_steps_are_named_in_order() {
    let said = of(&finished(&[[0.92, 0.915]], CONDITION_TOP1, 0.36));
    let tries: Vec<&String> = said.iter().filter(|line| line.contains("--set")).collect();
    assert!(tries.len() >= 3, "{said:#?}");
    // The objective of the test's variant conditions on nothing, so no condition is set.
    assert!(said.iter().any(|line| line.starts_with("1. an objective that hides hospital")), "{said:#?}");
    assert!(tries[0].starts_with("2.") && tries[0].contains("train.iterations="), "{said:#?}");
    let little = of(&finished(&[[0.37, 0.37]], CONDITION_TOP1, 0.36));
    assert!(little.iter().any(|line| line.contains("hardly reveals hospital")), "{little:#?}");
}

/// The verdict of a run with 160 test images: the name of each leak, its value in both variants, and its base rate.
fn with_leaks(leaks: &[(&str, [f64; 2], f64)]) -> String {
    on(ImageCounts { train: 240, test: 160, test_subjects: None }, leaks)
}

/// The same of a run with other images.
fn on(images: ImageCounts, leaks: &[(&str, [f64; 2], f64)]) -> String {
    let mut finished = finished(&[[0.0, 0.0]], CONDITION_TOP1, 0.0);
    let result = &mut finished[0].result;
    result.images = Some(images);
    for (metric, of_variants, base) in leaks {
        result.base_rates.insert((*metric).to_owned(), *base);
        for (variant, leak) in result.variants.iter_mut().zip(of_variants) {
            variant.metrics.insert((*metric).to_owned(), *leak);
        }
    }
    of(&finished).join("\n")
}

const CONDITION_TOP1_NONLINEAR: &str = "condition_top1_nonlinear";

#[test]
fn what_any_probe_finds_is_not_little() {
    let rare = with_leaks(&[(CONDITION_TOP1, [1.0; 2], 0.98), (CONDITION_ROC_AUC, [1.0; 2], 0.5)]);
    let unseen_by_accuracy =
        with_leaks(&[(CONDITION_TOP1, [0.9; 2], 0.9), (CONDITION_ROC_AUC, [0.87; 2], 0.5)]);
    let bent = with_leaks(&[(CONDITION_TOP1, [0.52; 2], 0.5), (CONDITION_TOP1_NONLINEAR, [0.97; 2], 0.5)]);
    for said in [&rare, &unseen_by_accuracy, &bent] {
        assert!(!said.contains("little to hide") && said.contains("hospital leaks as before"), "{said}");
    }
    assert!(unseen_by_accuracy.contains("ROC-AUC 87 → 87 % where chance has 50 %"), "{unseen_by_accuracy}");
    assert!(bent.contains("a non-linear probe finds 97 %"), "{bent}");
    // Only three images have the value, so that naming all of them may be chance, and ranking them all first is not.
    assert!(rare.contains("ROC-AUC 100 → 100 %"), "{rare}");
    let seen_by_both = with_leaks(&[(CONDITION_TOP1, [0.99; 2], 0.9), (CONDITION_ROC_AUC, [0.99; 2], 0.5)]);
    assert!(
        seen_by_both.contains("hospital leaks as before") && !seen_by_both.contains("ROC-AUC"),
        "{seen_by_both}"
    );
}

#[test]
fn what_another_probe_still_finds_is_not_hidden() {
    let ranked = |after: f64| {
        with_leaks(&[(CONDITION_TOP1, [0.975, 0.9], 0.9), (CONDITION_ROC_AUC, [0.99, after], 0.5)])
    };
    let known = ranked(0.97);
    assert!(known.contains("ROC-AUC 99 → 97 % where chance has 50 %"), "{known}");
    assert!(known.contains("hospital leaks as before"), "{known}");
    let bent = |after: f64| {
        with_leaks(&[(CONDITION_TOP1, [0.97, 0.52], 0.5), (CONDITION_TOP1_NONLINEAR, [0.97, after], 0.5)])
    };
    let known = bent(0.97);
    assert!(known.contains("a non-linear probe finds 97 %"), "{known}");
    assert!(known.contains("hospital leaks as before"), "{known}");
    for hidden in [ranked(0.55), bent(0.55)] {
        assert!(!hidden.contains("leaks") && !hidden.contains("little to hide"), "{hidden}");
    }
    // The linear probe still finds the attribute, and less of it; it does not speak for the other one.
    let both = |after: f64| {
        with_leaks(&[(CONDITION_TOP1, [0.97, 0.62], 0.5), (CONDITION_TOP1_NONLINEAR, [0.97, after], 0.5)])
    };
    assert!(both(0.97).contains("hospital leaks as before"), "{}", both(0.97));
    assert!(!both(0.7).contains("leaks"), "{}", both(0.7));
}

#[test]
fn a_fall_is_judged_by_the_error_where_it_is() {
    let images = |test: usize| ImageCounts { train: 240, test, test_subjects: None };
    let fell = on(images(100), &[(CONDITION_TOP1, [0.97, 0.91], 0.5)]);
    assert!(!fell.contains("leaks") && !fell.contains("told from chance"), "{fell}");
    let same = on(images(100), &[(CONDITION_TOP1, [0.97, 0.95], 0.5)]);
    assert!(
        same.contains("hospital leaks as before (a fall by less than 4.7 points counts as none). To try"),
        "{same}"
    );
    let none = on(images(100), &[(CONDITION_TOP1, [0.97, 0.97], 0.5)]);
    assert!(none.contains("hospital leaks as before. To try"), "{none}");
    let of_number = with_leaks(&[(R2, [0.987, 0.927], 0.0)]);
    let words = "as before (a fall by less than an R² of 0.10 counts as none)";
    assert!(of_number.contains(words), "{of_number}");
    // One of twenty images less is no fall, although what is left may be chance.
    let doubtful = on(images(20), &[(CONDITION_TOP1, [0.85, 0.8], 0.5)]);
    assert!(
        doubtful.contains("on 20 test images the leak of hospital cannot be told from chance"),
        "{doubtful}"
    );
}

#[test]
fn what_a_few_images_name_is_neither_a_leak_nor_little() {
    for (leaks, base) in [([0.994, 1.0], 0.981), ([0.925; 2], 0.9), ([0.56, 0.59], 0.49), ([0.5, 0.58], 0.5)]
    {
        let said = with_leaks(&[(CONDITION_TOP1, leaks, base)]);
        let doubt = "hide: on 160 test images the leak of hospital cannot be told from chance; evaluate on more: raise \
                     `data.test`, or add pictures.";
        assert!(said.contains(doubt), "{said}");
        assert!(!said.contains("hardly reveals") && !said.contains("leaks"), "{said}");
    }
    for (test_subjects, which) in [(None, "on 7 test images"), (Some(5), "on 5 subjects of the test images")]
    {
        let few = ImageCounts { train: 20, test: 7, test_subjects };
        let said = on(few, &[(CONDITION_TOP1, [1.0; 2], 0.5)]);
        assert!(said.contains(which) && said.contains("cannot be told from chance"), "{said}");
        assert!(!said.contains("little to hide"), "{said}");
    }
    let said = with_leaks(&[(CONDITION_TOP1, [0.53; 2], 0.5)]);
    assert!(said.contains("hardly reveals hospital") && !said.contains("told from chance"), "{said}");
    let said = with_leaks(&[(CONDITION_TOP1, [0.8, 0.82], 0.5)]);
    assert!(said.contains("hospital leaks as before"), "{said}");
    let said = with_leaks(&[(R2, [0.05; 2], 0.0)]);
    assert!(said.contains("hospital leaks as before"), "an R² is no share of the images: {said}");
}

/// The advice was to raise `data.test`, which changes nothing of an evaluation on held-out training images.
#[test]
fn more_images_to_evaluate_on_are_asked_of_their_key() {
    let mut finished = finished(&[[0.5, 0.58]], CONDITION_TOP1, 0.5);
    let variants = vec![variant("plain", 0.5), variant("hide", 0.5)];
    finished[0].recipe = run("a", 0, "probe.condition=hospital;data.validation=8", variants).recipe;
    finished[0].result.images = Some(ImageCounts { train: 56, test: 8, test_subjects: None });
    let said = of(&finished).join("\n");
    let doubt = "hide: on 8 held-out training images the leak of hospital cannot be told from chance; evaluate on more: raise \
                 `data.validation`, or add pictures.";
    assert!(said.contains(doubt), "{said}");
}

#[test]
fn an_r2_of_a_few_images_is_neither_a_leak_nor_little() {
    let of_age = |test: usize, leaks: [f64; 2]| {
        let mut finished = finished(&[leaks], R2, 0.0);
        finished[0].result.images = Some(ImageCounts { train: 24, test, test_subjects: None });
        of(&finished).join("\n")
    };
    for leaks in [[-12.75, -3.78], [0.0, 0.05], [0.02, -0.3], [0.3, 0.5]] {
        let said = of_age(6, leaks);
        assert!(
            said.contains("hide: on 6 test images the leak of hospital cannot be told from chance"),
            "{said}"
        );
        assert!(!said.contains("hardly reveals") && !said.contains("leaks"), "{said}");
    }
    assert!(of_age(100, [-0.45, 0.02]).contains("hardly reveals hospital"));
    assert!(of_age(100, [0.05, 0.3]).contains("leaks more than in the first variant, by an R² of 0.25"));
    // Far beyond chance a few images show a leak, and its fall.
    assert!(of_age(6, [0.9, 0.88]).contains("hospital leaks as before"));
    let fell = of_age(6, [0.9, -1.0]);
    assert!(!fell.contains("leaks") && !fell.contains("told from chance"), "{fell}");
}

#[test]
fn an_area_that_may_be_chance_is_no_leak() {
    // Of 160 images 16 have the value: the standard error of the area is 0.076.
    let of_nonlinear = ("condition_roc_auc_nonlinear", [0.62; 2], 0.5);
    let said =
        with_leaks(&[(CONDITION_TOP1, [0.9; 2], 0.9), (CONDITION_ROC_AUC, [0.6; 2], 0.5), of_nonlinear]);
    assert!(said.contains("cannot be told from chance") && !said.contains("ROC-AUC"), "{said}");
    let said = with_leaks(&[(CONDITION_TOP1, [0.52; 2], 0.5), (CONDITION_TOP1_NONLINEAR, [0.53; 2], 0.5)]);
    assert!(said.contains("hardly reveals hospital"), "{said}");
}

#[test]
fn a_rare_value_that_is_hidden_needs_no_advice() {
    let said = of(&finished(&[[1.0, 0.98]], CONDITION_TOP1, 0.98)).join("\n");
    assert!(!said.contains("leaks") && !said.contains("little to hide"), "{said}");
    let rose = of(&finished(&[[0.985, 0.99]], CONDITION_TOP1, 0.98)).join("\n");
    assert!(rose.contains("by 0.5 points"), "{rose}");
}

#[test]
fn a_leak_that_rose_is_said() {
    for (leaks, by) in [([0.6, 0.9], "30 points"), ([0.4, 0.9], "50 points"), ([0.36, 0.9], "54 points")] {
        let said = of(&finished(&[leaks], CONDITION_TOP1, 0.36)).join("\n");
        assert!(said.contains(&format!("leaks more than in the first variant, by {by}")), "{said}");
        assert!(!said.contains("as before") && !said.contains("little to hide"), "{said}");
    }
    let said = of(&finished(&[[0.1, 0.35]], R2, 0.0)).join("\n");
    assert!(said.contains("by an R² of 0.25"), "{said}");
}

#[test]
fn an_r2_below_that_of_the_mean_is_no_amount_of_leak() {
    let said = of(&finished(&[[-0.45, 0.1]], R2, 0.0)).join("\n");
    assert!(said.contains("R² of -0.45 → 0.10") && said.contains("by an R² of 0.10"), "{said}");
    let little = of(&finished(&[[-0.45, 0.02]], R2, 0.0)).join("\n");
    assert!(little.contains("hardly reveals hospital") && !little.contains("leaks more"), "{little}");
    // One seed without a leak does not make up for others.
    let seeds = of(&finished(&[[0.3, 0.6], [0.3, 0.6], [0.3, -3.0]], R2, 0.0)).join("\n");
    assert!(seeds.contains("by an R² of 0.10"), "{seeds}");
    let zero = of(&finished(&[[-0.001, -0.002], [-0.002, -0.004]], R2, 0.0)).join("\n");
    assert!(zero.contains("R² of 0.00 ± 0.00 → 0.00 ± 0.00"), "{zero}");
}

#[test]
fn a_variant_that_lost_the_class_with_the_attribute_hides_nothing() {
    let mut collapsed = finished(&[[0.92, 0.36]], CONDITION_TOP1, 0.36);
    assert!(!of(&collapsed).join("\n").contains("proves nothing"));
    collapsed[0].result.variants[1].metrics.insert(TOP1.to_owned(), 0.26);
    let said = of(&collapsed).join("\n");
    assert!(
        said.contains(
            "hide: it predicts the class no better than chance, so a low leak of hospital proves nothing"
        ),
        "{said}"
    );
}

#[test]
fn a_first_variant_that_learnt_nothing_does_not_mean_that_there_is_little_to_hide() {
    for hidden in [0.36, 0.9] {
        let mut collapsed = finished(&[[0.36, hidden]], CONDITION_TOP1, 0.36);
        collapsed[0].result.variants[0].metrics.insert(TOP1.to_owned(), 0.26);
        let said = of(&collapsed).join("\n");
        assert!(said.contains("the first variant learnt nothing"), "{said}");
        assert!(!said.contains("little to hide"), "{said}");
    }
}

#[test]
fn a_leak_without_a_number_could_not_be_measured() {
    let mut unmeasured = finished(&[[0.92, 0.84]], CONDITION_TOP1, 0.36);
    for variant in &mut unmeasured[0].result.variants {
        variant.metrics.remove(CONDITION_TOP1);
    }
    let said = of(&unmeasured);
    assert!(said[0].starts_with("hide: how much of hospital leaks could not be measured; class"), "{said:?}");
    assert!(said.iter().all(|line| !line.contains("--set")), "{said:?}");
}

#[test]
fn a_variant_is_not_judged_by_an_attribute_that_it_does_not_hide() {
    let said = |also: &str| {
        let objective = "name = \"fair-cclk\", condition = \"rare\", kernel = { name = \"cosine\" }";
        let set = format!("probe.condition=hospital;variant.hide.objective={{ {objective} }};{also}");
        let variants =
            vec![with("plain", 0.63, (CONDITION_TOP1, 0.92)), with("hide", 0.6, (CONDITION_TOP1, 0.92))];
        of(&[run("a", 0, &set, variants)])
    };
    let unmeasured = said("probe.also=[\"rare\"]");
    let start =
        "hide: how much of rare leaks could not be measured; hospital can be named 92 → 92 % of the time";
    assert!(unmeasured[0].starts_with(start), "{unmeasured:?}");
    assert!(unmeasured.iter().all(|line| !line.contains("--set")), "{unmeasured:?}");
    let unprobed = said("");
    assert!(unprobed.iter().any(|line| line.contains("hospital leaks as before")), "{unprobed:?}");
}

#[test]
fn the_fault_of_a_kernel_decides_which_width_is_advised() {
    let advised = |kernel: Option<KernelFault>, warning: &str| {
        let objective =
            "name = \"fair-cclk\", condition = \"hospital\", kernel = { name = \"rbf\", sigma = 5.0 }";
        let set = format!("probe.condition=hospital;variant.hide.objective={{ {objective} }}");
        let mut hide = with("hide", 0.6, (CONDITION_TOP1, 0.92));
        (hide.kernel, hide.warnings) = (kernel, vec![warning.to_owned()]);
        let said =
            of(&[run("a", 0, &set, vec![with("plain", 0.63, (CONDITION_TOP1, 0.92)), hide])]).join("\n");
        ["a wider kernel", "a narrower kernel"].map(|advice| said.contains(advice))
    };
    assert_eq!(advised(Some(KernelFault::TooNarrow), ""), [true, false]);
    assert_eq!(advised(Some(KernelFault::EquallyApart), ""), [false, false]);
    assert_eq!(advised(None, "the two views of an image are equal"), [false, true]);
    // Results of older builds have the warning alone, and a narrower kernel was advised beside it.
    let told = "the kernel tells all images of the first batch apart by `hospital`: among the first 16 images, the kernel values of \
                an image with all others sum to 1.00e-9 on average, so at most its nearest neighbour has any weight; take a wider \
                one, such as kernel.sigma = \"median\", which is 12.3000 here";
    assert_eq!(advised(None, told), [true, false]);
    let told = "the images of the first batch that differ are equally far apart by `hospital`: among the first 16 images, the \
                kernel values of an image with all others sum to 0.00e0 on average, so at most its nearest neighbour has any weight; \
                a wider kernel would make them all equally alike: with objective.condition name an attribute whose values more \
                images share";
    assert_eq!(advised(None, told), [false, false]);
}

#[test]
fn a_smoke_test_has_no_verdict() {
    let mut one = finished(&[[0.92, 0.84]], CONDITION_TOP1, 0.36);
    one[0].result.smoke =
        Some(crate::run_folder::record::SmokeTest { iterations: 9, batch: 4, expected_seconds: None });
    assert!(of(&one).is_empty());
}
