//! The devices that a user requests.

use std::ffi::OsStr;
use std::fmt;
use std::str::FromStr;

use burn::tensor::Device;
use clap::ValueEnum;
use clap::builder::{PossibleValue, TypedValueParser};

use super::automatic::automatic;
use super::{AvailableDevice, DeviceKind, DeviceName};
use crate::exit::usage;
use crate::peers::ProcessGroup;

/// A device as the user names it: a backend and the number of its device, the first one by default
/// (`cpu`, `vulkan:1`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DeviceChoice {
    pub(crate) name: DeviceName,
    pub(crate) index: usize,
}

/// The devices of a run in this process: the first one has the network, the loss and the probes; the others take part in the steps.
#[derive(Debug, Clone)]
pub(crate) struct DeviceSet {
    pub(crate) first: AvailableDevice,
    helpers: Vec<AvailableDevice>,
    /// The names that the user gave them; empty by `auto`.
    named: Vec<DeviceChoice>,
    /// The processes that share the steps, each with as many devices.
    pub(crate) processes: ProcessGroup,
}

impl DeviceChoice {
    pub(crate) const AUTO: Self = Self { name: DeviceName::Auto, index: 0 };

    /// The device to compute on.
    ///
    /// # Errors
    /// A usage error that names the feature to install, or a failure that names the missing device.
    pub(crate) fn open(self) -> anyhow::Result<AvailableDevice> {
        if self == Self::AUTO {
            return automatic(0);
        }
        let Self { name, .. } = self;
        if !name.built_in() {
            let feature = name.feature();
            return Err(usage(format_args!(
                "`--device {self}` is not built into this program; in the folder of the repository, install it with \
                 `cargo install --path native --features {feature}`"
            )));
        }
        let present = name.available();
        let count = present.len();
        present.into_iter().nth(self.index).ok_or_else(|| match count {
            0 => anyhow::anyhow!(
                "`--device {self}` is built in, but no such device was found; \
                 check the driver, or use `--device cpu` (`simile devices` lists what is there)"
            ),
            _ => usage(format_args!(
                "`--device {self}` is not there: {name} has {count}, counted from 0 (`simile devices` lists them)"
            )),
        })
    }
}

impl From<DeviceName> for DeviceChoice {
    fn from(name: DeviceName) -> Self {
        Self { name, index: 0 }
    }
}

impl fmt::Display for DeviceChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.index {
            0 => write!(f, "{}", self.name),
            index => write!(f, "{}:{index}", self.name),
        }
    }
}

impl FromStr for DeviceChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (name, index) = text.split_once(':').map_or((text, None), |(name, index)| (name, Some(index)));
        let name = DeviceName::from_str(name, false).map_err(|_| {
            let known: Vec<String> = DeviceName::value_variants().iter().map(ToString::to_string).collect();
            format!("expected one of {}, or one of several as in `vulkan:1`", known.join(", "))
        })?;
        match index.map(str::parse) {
            None => Ok(name.into()),
            Some(Ok(_)) if name == DeviceName::Auto => Err("`auto` chooses by itself; name a backend".into()),
            Some(Ok(index)) => Ok(Self { name, index }),
            Some(Err(_)) => Err(format!("the number after `{name}:` counts devices from 0")),
        }
    }
}

/// The parser of a [`DeviceChoice`], with the names of the backends for help and completion.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ChoiceParser;

impl TypedValueParser for ChoiceParser {
    type Value = DeviceChoice;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<Self::Value, clap::Error> {
        DeviceChoice::from_str.parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(DeviceName::value_variants().iter().filter_map(ValueEnum::to_possible_value)))
    }
}

impl DeviceSet {
    /// The devices to compute on.
    ///
    /// # Errors
    /// As [`DeviceChoice::open`]; a usage error if a device is named twice.
    pub(crate) fn open(choices: &[DeviceChoice]) -> anyhow::Result<Self> {
        Self::open_in(&ProcessGroup::alone(), choices)
    }

