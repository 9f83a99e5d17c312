//! Objectives by name, from the parameters of a recipe, a case file or a page.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::cclk::{FairCclk, HardNegCclk, TrainableFairCclk, WeakSupCclk};
use super::debias::bias_balance::BiasBalance;
use super::debias::biascon::BiasCon;
use super::debias::biascon_total::BiasConTotal;
use super::debias::domain_independent::{DomainIndependent, Inference};
use super::debias::end::End;
use super::debias::hsic::RebiasHsic;
use super::debias::jtt::Jtt;
use super::debias::learned_mixin::LearnedMixin;
use super::debias::lff::Lff;
use super::debias::lnl::{Lnl, LnlAdversary};
use super::debias::rubi::Rubi;
use super::debias::softcon::SoftCon;
use super::debias::wcl::triplet::WclTriplet;
use super::debias::wcl::weighted::{WclWeightedDcl, WclWeightedInfoNce};
use super::infonce::cmc::Cmc;
use super::infonce::dc::{Dc, Dclw};
use super::infonce::dcl::Dcl;
use super::infonce::hcl::Hcl;
use super::infonce::info_nce::{FairInfoNce, InfoNce};
use super::infonce::moco::MoCo;
use super::infonce::nt_xent::NtXent;
use super::infonce::weaksup_info_nce::WeakSupInfoNce;
use super::objective::{Conditioning, Objective};
use super::selfsup::barlow_twins::BarlowTwins;
use super::selfsup::byol::Byol;
use super::selfsup::swav::{Swav, SwavSinkhorn};
use super::selfsup::vae::Vae;
use super::supervised::contex::ConTeX;
use super::supervised::contex_clipped::ConTeXClipped;
use super::supervised::cross_entropy::CrossEntropy;
use super::supervised::generalised_cross_entropy::GeneralisedCrossEntropy;
use super::supervised::max_margin::MaxMargin;
use super::supervised::supcon::SupCon;
use super::uniformity::align_uniform::AlignUniform;
use super::uniformity::decoupled_uniformity::DecoupledUniformity;
use super::uniformity::kernel_decoupled_uniformity::KernelDecoupledUniformity;
use crate::error::{Error, Result};
use crate::numeric::matrix::Matrix;

type Builder = fn(Value) -> Result<Box<dyn Objective>>;

