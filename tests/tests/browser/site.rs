//! The page that compares encoders, as a visitor would use it.

use serde_json::json;

use crate::data::Data;
use crate::{Where, is_ready, run};

/// The name that the visitor gives a checkpoint.
const NAME: &str = "a_network_whose_name_has_no_blank_and_is_wider_than_a_phone";

#[test]
fn a_digit_is_drawn_on_webgpu() {
    if is_ready() {
        run("site/drawing.mjs", Where::WebGpu, json!({}));
    }
}

#[test]
fn a_digit_is_drawn_and_images_and_a_checkpoint_are_taken_on_the_cpu() {
    if is_ready() {
        let data = Data::write();
        let (checkpoint, image) = (data.path(Data::CHECKPOINT), data.path(&data.images[0]));
        let job = json!({ "checkpoint": checkpoint, "name": NAME, "image": image });
        run("site/images.mjs", Where::Cpu, job);
    }
}

#[test]
fn a_visitor_is_told_what_the_browser_lacks() {
    if is_ready() {
        run("site/lacks.mjs", Where::Cpu, json!({}));
    }
}
