//! Picture files, and folders of them with a table.

use std::fs;
use std::path::Path;

/// Writes a picture in the format that its name says, into a folder that is made where it is missing.
pub(crate) fn picture(path: &Path, [width, height]: [u32; 2], colour: impl Fn(u32, u32) -> [u8; 3]) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    image::RgbImage::from_fn(width, height, |x, y| image::Rgb(colour(x, y))).save(path).unwrap();
}

/// A folder of pictures with the table `images.csv`: a picture for each of these rows, which do not name its file. All have a
/// size, and colours by their number and the place.
pub(crate) fn tabled_with(
    folder: &Path,
    header: &str,
    rows: impl Iterator<Item = String>,
    size: [u32; 2],
    colour: impl Fn(usize, u32, u32) -> [u8; 3],
) {
    fs::create_dir_all(folder).unwrap();
    let mut table = format!("file,{header}\n");
    for (at, row) in rows.enumerate() {
        picture(&folder.join(format!("{at}.png")), size, |x, y| colour(at, x, y));
        table += &format!("{at}.png,{row}\n");
    }
    fs::write(folder.join("images.csv"), table).unwrap();
}

/// Such a folder of small pictures, each of the first 200 with a shade of its own.
pub(crate) fn tabled(folder: &Path, header: &str, rows: impl Iterator<Item = String>) {
    let colour = |at: usize, x: u32, y: u32| [(at * 37 % 200) as u8 + (x % 7) as u8, (y * 8) as u8, 90];
    tabled_with(folder, header, rows, [32, 32], colour);
}
