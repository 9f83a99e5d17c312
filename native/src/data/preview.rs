//! A contact sheet: some images of each class with their class and conditions beneath.

use std::io::Cursor;

use font8x8::UnicodeFonts;
use image::{ImageFormat, Rgb, RgbImage};
use simile_core::data::{Condition, Dataset, Images};

use super::error::Result;

/// Pixels of a letter.
const LETTER: u32 = 8;
/// Pixels between two cells.
const GAP: u32 = 4;
/// Smallest width of a cell: room for eight letters.
const CELL: u32 = 64;
const PAPER: Rgb<u8> = Rgb([255; 3]);
const INK: Rgb<u8> = Rgb([30; 3]);

/// Draws `count` images of a data set, class by class, as the bytes of a PNG file. Beneath each image are its class and
/// one line for each condition; a colour is shown as a patch.
///
/// # Errors
/// If an image cannot be read, or the picture cannot be encoded.
pub(crate) fn preview(dataset: &Dataset, count: usize) -> Result<Vec<u8>> {
    let mut bytes = Cursor::new(Vec::new());
    sheet(dataset, count)?.write_to(&mut bytes, ImageFormat::Png)?;
    Ok(bytes.into_inner())
}

fn sheet(dataset: &Dataset, count: usize) -> Result<RgbImage> {
    let chosen = choose(dataset, count);
    let images = dataset.images.for_evaluation()?.read(&chosen)?;
    let columns = chosen.len().div_ceil(dataset.classes.len().max(1)).clamp(8, 20) as u32;
    let (height, width) = (images.height as u32, images.width as u32);
    let scale = CELL.div_ceil(width.max(1)).max(1);
    let lines = 1 + dataset.conditions.len() as u32;
    let cell = (width * scale + GAP, height * scale + lines * (LETTER + 2) + GAP);
    let rows = (chosen.len() as u32).div_ceil(columns);
    let mut sheet = RgbImage::from_pixel(columns * cell.0 + GAP, rows * cell.1 + GAP, PAPER);
    for (at, &sample) in chosen.iter().enumerate() {
        let corner = (GAP + at as u32 % columns * cell.0, GAP + at as u32 / columns * cell.1);
        for y in 0..height * scale {
            for x in 0..width * scale {
                let pixel = ((y / scale) * width + x / scale) as usize;
                put(&mut sheet, corner.0 + x, corner.1 + y, colour_of(&images, at, pixel));
            }
        }
        let mut line = corner.1 + height * scale + 2;
        let letters = (width * scale / LETTER) as usize;
        let class = dataset.labels.get(sample).and_then(|&label| dataset.classes.get(label));
        write(&mut sheet, (corner.0, line), class.map_or("", String::as_str), letters);
        for condition in dataset.conditions.values() {
            line += LETTER + 2;
            caption(&mut sheet, (corner.0, line), condition, sample, letters);
        }
    }
    Ok(sheet)
}

/// The first samples of each class, class by class: as many of each as of the others, unless a class has fewer.
fn choose(dataset: &Dataset, count: usize) -> Vec<usize> {
    let mut classes: Vec<Vec<usize>> = vec![Vec::new(); dataset.classes.len()];
    for (sample, &label) in dataset.labels.iter().enumerate() {
        if let Some(class) = classes.get_mut(label) {
            class.push(sample);
        }
    }
    let mut shares = vec![0; classes.len()];
    let mut remaining = count.min(classes.iter().map(Vec::len).sum());
    while remaining > 0 {
        for (share, class) in shares.iter_mut().zip(&classes) {
            if remaining > 0 && *share < class.len() {
                *share += 1;
                remaining -= 1;
            }
        }
    }
    classes.iter().zip(shares).flat_map(|(class, share)| class.iter().copied().take(share)).collect()
}

fn colour_of(images: &Images, at: usize, pixel: usize) -> Rgb<u8> {
    let channels = images.channels;
    let values = images.image(at).get(pixel * channels..(pixel + 1) * channels);
    match values.unwrap_or_default() {
        [red, green, blue, ..] => Rgb([*red, *green, *blue]),
        [grey, ..] => Rgb([*grey; 3]),
        [] => PAPER,
    }
}

