//! The memory of a run on as many pictures as ImageNet has, small ones, and on a set that is larger than a machine's memory.

use std::fs;
use std::path::Path;
use std::time::Instant;

use burn::tensor::Device;
use simile_core::augment::Augmentation;
use simile_core::data::Split;
use simile_core::train::{Purpose, stream};

use super::{DataLoader, StepImages};
use crate::config::testing::drawn;
use crate::data::keys::of_dataset::ReadOptions;
use crate::data::keys::values::{Broken, Fit};
use crate::data::source::Medium;
use crate::data::{Cache, PictureList, ResizeSpec, read_pictures, sets};

const CLASSES: usize = 1000;
/// Held-out pictures.
const HELD_OUT: usize = 50_000;

/// The size of a generated data set, the steps that read from it, and the memory that they may take.
struct Made {
    /// Training pictures of each class.
    each: usize,
    side: usize,
    batch: u64,
    steps: u64,
    /// Most bytes of memory.
    most: u64,
}

/// Pictures in ImageNet's folders, one file a class under many names.
fn picture_folders(root: &Path, &Made { each, side, .. }: &Made) {
    for class in 0..CLASSES {
        let of = |split: &str| root.join(split).join(format!("n{class:08}"));
        let colour = image::Rgb([class as u8, (class / 256) as u8, 9]);
        for split in ["train", "val"] {
            fs::create_dir_all(of(split)).unwrap();
        }
        let first = of("val").join("0.png");
        image::RgbImage::from_pixel(side as u32, side as u32, colour).save(&first).unwrap();
        for at in 0..each {
            fs::hard_link(&first, of("train").join(format!("n{class:08}_{at}.png"))).unwrap();
        }
    }
}

/// The largest memory of this process so far, in bytes; pages of files are not part of it.
fn peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.split_whitespace().next().unwrap().parse::<u64>().unwrap() * 1024
}

/// Reads a set twice: pictures are decoded for the first time, and come from the cache for the second.
fn measure(scale: &Made) {
    let place = tempfile::tempdir().unwrap();
    let root = place.path().join("imagenet");
    picture_folders(&root, scale);
    let &Made { each, side, batch, steps, most } = scale;
    let Some(Medium::Pictures(set)) = sets::find("imagenet").map(|set| set.medium()) else { unreachable!() };
    let cache = Cache::new(place.path().join("cache"));
    let resize = ResizeSpec { side, channels: 3, fit: Fit::Middle };
    let sections =
        format!("[train]\nbatch = {batch}\niterations = {steps}\n\n[objective]\nname = \"nt-xent\"\n");
    let recipe = drawn(&sections);
    let variant = recipe.variants().remove(0);
    for start in ["first", "second"] {
        let began = Instant::now();
        let annotations = set.annotations(&ReadOptions::default(), place.path()).unwrap();
        let of_train = annotations.catalogue.of(Split::Train);
        let catalogue = annotations.catalogue.select(&of_train);
        let list = PictureList { root: &annotations.root, files: &catalogue.files };
        let pictures = read_pictures(list, resize, Broken::Refuse, Some(&cache)).unwrap();
        let dataset = catalogue.into_dataset(pictures.images).unwrap();
        let (train, held_out) = dataset.split(HELD_OUT, 0).unwrap();
        assert_eq!((train.len(), held_out.len()), (CLASSES * each - HELD_OUT, HELD_OUT));
        eprintln!("{start} start: {:.1} s, {} MiB", began.elapsed().as_secs_f64(), peak() >> 20);

        let mut loader =
            DataLoader::with_resident_limit(0, &variant, &recipe, &train, &Device::flex()).unwrap();
        let pixel = Augmentation { size: Some(1), centre_crop: true, ..Augmentation::default() };
        let began = Instant::now();
        for step in 0..steps {
            let StepImages { indices, images, .. } = loader.image_loader.batch(step, steps).unwrap();
            // A pixel of each, so that the bytes are not all turned into numbers.
            let pixels = pixel.view(images, &mut stream(0, Purpose::Augmentation, step)).unwrap().into_data();
            let red = pixels.iter::<f32>().next().unwrap();
            assert_eq!(red, f32::from(train.labels[indices[0]] as u8) / 255.0);
        }
        let images = (steps * batch) as f64 / began.elapsed().as_secs_f64();
        eprintln!("{steps} batches of {batch}: {images:.0} images/s, {} MiB", peak() >> 20);
        assert!(peak() < most, "{} MiB", peak() >> 20);
    }
}

/// 1,281,000 pictures. `TMPDIR` needs room for as many names and 260 MB.
#[test]
#[ignore = "makes 1.28 million files; CONTRIBUTING.md has its command"]
fn as_many_pictures_as_imagenet_has_take_less_than_a_gibibyte_of_memory() {
    measure(&Made { each: 1281, side: 8, batch: 1024, steps: 1000, most: 1 << 30 });
}

/// 200,000 pictures at 224 pixels. `TMPDIR` needs 30.2 GB.
#[test]
#[ignore = "takes 30 GB of disk; CONTRIBUTING.md has its command"]
fn pictures_of_thirty_gigabytes_take_less_than_two_gibibytes_of_memory() {
    measure(&Made { each: 200, side: 224, batch: 256, steps: 200, most: 2 << 30 });
}
