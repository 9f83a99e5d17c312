//! Compares the memory that networks keep in a training step, as counted by the allocator, with the formula of each. It is the
//! only test of its process, and each network has one, so that all bytes are its own.
#![allow(clippy::unwrap_used)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::num::NonZero;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;

use burn::tensor::{Device, Tensor};
use simile_core::nn::initial::Zeros;
use simile_core::nn::vae::VaeDecoder;
use simile_core::nn::{Activations, Architecture, EncoderConfig};

#[global_allocator]
static ALLOCATOR: Counted = Counted;

static USED: AtomicUsize = AtomicUsize::new(0);

struct Counted;

// SAFETY: every call goes to the system's allocator with the same arguments.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        USED.fetch_add(layout.size(), Relaxed);
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        USED.fetch_add(layout.size(), Relaxed);
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        USED.fetch_sub(layout.size(), Relaxed);
        unsafe { System.dealloc(place, layout) };
    }
}

/// Number of passes, of which the least counts: the thread of the loops allocates buffers that later passes reuse. With two, one count of
/// LeNet-5 in 15 was 7 % larger than the others.
const PASSES: usize = 4;

/// The numbers that a forward pass keeps of one image: those in use while its graph exists.
fn counted<const D: usize>(forward: impl Fn(usize) -> Tensor<D>) -> f64 {
    let pass = |images: usize| {
        let before = USED.load(Relaxed);
        let output = forward(images);
        assert!(output.is_tracked());
        USED.load(Relaxed).saturating_sub(before)
    };
    let [few, many] = [1, 3].map(|images| (0..PASSES).map(|_| pass(images)).min().unwrap());
    (many - few) as f64 / 2.0 / size_of::<f32>() as f64
}

/// The variable that names the network of a process which the test starts.
const NETWORK: &str = "SIMILE_NETWORK";

#[test]
fn the_formula_of_each_network_is_what_a_pass_keeps() {
    match std::env::var(NETWORK) {
        Ok(network) => check(*Architecture::ALL.iter().find(|name| name.name() == network).unwrap()),
        Err(_) => check_all(),
    }
}

/// Each network in a process of its own, so that several can be measured at once.
fn check_all() {
    let networks = Mutex::new(Architecture::ALL.to_vec());
    let check_rest = || {
        loop {
            let Some(name) = networks.lock().unwrap().pop() else { break };
            let mut process = Command::new(std::env::current_exe().unwrap());
            let output = process.env(NETWORK, name.name()).env("RAYON_NUM_THREADS", "1").output().unwrap();
            let said = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
            assert!(output.status.success(), "{}: {}", name.name(), said.concat());
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, NonZero::get) {
            scope.spawn(check_rest);
        }
    });
}

fn check(name: Architecture) {
    // These have the blocks of those of 18 and 50 layers.
    let width = matches!(name, Architecture::ResNet34 | Architecture::ResNet101).then_some(24);
    let of_side = |input_size| EncoderConfig { name, input_size, width, ..EncoderConfig::default() };
    let configs: Vec<EncoderConfig> =
        [32, 64].map(of_side).into_iter().filter(|config| config.validate().is_ok()).collect();
    assert!(!configs.is_empty(), "{} takes images of neither 32 nor 64 pixels", name.name());
    let device = Device::flex().autodiff();
    for config in configs {
        let (channels, side) = (config.channels, config.input_size);
        let encoder = config.init(&device, &mut Zeros).unwrap();
        let of_encoder =
            counted(|images| encoder.forward(Tensor::ones([images, channels, side, side], &device)));
        assert_near(of_encoder, config.activations(), 0.1, &format!("{} at {side}", name.name()));
        if name == Architecture::Vae {
            const LATENTS: usize = 10;
            let decoder = VaeDecoder::new(channels, side, LATENTS, &device, &mut Zeros);
            let of_decoder = counted(|codes| decoder.forward(Tensor::ones([codes, LATENTS], &device)));
            let formula = VaeDecoder::activations(channels, side);
            // Four of its nine terms are from 2.5 to 6 % of the sum: the tolerance of encoders would not see one go missing.
            assert_near(of_decoder, formula, 0.02, &format!("decoder at {side}"));
        }
    }
}

fn assert_near(counted: f64, formula: Activations, tolerance: f64, what: &str) {
    let formula = formula.kept as f64;
    eprintln!("{what}: {counted:.0} numbers an image, by the formula {formula:.0}");
    assert!((counted / formula - 1.0).abs() < tolerance, "{what}: {counted} {formula}");
}
