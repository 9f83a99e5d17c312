//! The evaluation of a trained network: by probes of its features, in numbers and in figures.

pub(crate) mod draw;
pub(crate) mod probe;
pub(crate) mod untrained;

use std::collections::BTreeMap;

use anyhow::Result;
use simile_core::data::Dataset;
use simile_core::nn::{Encoder, Model};

use self::draw::Drawing;
use self::probe::objective::{self, Frozen, Viewing};
use self::probe::{LabelledFeatures, ProbeResults, class_metrics, measure_while};
use super::session::Session;
use crate::config::probe::Probe;
use crate::config::variant::RecipeVariant;
use crate::exit::usage;
use crate::experiment::features::Features;
use crate::interrupt;
use crate::metrics::metric::Predictor;
use crate::metrics::{Hits, Metrics};
use crate::run_folder::record::ProbeFit;

/// The results of a network on the evaluation images.
pub(crate) struct Evaluation {
    pub(crate) metrics: Metrics,
    /// The fits of the probes that have a penalty.
    pub(crate) probes: BTreeMap<String, ProbeFit>,
    /// The class that the linear probe gives each evaluation image.
    guesses: Vec<usize>,
    pub(crate) hits: Hits,
    /// Features of the evaluation images, `[n, embedding size]`.
    features: Features,
}

impl Evaluation {
    /// The figures of the variant, to be drawn.
    pub(crate) fn drawing<'a>(&'a self, session: &'a Session, variant: &'a RecipeVariant) -> Drawing<'a> {
        let (train, evaluated) = (&session.splits.train, &session.splits.evaluated.dataset);
        let condition = &session.recipe.probe.condition;
        Drawing {
            variant,
            condition,
            train,
            test: evaluated,
            features: &self.features,
            guesses: &self.guesses,
        }
    }
}

/// Fits probes to the training images and measures them on the evaluation images, with the objectives of `probe.objectives` and
/// the scores of the network's own classifier, where it has one.
///
/// # Errors
/// If features are not finite, or an objective is not defined on a batch; [`Interrupted`](crate::exit::Interrupted) if the user
/// requests it.
pub(crate) fn evaluate(session: &Session, variant: &RecipeVariant, model: &Model) -> Result<Evaluation> {
    let form = session.image_form()?;
    let (train, evaluated) = (&session.splits.train, &session.splits.evaluated.dataset);
    let (measured, features) = probed(session, &model.encoder)?;
    let ProbeResults { mut metrics, guesses, probes, hits } = measured;
    session.check_interrupted()?;
    let viewing = Viewing {
        augmentation: &session.recipe.augment,
        normalisation: &form.normalisation,
        device: &session.devices.first.device,
    };
    let network = Frozen::new(&model.encoder, Some(&model.head));
    let objectives = &session.recipe.probe.objectives;
    metrics.extend(objective::measure(objectives, &network, &viewing, [train, evaluated])?);
    let classes = train.classes.len();
    if variant.scores(classes, 0) == Some(classes) {
        let scores =
            session.prepared(evaluated, &form).scores_while(model, &|| session.check_interrupted())?;
        let scores = variant.class_scores(scores).map_err(usage)?;
        if scores.columns() == classes {
            let own = class_metrics(&session.recipe.probe, &scores, evaluated)?;
            let named = |(name, value): (String, f64)| (Predictor::OwnClassifier.named(&name), value);
            metrics.extend(own.into_iter().map(named));
        }
    }
    Ok(Evaluation { metrics, probes, guesses, hits, features })
}

/// The results of the linear probes on the features of an encoder, and its features of the evaluation images.
///
/// # Errors
/// If features are not finite; [`Interrupted`](crate::exit::Interrupted) if the user requests it.
fn probed(session: &Session, encoder: &Encoder) -> Result<(ProbeResults, Features)> {
    let form = session.image_form()?;
    let (train, evaluated) = (&session.splits.train, &session.splits.evaluated.dataset);
    let features = |dataset: &Dataset| {
        session.prepared(dataset, &form).features_while(encoder, &|| session.check_interrupted())
    };
    let (train_features, evaluated_features) = (features(train)?, features(evaluated)?);
    let sets = [
        LabelledFeatures { features: &train_features, dataset: train },
        LabelledFeatures { features: &evaluated_features, dataset: evaluated },
    ];
    let measured = measure_while(&session.recipe.probe, Probe::Linear, sets, interrupt::check_interrupted)
        .map_err(|error| session.error_of(error))?;
    Ok((measured, evaluated_features))
}
