//! The preprocessing of pictures in ONNX, equal to `Metadata::fitted` and `Normalisation` of core.

use simile_core::nn::checkpoint::Metadata;

use super::builder::{Builder, Setting};

/// From pictures `[n, height, width, channels]` of bytes, of any one size, to the input of the network,
/// `[n, channels, side, side]`; returns the name of that.
pub(super) fn prepared(graph: &mut Builder, pictures: &str, metadata: &Metadata) -> String {
    let planes = graph.node("Transpose", &[pictures], [("perm", Setting::Integers(vec![0, 3, 1, 2]))]);
    let square = if metadata.sees_whole_pictures() { planes } else { middle_square(graph, &planes) };
    let (stored, larger) = (metadata.stored_side(), metadata.resize.unwrap_or(metadata.input_size));
    let as_stored = resized(graph, &square, stored);
    let resized = if larger == stored { as_stored } else { resized(graph, &as_stored, larger) };
    let middle = middle(graph, &resized, larger, metadata.input_size);
    let numbers = graph.node("Cast", &[&middle], [("to", Setting::Integer(1))]);
    normalised(graph, &numbers, metadata)
}

/// The middle of each picture in a square: sides are numbers that are known when it runs.
fn middle_square(graph: &mut Builder, planes: &str) -> String {
    let shape = graph.plain("Shape", &[planes]);
    let [zero, two, four] = [0, 2, 4].map(|at| graph.integers(&[at]));
    let sides = graph.plain("Slice", &[&shape, &two, &four, &zero]);
    let settings = || [("keepdims", Setting::Integer(1))];
    let side = graph.node("ReduceMin", &[&sides], settings());
    let left_over = graph.plain("Sub", &[&sides, &side]);
    let start = graph.plain("Div", &[&left_over, &two]);
    let end = graph.plain("Add", &[&start, &side]);
    let axes = graph.integers(&[2, 3]);
    graph.plain("Slice", &[planes, &start, &end, &axes])
}

/// Pillow's antialiased bilinear filter to `side` x `side`, rounded to bytes; as there, windows end at the edge. In ONNX
/// Runtime one value in a thousand is rounded to the other side.
fn resized(graph: &mut Builder, planes: &str, side: usize) -> String {
    // One size for each axis. With two and `axes`, ONNX Runtime 1.20 and later cannot load the file of whole pictures: it moves the
    // transposition behind this node and counts the sizes anew.
    let first = graph.node("Shape", &[planes], [("end", Setting::Integer(2))]);
    let last = graph.integers(&[side as i64; 2]);
    let sizes = graph.node("Concat", &[&first, &last], [("axis", Setting::Integer(0))]);
    graph.node(
        "Resize",
        &[planes, "", "", &sizes],
        [
            ("antialias", Setting::Integer(1)),
            ("coordinate_transformation_mode", Setting::Text("half_pixel")),
            ("exclude_outside", Setting::Integer(1)),
            ("mode", Setting::Text("linear")),
        ],
    )
}

/// The middle `side` x `side` of maps of a larger side; a half is rounded to the even number.
fn middle(graph: &mut Builder, planes: &str, larger: usize, side: usize) -> String {
    if larger == side {
        return planes.into();
    }
    let start = ((larger - side) as f64 / 2.0).round_ties_even() as i64;
    let [start, end] = [start, start + side as i64].map(|at| graph.integers(&[at; 2]));
    let axes = graph.integers(&[2, 3]);
    graph.plain("Slice", &[planes, &start, &end, &axes])
}

/// `(bytes / 255 - mean) / std` for each channel.
fn normalised(graph: &mut Builder, bytes: &str, metadata: &Metadata) -> String {
    let whole = graph.floats("whole", &[], &[255.0]);
    let shares = graph.plain("Div", &[bytes, &whole]);
    let shape = [1, metadata.mean.len(), 1, 1];
    let scale: Vec<f32> = metadata.std.iter().map(|std| (1.0 / std) as f32).collect();
    let shift = metadata.mean.iter().zip(&metadata.std).map(|(mean, std)| (-mean / std) as f32);
    let scale = graph.floats("scale", &shape, &scale);
    let shift = graph.floats("shift", &shape, &shift.collect::<Vec<_>>());
    let scaled = graph.plain("Mul", &[&shares, &scale]);
    graph.plain("Add", &[&scaled, &shift])
}
