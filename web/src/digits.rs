//! Digits that core draws, for a page without data.

use simile_core::data::synthetic::colour_mnist::Colours;
use simile_core::data::synthetic::digits::draw_digits as draw;
use simile_core::data::{Condition, Dataset};
use wasm_bindgen::JsError;
use wasm_bindgen::prelude::wasm_bindgen;

/// Images of one size with their digits and the colours of their backgrounds.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Digits {
    /// Pixels of a row.
    pub width: usize,
    /// Rows of an image.
    pub height: usize,
    pixels: Vec<u8>,
    labels: Vec<u8>,
    backgrounds: Vec<u8>,
}

#[wasm_bindgen]
impl Digits {
    /// All images one after the other, RGBA.
    #[wasm_bindgen(getter)]
    pub fn pixels(&self) -> Vec<u8> {
        self.pixels.clone()
    }

    /// The digit of each image.
    #[wasm_bindgen(getter)]
    pub fn labels(&self) -> Vec<u8> {
        self.labels.clone()
    }

    /// The colour of each background, RGB: the condition of `fair-digits`.
    #[wasm_bindgen(getter)]
    pub fn backgrounds(&self) -> Vec<u8> {
        self.backgrounds.clone()
    }
}

/// Draws `count` digits on coloured backgrounds; the same seed gives the same images on every platform.
///
/// # Errors
/// `count` is 0.
#[wasm_bindgen]
pub fn draw_digits(count: usize, seed: u32) -> Result<Digits, JsError> {
    let dataset = draw(count, Colours::Palette, seed.into())?;
    let images = dataset.images.in_memory()?;
    let pixels =
        images.pixels.chunks_exact(3).flat_map(|pixel| pixel.iter().copied().chain([u8::MAX])).collect();
    let labels = dataset.labels.iter().map(|&label| label as u8).collect();
    Ok(Digits { width: images.width, height: images.height, pixels, labels, backgrounds: colours(&dataset) })
}

fn colours(dataset: &Dataset) -> Vec<u8> {
    match dataset.conditions.get("colour") {
        Some(Condition::Numeric(colours)) => colours.data().iter().map(|&channel| channel as u8).collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use simile_core::data::synthetic::colour_mnist::{PALETTE, PALETTE_NAMES};

    #[test]
    fn the_pages_have_the_colours_of_the_palette_and_their_names() {
        let of_pages = include_str!("../../www/src/background.ts");
        for (name, [red, green, blue]) in PALETTE_NAMES.into_iter().zip(PALETTE) {
            let line = format!(r##"["{name}", "#{red:02x}{green:02x}{blue:02x}"],"##);
            assert!(of_pages.contains(&line), "www/src/background.ts lacks `{line}`");
        }
        let colours = of_pages.matches("\", \"#").count();
        assert_eq!(colours, PALETTE.len(), "www/src/background.ts has other colours too");
    }
}