/// One line on a condition: a patch and its hexadecimal code for a colour, else the value.
fn caption(sheet: &mut RgbImage, corner: (u32, u32), condition: &Condition, sample: usize, letters: usize) {
    match condition {
        Condition::Categorical { values, names } => {
            let name = values.get(sample).and_then(|&value| names.get(value));
            write(sheet, corner, name.map_or("", String::as_str), letters);
        }
        Condition::Numeric(matrix) => match *matrix.row(sample) {
            [red, green, blue] if [red, green, blue].iter().all(|v| (0.0..=255.0).contains(v)) => {
                let colour = [red, green, blue].map(|v| v as u8);
                for (x, y) in (0..LETTER).flat_map(|x| (0..LETTER).map(move |y| (x, y))) {
                    put(sheet, corner.0 + x, corner.1 + y, Rgb(colour));
                }
                let code: String = colour.iter().map(|v| format!("{v:02x}")).collect();
                write(sheet, (corner.0 + LETTER + 2, corner.1), &code, letters.saturating_sub(2));
            }
            [whole] if whole.fract() == 0.0 => write(sheet, corner, &format!("{whole:.0}"), letters),
            [only] => write(sheet, corner, &format!("{only:.3}"), letters),
            ref row => write(sheet, corner, &summary(row), letters),
        },
    }
}

/// A short text for many numbers: the number of present attributes, or the length of the vector.
fn summary(row: &[f64]) -> String {
    if row.iter().all(|value| [0.0, 1.0].contains(value)) {
        return format!("{} of {}", row.iter().filter(|&&value| value > 0.0).count(), row.len());
    }
    format!("|x| {:.2}", row.iter().map(|value| value * value).sum::<f64>().sqrt())
}

fn write(sheet: &mut RgbImage, corner: (u32, u32), text: &str, letters: usize) {
    for (at, letter) in text.chars().take(letters).enumerate() {
        let rows =
            font8x8::BASIC_FONTS.get(letter).or_else(|| font8x8::LATIN_FONTS.get(letter)).unwrap_or_default();
        for (y, row) in rows.iter().enumerate() {
            for x in (0..LETTER).filter(|x| row >> x & 1 == 1) {
                put(sheet, corner.0 + at as u32 * LETTER + x, corner.1 + y as u32, INK);
            }
        }
    }
}

fn put(sheet: &mut RgbImage, x: u32, y: u32, colour: Rgb<u8>) {
    if let Some(pixel) = sheet.get_pixel_mut_checked(x, y) {
        *pixel = colour;
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use simile_core::data::synthetic::colour_mnist::Colours;
    use simile_core::data::synthetic::digits::draw_digits;

    #[test]
    fn a_sheet_shows_each_class_with_its_colour_patch() {
        let dataset = draw_digits(300, Colours::Palette, 3).unwrap();
        let picture = image::load_from_memory(&preview(&dataset, 100).unwrap()).unwrap().to_rgb8();
        // Ten columns of ten classes: 32 pixels drawn twice as large, three lines of text.
        assert_eq!(picture.dimensions(), (10 * (64 + GAP) + GAP, 10 * (64 + 30 + GAP) + GAP));
        let zero = (0..300).find(|&i| dataset.labels[i] == 0).unwrap();
        let background = dataset.conditions["colour"].to_matrix().row(zero).to_vec();
        let patch = picture.get_pixel(GAP + 3, GAP + 64 + 2 + LETTER + 2 + 3);
        assert_eq!(patch.0.map(f64::from).to_vec(), background);
        assert_eq!(picture.get_pixel(GAP, GAP).0, dataset.images.read(&[zero]).unwrap().pixels[..3]);
        let text = (0..LETTER).flat_map(|x| (0..LETTER).map(move |y| (GAP + x, GAP + 66 + y)));
        assert!(text.filter(|&(x, y)| *picture.get_pixel(x, y) == INK).count() > 10);
    }

    #[test]
    fn a_class_of_few_images_leaves_its_places_to_the_others() {
        let digits = draw_digits(300, Colours::Palette, 3).unwrap();
        let classes = vec!["few".into(), "none".into(), "many".into()];
        let labels = (0..300).map(|at| if at % 100 == 7 { 0 } else { 2 }).collect();
        let dataset = Dataset::new(digits.images, labels, classes).unwrap();
        assert_eq!(choose(&dataset, 8), [7, 107, 207, 0, 1, 2, 3, 4]);
        assert_eq!(choose(&dataset, 4), [7, 107, 0, 1]);
        assert_eq!((choose(&dataset, 0).len(), choose(&dataset, 5000).len()), (0, 300));
    }

    #[test]
    fn attributes_are_counted_and_vectors_measured() {
        assert_eq!(summary(&[1.0, 0.0, 1.0, 0.0]), "2 of 4");
        assert_eq!(summary(&[3.0, 4.0, 0.0, 0.0]), "|x| 5.00");
    }

    #[test]
    fn few_images_and_many_classes_are_no_trouble() {
        let dataset = draw_digits(3, Colours::Uniform, 3).unwrap();
        for count in [0, 1, 3, 5000] {
            assert!(sheet(&dataset, count).unwrap().width() > 0);
        }
    }
}
