//! The number of kernels that a program starts on its GPUs.

use std::collections::BTreeMap;

/// Counts the kernels that CubeCL's backends (wgpu, Vulkan, WebGPU, CUDA) start from now on, on all devices and threads
/// of the process. One count at a time: a second one takes the place of the first while it lives.
#[derive(Debug)]
pub struct LaunchCounter {
    #[cfg(feature = "cube")]
    counting: counting::Counting,
}

impl LaunchCounter {
    /// Begins to count.
    pub fn count() -> Self {
        Self {
            #[cfg(feature = "cube")]
            counting: counting::Counting::begin(),
        }
    }

    /// The number of launches so far.
    pub fn so_far(&self) -> u64 {
        #[cfg(feature = "cube")]
        return self.counting.so_far();
        #[cfg(not(feature = "cube"))]
        0
    }

    /// The number of launches by the name of the kernel; empty where all work was done by the CPU's backends, which
    /// start none.
    pub fn finish(self) -> BTreeMap<String, u64> {
        #[cfg(feature = "cube")]
        return self.counting.finish();
        #[cfg(not(feature = "cube"))]
        BTreeMap::new()
    }
}

#[cfg(feature = "cube")]
mod counting {
    use std::collections::BTreeMap;
    use std::sync::{Arc, Mutex, PoisonError};

    use cubecl::config::{TypeNameFormatLevel, type_name_format};
    use cubecl::logging::{LaunchObservation, LaunchObserver};

    #[derive(Debug, Default)]
    struct Counts(Mutex<BTreeMap<&'static str, u64>>);

    impl LaunchObserver for Counts {
        fn launched(&self, kernel: &'static str) {
            *self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(kernel).or_default() += 1;
        }
    }

    #[derive(Debug)]
    pub(super) struct Counting {
        counts: Arc<Counts>,
        observation: LaunchObservation,
    }

    impl Counting {
        pub(super) fn begin() -> Self {
            let counts = Arc::new(Counts::default());
            Self { observation: LaunchObservation::new(counts.clone()), counts }
        }

        pub(super) fn so_far(&self) -> u64 {
            self.counts.0.lock().unwrap_or_else(PoisonError::into_inner).values().sum()
        }

        pub(super) fn finish(self) -> BTreeMap<String, u64> {
            drop(self.observation);
            let counts = self.counts.0.lock().unwrap_or_else(PoisonError::into_inner);
            let mut by_name = BTreeMap::new();
            for (kernel, count) in counts.iter() {
                *by_name.entry(type_name_format(kernel, TypeNameFormatLevel::Short)).or_default() += count;
            }
            by_name
        }
    }
}
