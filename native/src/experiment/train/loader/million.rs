//! The memory of a run on as many pictures as ImageNet has. They are small: memory depends on their number alone.

use std::fs;
use std::path::Path;
use std::time::Instant;

use burn::tensor::Device;
use simile_core::data::Part;

use super::{DataLoader, StepImages};
use crate::config::Recipe;
use crate::data::settings::{Broken, Fit, Options};
use crate::data::source::Kind;
use crate::data::{Cache, ResizeSpec, read_pictures, sets};

/// Classes, and training pictures of each: 1,281,000.
const CLASSES: usize = 1000;
const EACH: usize = 1281;
const STEPS: u64 = 1000;
/// Most bytes of memory.
const MOST: u64 = 1 << 30;

/// Pictures of 8 x 8 pixels in ImageNet's folders, one file a class under many names.
fn picture_folders(root: &Path) {
    for class in 0..CLASSES {
        let of = |part: &str| root.join(part).join(format!("n{class:08}"));
        let colour = image::Rgb([class as u8, (class / 256) as u8, 9]);
        for part in ["train", "val"] {
            fs::create_dir_all(of(part)).unwrap();
        }
        let first = of("val").join("0.png");
        image::RgbImage::from_pixel(8, 8, colour).save(&first).unwrap();
        for at in 0..EACH {
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

/// `TMPDIR` needs room for 1.3 million names and 260 MB.
#[test]
#[ignore = "makes 1.28 million files; CONTRIBUTING.md has its command"]
fn as_many_pictures_as_imagenet_has_take_less_than_a_gibibyte_of_memory() {
    let place = tempfile::tempdir().unwrap();
    let root = place.path().join("imagenet");
    picture_folders(&root);
    let Some(Kind::Pictures(set)) = sets::find("imagenet").map(|set| set.kind()) else { unreachable!() };
    let cache = Cache::new(place.path().join("cache"));
    let resize = ResizeSpec { side: 8, channels: 3, fit: Fit::Middle };
    let text = format!(
        "name = \"mine\"\n\n[data]\ndataset = \"digits\"\ntrain = 40\ntest = 10\n\n[train]\nbatch = 1024\niterations = {STEPS}\n\n\
         [objective]\nname = \"nt-xent\"\n"
    );
    let recipe = Recipe::resolved(&text, Path::new("mine.toml")).unwrap();
    let arm = recipe.arms().remove(0);
    for start in ["first", "second"] {
        let began = Instant::now();
        let annotations = set.annotations(&Options::default(), place.path()).unwrap();
        let of_train = annotations.catalogue.of(Part::Train);
        let catalogue = annotations.catalogue.select(&of_train);
        let pictures =
            read_pictures(&annotations.root, &catalogue.files, resize, Broken::Refuse, Some(&cache)).unwrap();
        let dataset = catalogue.into_dataset(pictures.images).unwrap();
        let (train, held_out) = dataset.split(50_000, 0).unwrap();
        assert_eq!((train.len(), held_out.len()), (CLASSES * EACH - 50_000, 50_000));
        eprintln!("{start} start: {:.1} s, {} MiB", began.elapsed().as_secs_f64(), peak() >> 20);

        let mut loader = DataLoader::keeping(0, &arm, &recipe, &train, &Device::flex()).unwrap();
        let began = Instant::now();
        for step in 0..STEPS {
            let StepImages { indices, images, .. } = loader.feed.batch(step, STEPS).unwrap();
            let red = images.slice([0..1, 0..1, 0..1, 0..1]).into_data().iter::<f32>().next().unwrap();
            assert_eq!(red, f32::from(train.labels[indices[0]] as u8) / 255.0);
        }
        let images = STEPS as f64 * 1024.0 / began.elapsed().as_secs_f64();
        eprintln!("{STEPS} batches of 1024: {images:.0} images/s, {} MiB", peak() >> 20);
        assert!(peak() < MOST, "{} MiB", peak() >> 20);
    }
}
