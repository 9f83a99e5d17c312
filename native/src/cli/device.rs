//! `--device`, of one device and of several.

use clap::Args;

use crate::devices::{ChoiceParser, DeviceChoice};

#[derive(Debug, Args)]
pub(crate) struct Device {
    /// Where to compute; `vulkan:1` is the second of its kind (`simile devices` lists what is there)
    #[arg(long, value_parser = ChoiceParser, value_name = "NAME[:N]", default_value_t = DeviceChoice::AUTO)]
    pub(crate) device: DeviceChoice,
}

#[derive(Debug, Args)]
pub(crate) struct Devices {
    /// Where to compute; `vulkan:1` is the second of its kind (`simile devices` lists what is there), and several, as
    /// in `cuda:0,cuda:1`, share the chunks of the method `cached`
    #[arg(
        long,
        value_parser = ChoiceParser,
        value_name = "NAME[:N]",
        value_delimiter = ',',
        default_values_t = [DeviceChoice::AUTO]
    )]
    pub(crate) device: Vec<DeviceChoice>,
}
