//! The number of kernels that a program starts on its GPUs.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

#[cfg(feature = "cube")]
use cubecl::config::{TypeNameFormatLevel, type_name_format};
#[cfg(feature = "cube")]
use cubecl::logging::{LaunchObservation, LaunchObserver};

/// Launches by the type of the kernel.
#[derive(Debug, Default)]
struct Counts(Mutex<BTreeMap<&'static str, u64>>);

impl Counts {
    fn by_type(&self) -> MutexGuard<'_, BTreeMap<&'static str, u64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(feature = "cube")]
impl LaunchObserver for Counts {
    fn launched(&self, kernel: &'static str) {
        *self.by_type().entry(kernel).or_default() += 1;
    }
}

/// Counts the kernels that CubeCL's backends (wgpu, Vulkan, WebGPU, CUDA) start from now on, on all devices and threads
/// of the process. One count at a time: a second one takes the place of the first while it lives.
#[derive(Debug)]
pub struct LaunchCounter {
    counts: Arc<Counts>,
    #[cfg(feature = "cube")]
    observation: LaunchObservation,
}

impl LaunchCounter {
    /// Begins to count.
    pub fn count() -> Self {
        let counts = Arc::new(Counts::default());
        Self {
            #[cfg(feature = "cube")]
            observation: LaunchObservation::new(counts.clone()),
            counts,
        }
    }

    /// The number of launches so far.
    pub fn so_far(&self) -> u64 {
        self.counts.by_type().values().sum()
    }

    /// The number of launches by the name of the kernel; empty where all work was done by the CPU's backends, which
    /// start none.
    pub fn finish(self) -> BTreeMap<String, u64> {
        #[cfg(feature = "cube")]
        drop(self.observation);
        #[cfg(feature = "cube")]
        let name_of = |kernel: &str| type_name_format(kernel, TypeNameFormatLevel::Short);
        #[cfg(not(feature = "cube"))]
        let name_of = str::to_owned;
        let mut by_name = BTreeMap::new();
        for (&kernel, count) in self.counts.by_type().iter() {
            *by_name.entry(name_of(kernel)).or_default() += count;
        }
        by_name
    }
}
