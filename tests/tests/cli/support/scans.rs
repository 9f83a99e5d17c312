//! A folder of pictures as a newcomer has one: shapes, with hospitals and ages that show in the pictures.

use std::fs;
use std::path::Path;

/// The classes: the shapes.
pub(crate) const CLASSES: [&str; 4] = ["bar", "cross", "disc", "ring"];
/// The hospitals, their pictures among ten, and the tints of these.
const HOSPITALS: [(&str, usize, [f64; 3]); 3] = [
    ("north", 4, [140.0, 100.0, 100.0]),
    ("south", 3, [100.0, 140.0, 100.0]),
    ("west", 3, [100.0, 100.0, 140.0]),
];

/// Uniform numbers from 0 to 1.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    fn roll(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.roll()
    }
}

/// True if a shape covers a point, whose distances from the middle are in units of its size.
fn covers(class: usize, x: f64, y: f64) -> bool {
    let far = x.hypot(y);
    match class {
        0 => x.abs() < 0.3 && y.abs() < 1.0,
        1 => x.abs().min(y.abs()) < 0.25 && x.abs().max(y.abs()) < 1.0,
        2 => far < 0.8,
        _ => (0.6..1.0).contains(&far),
    }
}

/// A picture of a shape on a background whose tint is that of the hospital; the older, the brighter is the shape.
pub(crate) fn scan(class: usize, hospital: usize, age: f64, dice: &mut Dice) -> image::RgbImage {
    const SIDE: u32 = 40;
    let tint = HOSPITALS[hospital].2.map(|level| level + dice.between(-5.0, 5.0));
    let [x, y] = [dice.between(15.0, 25.0), dice.between(15.0, 25.0)];
    let (size, turn) = (dice.between(8.0, 13.0), dice.between(-1.5, 1.5));
    let ink = 25.0 + 0.4 * (age - 20.0);
    image::RgbImage::from_fn(SIDE, SIDE, |column, row| {
        let [dx, dy] = [(f64::from(column) - x) / size, (f64::from(row) - y) / size];
        let inside = covers(class, dx * turn.cos() - dy * turn.sin(), dx * turn.sin() + dy * turn.cos());
        let noise = dice.between(-30.0, 30.0);
        image::Rgb(tint.map(|level| {
            let level = if inside { level + ink } else { level };
            (level + noise).clamp(0.0, 255.0) as u8
        }))
    })
}

/// `scans` in a place: so many pictures, and a table of them.
pub(crate) fn scans(place: &Path, count: usize) {
    numbered_scans(place, count, 1);
}

/// The same with names of at least so many digits: `0001.png`.
pub(crate) fn numbered_scans(place: &Path, count: usize, digits: usize) {
    let folder = place.join("scans");
    fs::create_dir(&folder).unwrap();
    let mut dice = Dice(7);
    let of_ten: Vec<usize> =
        HOSPITALS.iter().enumerate().flat_map(|(at, &(_, share, _))| vec![at; share]).collect();
    let mut table = String::from("file,label,hospital,age,patient\n");
    for at in 0..count {
        let class = (dice.roll() * CLASSES.len() as f64) as usize;
        let hospital = of_ten[(dice.roll() * of_ten.len() as f64) as usize];
        let age = dice.between(20.0, 90.0).round();
        let name = format!("{at:0digits$}.png");
        scan(class, hospital, age, &mut dice).save(folder.join(&name)).unwrap();
        table += &format!("{name},{},{},{age},p{at}\n", CLASSES[class], HOSPITALS[hospital].0);
    }
    fs::write(folder.join("images.csv"), table).unwrap();
}
