//! The Python package, laid out as in its wheel around the module that cargo built, and tested by pytest.

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use burn::tensor::Device;
use rand::SeedableRng as _;
use rand_chacha::ChaCha8Rng;
use simile_core::nn::EncoderConfig;
use simile_core::nn::checkpoint::{Checkpoint, Metadata};
use simile_tests::{program, repository, skipped};

/// The extension module beside the running test.
fn module() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let file = test.with_file_name(format!("{DLL_PREFIX}simile_python{DLL_SUFFIX}"));
    assert!(file.exists(), "{} is not there; run `cargo test --workspace`, which builds it", file.display());
    file
}

/// Copies the package with its module into a folder.
fn lay_out(place: &Path) {
    let package = place.join("simile");
    fs::create_dir_all(&package).unwrap();
    for entry in fs::read_dir(repository::root().join("python").join("simile")).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            fs::copy(&path, package.join(path.file_name().unwrap())).unwrap();
        }
    }
    let name = if cfg!(windows) { "_native.pyd" } else { "_native.abi3.so" };
    fs::copy(module(), package.join(name)).unwrap();
}

/// Two encoders, pictures of several kinds, and the vectors that `simile embed` gives.
fn embeddings(place: &Path) {
    fs::create_dir_all(place).unwrap();
    let at = |name: &str| place.join(name);
    let wide = |x, y| image::Rgb([(x * 2) as u8, (y * 5) as u8, (x * y) as u8]);
    image::RgbImage::from_fn(90, 50, wide).save(at("wide.jpg")).unwrap();
    let clear = |x, y| image::Rgba([200, (x * 8) as u8, 9, (y * 6) as u8]);
    image::RgbaImage::from_fn(32, 40, clear).save(at("clear.png")).unwrap();
    image::GrayImage::from_fn(33, 33, |x, y| image::Luma([(x * y) as u8])).save(at("grey.png")).unwrap();
    for (name, channels, resize) in [("colour", 3, Some(40)), ("grey", 1, None)] {
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        let config = EncoderConfig { channels, ..EncoderConfig::default() };
        let mut metadata = Metadata::new(config.clone(), vec![0.4; channels], vec![0.3; channels]);
        metadata.resize = resize;
        let encoder = config.init(&Device::flex(), &mut rng).unwrap();
        let checkpoint = Checkpoint { encoder, head: None, metadata };
        let bytes = pollster::block_on(checkpoint.to_bytes()).unwrap();
        fs::write(at(&format!("{name}.safetensors")), bytes).unwrap();
        let output = Command::new(program())
            .current_dir(place)
            .args(["embed", &format!("{name}.safetensors"), "wide.jpg", "clear.png", "grey.png", "--json"])
            .args(["--device", "cpu"])
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        fs::write(at(&format!("{name}.json")), output.stdout).unwrap();
    }
}

#[test]
fn the_package_computes_as_the_program_does() {
    // `tomllib` came with Python 3.11, the first that the module is made for.
    let Some(python) = simile_tests::python("numpy, pytest, tomllib") else { return };
    let place = simile_tests::place();
    lay_out(place.path());
    embeddings(&place.path().join("embed"));
    let output = Command::new(&python)
        .current_dir(place.path())
        .env("PYTHONPATH", place.path())
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("SIMILE_VECTORS", simile_tests::vectors())
        .env("SIMILE_EMBEDDINGS", place.path().join("embed"))
        .args(["-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", "--rootdir"])
        .args([place.path(), &repository::root().join("python").join("tests")])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    println!("{text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "pytest failed");
    // SKIPPED [1] test_torch.py:5: the reason
    for line in text.lines().filter(|line| line.starts_with("SKIPPED")) {
        let reason = line.splitn(3, ": ").last().unwrap_or(line);
        skipped::note(&format!("python: {reason}"));
    }
}
