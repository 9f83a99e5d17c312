//! A smoke test: a run of a few short steps, whose recipe has `[smoke]`, the size of the run that it stands for.

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