/// Every objective, grouped by the work it comes from.
const OBJECTIVES: &[(&str, Builder)] = &[
    ("info-nce", parse::<InfoNce>),
    ("nt-xent", parse::<NtXent>),
    ("weaksup-info-nce", parse::<WeakSupInfoNce>),
    ("fair-info-nce", parse::<FairInfoNce>),
    ("dcl", parse::<Dcl>),
    ("hcl", parse::<Hcl>),
    ("weaksup-cclk", parse::<WeakSupCclk>),
    ("fair-cclk", parse::<FairCclk>),
    ("hardneg-cclk", parse::<HardNegCclk>),
    ("fair-cclk-trainable", parse::<TrainableFairCclk>),
    ("supcon", parse::<SupCon>),
    ("contex", parse::<ConTeX>),
    ("contex-p", parse::<ConTeXClipped>),
    ("biascon", parse::<BiasCon>),
    ("biascon-total", parse::<BiasConTotal>),
    ("softcon", parse::<SoftCon>),
    ("wcl-triplet", parse::<WclTriplet>),
    ("wcl-weighted-infonce", parse::<WclWeightedInfoNce>),
    ("wcl-weighted-dcl", parse::<WclWeightedDcl>),
    ("decoupled-uniformity", parse::<DecoupledUniformity>),
    ("kernel-decoupled-uniformity", parse::<KernelDecoupledUniformity>),
    ("dc", parse::<Dc>),
    ("dclw", parse::<Dclw>),
    ("align-uniform", parse::<AlignUniform>),
    ("byol", parse::<Byol>),
    ("barlow-twins", parse::<BarlowTwins>),
    ("swav", parse::<Swav>),
    ("swav-sinkhorn", parse::<SwavSinkhorn>),
    ("moco", parse::<MoCo>),
    ("cmc", parse::<Cmc>),
    ("cross-entropy", parse::<CrossEntropy>),
    ("max-margin", parse::<MaxMargin>),
    ("biasbal", parse::<BiasBalance>),
    ("lnl", parse::<Lnl>),
    ("lnl-adversary", parse::<LnlAdversary>),
    ("di", parse::<DomainIndependent>),
    ("end", parse::<End>),
    ("learned-mixin", parse::<LearnedMixin>),
    ("rubi", parse::<Rubi>),
    ("rebias-hsic", parse::<RebiasHsic>),
    ("gce", parse::<GeneralisedCrossEntropy>),
    ("lff", parse::<Lff>),
    ("jtt", parse::<Jtt>),
    ("vae", parse::<Vae>),
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

    /// Builds the objective.
    ///
    /// # Errors
    /// As [`build`].
    pub fn build(&self) -> Result<Box<dyn Objective>> {
        build(&self.name, self.variant.as_deref(), Value::Object(self.parameters.clone()))
    }

    /// The source of its conditioning variable; none if it cannot be built.
    pub fn conditioning(&self) -> Conditioning {
        self.build().map_or(Conditioning::None, |objective| objective.conditioning())
    }

    /// True if it needs a variable of the samples as its condition.
    pub fn needs_condition(&self) -> bool {
        self.conditioning() == Conditioning::Given
    }

    /// One score for each class, `[n, classes]`, from the scores of a network trained by this objective: an
    /// objective with a classifier for each value of the bias combines them ([`DomainIndependent::infer`]).
    ///
    /// # Errors
    /// Settings that cannot be read, or scores with another number of columns.
    pub fn by_class(&self, scores: Matrix) -> Result<Matrix> {
        match self.name.as_str() {
            "di" => self.parse::<DomainIndependent>()?.infer(&scores, Inference::default()),
            _ => Ok(scores),
        }
    }

    /// The objective as a concrete type, which must match its name.
    pub(crate) fn parse<O: DeserializeOwned>(&self) -> Result<O> {
        let mut parameters = self.parameters.clone();
        parameters.extend(self.variant.clone().map(|variant| ("variant".to_owned(), variant.into())));
        read(Value::Object(parameters))
    }
}

/// The names that [`build`] accepts.
pub fn names() -> impl Iterator<Item = &'static str> {
    OBJECTIVES.iter().map(|(name, _)| *name)
}

/// Builds an objective from its name, its variant (the objective's own default if `None`) and a JSON object of
/// parameters.
///
/// # Errors
/// An unknown name or parameter, or a value out of range.
pub fn build(name: &str, variant: Option<&str>, parameters: Value) -> Result<Box<dyn Objective>> {
    let Some((_, builder)) = OBJECTIVES.iter().find(|(known, _)| *known == name) else {
        return Err(Error::unknown("objective", name, names()));
    };
    let mut parameters = match parameters {
        Value::Null => serde_json::Map::new(),
        Value::Object(parameters) => parameters,
        other => return Err(Error::parameter("params", other, "expected an object of parameters")),
    };
    if let Some(variant) = variant {
        parameters.insert("variant".into(), variant.into());
    }
    let objective = builder(Value::Object(parameters))?;
    objective.check()?;
    Ok(objective)
}

fn parse<O: Objective + DeserializeOwned + 'static>(parameters: Value) -> Result<Box<dyn Objective>> {
    Ok(Box::new(read::<O>(parameters)?))
}

fn read<O: DeserializeOwned>(parameters: Value) -> Result<O> {
    serde_json::from_value(parameters)
        .map_err(|e| Error::parameter("params", "not understood", &e.to_string()))
}
