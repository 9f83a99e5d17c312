//! The settings of a kernel in a recipe or a request file.

use serde::{Deserialize, Serialize};

use super::{Factor, Kernel};
use crate::error::{Error, Result, within};

/// The settings of a kernel. The table of the [module](super) lists the settings that each kernel reads; any other
/// setting is an error.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "the settings of a kernel, such as {\"name\": \"rbf\"}")]
pub struct KernelConfig {
    /// `rbf`, `laplacian`, `laplacian-l1`, `linear`, `cosine`, `polynomial`, `exact-match`, `product`; none of them, or none at
    /// all, is an error that lists them.
    #[serde(default)]
    pub name: String,
    /// Bandwidth as a standard deviation (rbf) or a distance (laplacian), 1e-100 to 1e100, or `"median"`. Without it and without
    /// `temp_z` the bandwidth is `temp_z = 1`: for rbf a `sigma` of 0.707.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sigma: Option<Bandwidth>,
    /// Bandwidth (rbf, laplacian) or divisor (linear, polynomial) as released by CCL-K, 1e-250 to 1e250; the cosine ignores it.
    /// Default: 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temp_z: Option<f64>,
    /// Factor of the distance (laplacian-l1) or the inner product (polynomial), 1e-250 to 1e250. Default: 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gamma: Option<f64>,
    /// Added to the inner product (polynomial), 0 to 1e100. Default: 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<f64>,
    /// Exponent (polynomial), 1 to 16. Default: 3.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub degree: Option<u32>,
    /// Factors (product), at least one, each with `start` below `end`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub factors: Option<Vec<Factor>>,
}

/// A bandwidth, given as a number or as a rule.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(untagged, expecting = "kernel.sigma is neither a number nor \"median\"")]
pub enum Bandwidth {
    /// The bandwidth itself.
    Number(f64),
    /// A bandwidth computed from the data.
    Rule(BandwidthRule),
}

/// The rule that computes a bandwidth from the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BandwidthRule {
    /// The median of the pairwise distances.
    Median,
}

/// Checks that the square of a bandwidth is a positive finite number, so that `0 / (2 sigma^2)` is 0 and no
/// distance divided by it is NaN.
fn bandwidth(value: f64) -> Result<f64> {
    within("kernel.sigma", value, 1e-100, 1e100)
}

/// Checks a divisor that is given directly or follows from a bandwidth.
fn divisor(name: &str, value: f64) -> Result<f64> {
    within(name, value, 1e-250, 1e250)
}

/// A kernel that a recipe can name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct NamedKernel {
    /// As recipes name it.
    pub name: &'static str,
    /// The name for people.
    pub title: &'static str,
    /// The settings that it reads, of those of a [`KernelConfig`].
    pub settings: &'static [&'static str],
}

/// Every kernel.
pub const KERNELS: [NamedKernel; 8] = [
    NamedKernel { name: "rbf", title: "RBF", settings: &["sigma", "temp_z"] },
    NamedKernel { name: "laplacian", title: "Laplacian", settings: &["sigma", "temp_z"] },
    NamedKernel { name: "laplacian-l1", title: "Laplacian, absolute distance", settings: &["gamma"] },
    NamedKernel { name: "linear", title: "Linear", settings: &["temp_z"] },
    // The released code takes a bandwidth with every kernel and ignores it for this one.
    NamedKernel { name: "cosine", title: "Cosine", settings: &["temp_z"] },
    NamedKernel {
        name: "polynomial",
        title: "Polynomial",
        settings: &["temp_z", "gamma", "offset", "degree"],
    },
    NamedKernel { name: "exact-match", title: "Exact match", settings: &[] },
    NamedKernel { name: "product", title: "Product", settings: &["factors"] },
];

impl KernelConfig {
    /// Rejects given parameters that the kernel of this name does not read.
    fn check_names(&self, known: &NamedKernel) -> Result<()> {
        let parameters = [
            ("sigma", self.sigma.is_some()),
            ("temp_z", self.temp_z.is_some()),
            ("gamma", self.gamma.is_some()),
            ("offset", self.offset.is_some()),
            ("degree", self.degree.is_some()),
            ("factors", self.factors.is_some()),
        ];
        match parameters.into_iter().find(|(name, is_given)| *is_given && !known.settings.contains(name)) {
            None => Ok(()),
            Some((name, _)) => {
                let reason = format!("but the {} kernel does not read it", self.name);
                Err(Error::parameter(&format!("kernel.{name}"), "given", &reason))
            }
        }
    }