    /// The devices of a process of a group. By `auto` the processes of a machine share its GPUs in turn.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub(crate) fn open_in(processes: &ProcessGroup, choices: &[DeviceChoice]) -> anyhow::Result<Self> {
        let open = |choice: &DeviceChoice| match *choice {
            DeviceChoice::AUTO => automatic(processes.local_rank()),
            choice => choice.open(),
        };
        let opened = choices.iter().map(open).collect::<anyhow::Result<Vec<_>>>()?;
        let named = if choices == [DeviceChoice::AUTO] { Vec::new() } else { choices.to_vec() };
        Ok(Self { named, ..Self::of(opened, processes)? })
    }

    /// The devices that an earlier run recorded, among those present.
    ///
    /// # Errors
    /// A usage error that names the missing device.
    pub(crate) fn reopen(written: &str, processes: &ProcessGroup) -> anyhow::Result<Self> {
        let present = DeviceName::Auto.available();
        let find = |one: &str| {
            present.iter().find(|device| device.to_string() == one).cloned().ok_or_else(|| {
                usage(format_args!(
                    "the run started on {one}, which is not on this machine; name another with --device"
                ))
            })
        };
        Self::of(written.split(", ").map(find).collect::<anyhow::Result<Vec<_>>>()?, processes)
    }

    /// The option that names the devices that a run recorded.
    pub(crate) fn option(written: &str) -> String {
        let names: Vec<&str> =
            written.split(", ").map(|one| one.split(" (").next().unwrap_or_default()).collect();
        format!("--device {}", names.join(","))
    }

    /// The end of the command that resumes a run on these devices: the option that named them, if there are several processes, which
    /// each need it. One process finds the devices in the run.
    pub(crate) fn to_resume(&self) -> String {
        if self.processes.is_alone() || self.named.is_empty() {
            return String::new();
        }
        let names: Vec<String> = self.named.iter().map(DeviceChoice::to_string).collect();
        format!(" --device {}", names.join(","))
    }

    /// True if one of them is a GPU, or a software adapter that behaves as one.
    pub(crate) fn has_gpu(&self) -> bool {
        self.all().any(|device| device.kind != DeviceKind::Cpu)
    }

    /// The number of real GPUs.
    pub(crate) fn gpus(&self) -> usize {
        self.all().filter(|device| device.kind == DeviceKind::Gpu).count()
    }

    /// The first device and those beside it.
    pub(crate) fn all(&self) -> impl Iterator<Item = &AvailableDevice> {
        std::iter::once(&self.first).chain(&self.helpers)
    }

    /// The devices beside the first one.
    pub(crate) fn helpers(&self) -> Vec<Device> {
        self.helpers.iter().map(|helper| helper.device.clone()).collect()
    }

    fn of(opened: Vec<AvailableDevice>, processes: &ProcessGroup) -> anyhow::Result<Self> {
        for (place, device) in opened.iter().enumerate() {
            if opened[..place].iter().any(|other| other.to_string() == device.to_string()) {
                return Err(usage(format_args!(
                    "{device} is named twice by --device; name each device once"
                )));
            }
        }
        let mut devices = opened.into_iter();
        let first = devices.next().map_or_else(|| automatic(processes.local_rank()), Ok)?;
        Ok(Self { first, helpers: devices.collect(), named: Vec::new(), processes: processes.clone() })
    }
}

impl fmt::Display for DeviceSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.first)?;
        self.helpers.iter().try_for_each(|device| write!(f, ", {device}"))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    #[cfg(feature = "flex")]
    use std::sync::Arc;

    use super::*;
    #[cfg(feature = "flex")]
    use crate::peers::{Status, testing::Others};

    #[test]
    fn a_device_is_a_backend_and_a_number() {
        let vulkan = |index| DeviceChoice { name: DeviceName::Vulkan, index };
        for (text, expected) in [
            ("auto", DeviceChoice::AUTO),
            ("vulkan", vulkan(0)),
            ("vulkan:0", vulkan(0)),
            ("vulkan:3", vulkan(3)),
        ] {
            assert_eq!(text.parse(), Ok(expected));
        }
        assert_eq!(vulkan(3).to_string(), "vulkan:3");
        for (text, expected) in
            [("tpu", "ndarray"), ("auto:1", "backend"), ("cpu:one", "counts"), ("", "cpu")]
        {
            let error = text.parse::<DeviceChoice>().unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }

    #[cfg(feature = "flex")]
    #[test]
    fn a_set_of_devices_is_found_again_by_what_it_was_called() {
        let cpu = DeviceChoice::from(DeviceName::Cpu);
        let devices = DeviceSet::open(&[cpu]).unwrap();
        assert_eq!(devices.to_string(), "cpu (CPU)");
        assert_eq!(
            DeviceSet::reopen(&devices.to_string(), &ProcessGroup::alone()).unwrap().first.name,
            DeviceName::Cpu
        );
        let error = DeviceSet::reopen("cpu (CPU), vulkan:7 (GPU)", &ProcessGroup::alone()).unwrap_err();
        assert!(error.to_string().contains("vulkan:7"), "{error}");
        let error = DeviceSet::open(&[cpu, cpu]).unwrap_err();
        assert!(error.is::<crate::exit::Usage>() && error.to_string().contains("twice"), "{error}");
        let error = DeviceChoice { name: DeviceName::Cpu, index: 1 }.open().unwrap_err();
        assert!(error.to_string().contains("counted from 0"), "{error}");
    }

    #[cfg(feature = "flex")]
    #[test]
    fn several_processes_are_told_their_device_again_and_one_is_not() {
        assert_eq!(DeviceSet::option("cpu (CPU), vulkan:1 (software adapter)"), "--device cpu,vulkan:1");
        let several = ProcessGroup::of(Arc::new(Others(vec![Status::Ready])), 0);
        let cpu = DeviceChoice::from(DeviceName::Cpu);
        let of =
            |processes: &ProcessGroup, choice| DeviceSet::open_in(processes, &[choice]).unwrap().to_resume();
        assert_eq!(of(&several, cpu), " --device cpu");
        assert_eq!(of(&several, DeviceChoice::AUTO), "");
        assert_eq!(of(&ProcessGroup::alone(), cpu), "");
    }

    #[cfg(not(feature = "cuda"))]
    #[test]
    fn a_backend_that_is_not_built_in_names_its_feature() {
        let error = DeviceChoice::from(DeviceName::Cuda).open().unwrap_err();
        assert!(error.is::<crate::exit::Usage>());
        let remedy = "install it with `cargo install --path native --features cuda`";
        assert!(error.to_string().contains(remedy), "{error}");
    }
}
