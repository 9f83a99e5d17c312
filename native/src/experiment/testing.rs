//! Runs that tests begin.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use super::run::{begin, prepare};
use super::session::{Session, VariantAt};
use crate::config::testing::drawn;
use crate::config::variant::RecipeVariant;
use crate::devices::{DeviceChoice, DeviceName, DeviceSet};
use crate::run_folder::folder::RunFolder;

/// Sections of a run whose weights grow by a factor of 9 in each step, until the loss is no number any more.
pub(super) const DIVERGING: &str = "[data]\ntrain = 32\ntest = 8\n\n[optimizer]\nname = \"sgd\"\nlearning_rate = 1.0\n\
    momentum = 0.0\nweight_decay = 10.0\n\n[train]\niterations = 60\ncheckpoint_every = 2\nlog_every = 3\n\n\
    [objective]\nname = \"nt-xent\"\n";

/// A run in this folder, with the sections of [`drawn`], before its first step.
pub(super) fn session(root: &Path, sections: &str) -> Session {
    let devices = DeviceSet::open(&[DeviceChoice { name: DeviceName::Cpu, index: 0 }]).unwrap();
    let prepared = prepare(drawn(sections), None, devices).unwrap();
    begin(RunFolder::create(Some(root), "x").unwrap(), prepared).unwrap()
}

/// The only variant of a recipe.
pub(super) fn first(variant: &RecipeVariant) -> VariantAt<'_> {
    VariantAt { at: 0, variant }
}