    /// The kernel of one bandwidth, 1 by default.
    fn with_bandwidth(
        &self,
        from_bandwidth: fn(f64, Convention) -> Kernel,
        median_kernel: Kernel,
    ) -> Result<Kernel> {
        match (self.sigma, self.temp_z) {
            (Some(_), Some(_)) => Err(Error::parameter(
                "kernel.temp_z",
                "given beside sigma",
                "expected one bandwidth: sigma, or the released temp_z",
            )),
            (Some(Bandwidth::Rule(BandwidthRule::Median)), None) => Ok(median_kernel),
            (Some(Bandwidth::Number(sigma)), None) => {
                Ok(from_bandwidth(bandwidth(sigma)?, Convention::Sigma))
            }
            (None, temp_z) => {
                Ok(from_bandwidth(divisor("kernel.temp_z", temp_z.unwrap_or(1.0))?, Convention::TempZ))
            }
        }
    }

    fn polynomial(&self) -> Result<Kernel> {
        let offset = self.offset.unwrap_or(0.0);
        if !(0.0..=1e100).contains(&offset) {
            let reason = "expected 0 to 1e100: below 0 it is not a kernel";
            return Err(Error::parameter("kernel.offset", offset, reason));
        }
        let degree = self.degree.unwrap_or(3);
        if !(1..=16).contains(&degree) {
            return Err(Error::parameter("kernel.degree", degree, "expected an integer from 1 to 16"));
        }
        Ok(Kernel::Polynomial {
            gamma: divisor("kernel.gamma", self.gamma.unwrap_or(1.0))?,
            offset,
            degree,
            scale: divisor("kernel.temp_z", self.temp_z.unwrap_or(1.0))?,
        })
    }

    fn product(self) -> Result<Kernel> {
        let factors = self.factors.unwrap_or_default();
        if factors.is_empty() {
            return Err(Error::parameter("kernel.factors", "empty", "expected at least one factor"));
        }
        match factors.iter().find(|f| f.start >= f.end) {
            None => Ok(Kernel::Product { factors }),
            Some(f) => {
                let value = format!("columns {} to {}", f.start, f.end);
                Err(Error::parameter("kernel.factors", value, "expected start below end"))
            }
        }
    }
}

/// The name under which a bandwidth was given.
#[derive(Clone, Copy, PartialEq)]
enum Convention {
    Sigma,
    TempZ,
}

impl TryFrom<KernelConfig> for Kernel {
    type Error = Error;

    fn try_from(config: KernelConfig) -> Result<Self> {
        let named = KERNELS.iter().find(|kernel| kernel.name == config.name);
        let unknown = || Error::unknown("kernel", &config.name, KERNELS.iter().map(|kernel| kernel.name));
        config.check_names(named.ok_or_else(unknown)?)?;
        let temp_z = || divisor("kernel.temp_z", config.temp_z.unwrap_or(1.0));
        match config.name.as_str() {
            "rbf" => config.with_bandwidth(
                |bandwidth, convention| match convention {
                    Convention::Sigma => Self::rbf(bandwidth),
                    Convention::TempZ => Self::Rbf { scale: bandwidth },
                },
                Self::MedianRbf,
            ),
            "laplacian" => config.with_bandwidth(|scale, _| Self::Laplacian { scale }, Self::MedianLaplacian),
            "laplacian-l1" => {
                Ok(Self::LaplacianL1 { gamma: divisor("kernel.gamma", config.gamma.unwrap_or(1.0))? })
            }
            "linear" => Ok(Self::Linear { scale: temp_z()? }),
            "polynomial" => config.polynomial(),
            "exact-match" => Ok(Self::ExactMatch),
            "product" => config.product(),
            _ => Ok(Self::Cosine),
        }
    }
}

impl From<Kernel> for KernelConfig {
    fn from(kernel: Kernel) -> Self {
        let named = |name: &str| Self { name: name.into(), ..Self::default() };
        let median = Some(Bandwidth::Rule(BandwidthRule::Median));
        match kernel {
            Kernel::Rbf { scale } => Self { temp_z: Some(scale), ..named("rbf") },
            Kernel::Laplacian { scale } => Self { temp_z: Some(scale), ..named("laplacian") },
            Kernel::MedianRbf => Self { sigma: median, ..named("rbf") },
            Kernel::MedianLaplacian => Self { sigma: median, ..named("laplacian") },
            Kernel::LaplacianL1 { gamma } => Self { gamma: Some(gamma), ..named("laplacian-l1") },
            Kernel::Linear { scale } => Self { temp_z: Some(scale), ..named("linear") },
            Kernel::Cosine => named("cosine"),
            Kernel::Polynomial { gamma, offset, degree, scale } => Self {
                gamma: Some(gamma),
                offset: Some(offset),
                degree: Some(degree),
                temp_z: Some(scale),
                ..named("polynomial")
            },
            Kernel::ExactMatch => named("exact-match"),
            Kernel::Product { factors } => Self { factors: Some(factors), ..named("product") },
        }
    }
}
