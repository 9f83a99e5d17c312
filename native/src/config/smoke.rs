//! A smoke test: a run of a few short steps, whose recipe has `[smoke]`, the size of the run that it stands for.

use simile_core::loss;

use super::recipe::Recipe;
use super::sections::SmokeSection;

impl Recipe {
    /// Reduces every part of the run to a few steps, and marks it as a smoke test.
    pub(super) fn shrink(&mut self) {
        self.smoke.get_or_insert(SmokeSection { iterations: self.train.iterations, batch: self.train.batch });
        self.train.iterations = self.train.iterations.min(2);
        self.train.accumulate = self.train.accumulate.min(self.train.iterations);
        self.train.batch = self.train.batch.min(32);
        if let Some(classified) = &mut self.classified {
            classified.batch = classified.batch.min(32);
        }
        self.data.train = Some(self.data.train.map_or(256, |train| train.min(256)));
        self.data.test = Some(self.data.test.map_or(128, |test| test.min(128)));
        self.data.validation = self.data.validation.min(64);
        self.probe.steps = self.probe.steps.min(2);
        self.probe.sgd.epochs = self.probe.sgd.epochs.min(2);
        if let Some(selection) = &mut self.selection {
            (selection.held_out, selection.every) = (selection.held_out.min(64), Some(1));
        }
        let variant_objectives = self.written_variants.iter_mut().map(|variant| &mut variant.objective);
        let measured = self.probe.objectives.iter_mut().map(|measured| &mut measured.objective);
        for objective in variant_objectives.chain(&mut self.objective).chain(measured) {
            // Such a parameter states the value that the whole batch gives; that of a smoke test gives another, which would be refused.
            let parameters = loss::spec(&objective.name).into_iter().flat_map(|spec| spec.parameters);
            for parameter in parameters.filter(|parameter| parameter.follows_batch) {
                objective.parameters.remove(parameter.name);
            }
        }
        for algorithm in self
            .written_variants
            .iter_mut()
            .flat_map(|variant| &mut variant.algorithm)
            .chain([&mut self.algorithm])
        {
            if let Some(first_steps) = algorithm.first_steps_mut() {
                *first_steps = 1;
                self.train.accumulate = 1;
            }
        }
    }

    /// Iterations and batch of the whole run: of a smoke test those of the run that it stands for.
    pub(crate) fn whole(&self) -> SmokeSection {
        self.smoke.unwrap_or(SmokeSection { iterations: self.train.iterations, batch: self.train.batch })
    }

    /// The name of its folder below `runs`: a smoke test has one of its own.
    pub(crate) fn folder_name(&self) -> String {
        if self.smoke.is_some() { format!("{}-smoke", self.name) } else { self.name.clone() }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::config::Changes;
    use crate::config::testing::drawn_text;

    #[test]
    fn of_the_parameters_that_are_only_checked_those_that_follow_the_batch_are_left_out() {
        let kept = |method: &str, objective: &str, parameter: &str| {
            let text = drawn_text(&format!(
                "[data]\ntrain = 300\n\n[train]\nbatch = 160\n\n[method]\n{method}\n\n[objective]\n{objective}\n"
            ));
            let recipe = |smoke| {
                let changes = Changes { smoke, ..Changes::default() };
                Recipe::from_text(&text, "mine.toml", "mine", &changes).unwrap()
            };
            [false, true].map(|smoke| recipe(smoke).objective.unwrap().parameters.contains_key(parameter))
        };
        let ridge = "name = \"kernel-decoupled-uniformity\"\nvariant = \"paper\"\nlambda = 0.05\nlambda_effective = 8.0";
        assert_eq!(kept("name = \"single\"", ridge, "lambda_effective"), [true, false]);
        // A smoke test finds that the queue has another number of rows.
        let queue = "name = \"moco\"\nK = 64";
        assert_eq!(kept("name = \"moco\"\nqueue = 64", queue, "K"), [true, true]);
    }
}
