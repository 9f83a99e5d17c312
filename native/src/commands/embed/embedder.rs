//! The vectors of picture files, pass by pass.

use std::path::{Path, PathBuf};

use anyhow::{Error, Result, anyhow};
use burn::tensor::Device;
use rayon::iter::{IntoParallelRefIterator as _, ParallelIterator as _};
use simile_core::data::Images;
use simile_core::nn::checkpoint::Checkpoint;
use simile_core::numeric::matrix::Matrix;
use simile_core::numeric::rows::to_matrix;

use crate::console::line;
use crate::data::keys::values::{Broken, Fit};
use crate::data::{ResizeSpec, read_picture};
use crate::exit::{Interrupted, usage};
use crate::experiment::prepare::images::{ImageForm, PreparedImages};
use crate::interrupt;

/// Pictures in one forward pass. Shards are cut between passes, so that every picture is in the same pass however many
/// shards there are.
pub(super) const PASS: usize = 64;

/// Fails once the user, or the system, has asked to stop.
///
/// # Errors
/// [`Interrupted`].
pub(super) fn uninterrupted() -> Result<()> {
    if interrupt::is_requested() {
        return Err(Interrupted("nothing is kept; the same command begins again".into()).into());
    }
    Ok(())
}

/// An encoder, and the treatment of images that cannot be read.
pub(super) struct Embedder {
    pub(super) checkpoint: Checkpoint,
    pub(super) device: Device,
    pub(super) broken: Broken,
}

/// Some files in order.
pub(super) struct Pass {
    /// Those of the pictures.
    pub(super) names: Vec<String>,
    /// A row each.
    pub(super) rows: Matrix,
    /// The places of the files that cannot be read, or are no pictures, among all.
    pub(super) broken: Vec<usize>,
}

impl Pass {
    /// The rows, with one of NaN in the place of each file that cannot be read.
    pub(super) fn with_gaps(&self) -> Result<Matrix> {
        let (count, columns) = (self.rows.rows() + self.broken.len(), self.rows.columns());
        let gap = vec![f64::NAN; columns];
        let mut rows = self.rows.iter_rows();
        let mut values = Vec::with_capacity(count * columns);
        for at in 0..count {
            let row = if self.broken.contains(&at) { None } else { rows.next() };
            values.extend_from_slice(row.unwrap_or(&gap));
        }
        Ok(Matrix::new(count, columns, values)?)
    }
}

impl Embedder {
    /// The number of values of a row.
    pub(super) fn dimensions(&self) -> usize {
        self.checkpoint.metadata.encoder.embedding_size()
    }

    /// True if files that cannot be read are skipped.
    pub(super) fn skips(&self) -> bool {
        self.broken == Broken::Skip
    }

    /// Gives each pass of [`PASS`] files to `keep`, in order; returns the number of skipped files.
    ///
    /// # Errors
    /// If a file cannot be read or is no picture, unless such are skipped, and as `keep`; [`Interrupted`] between passes if the
    /// user requests it.
    pub(super) fn each(
        &self,
        mut files: impl Iterator<Item = Result<PathBuf>>,
        mut keep: impl FnMut(&Pass) -> Result<()>,
    ) -> Result<usize> {
        let mut skipped = 0;
        loop {
            let next = files.by_ref().take(PASS).collect::<Result<Vec<PathBuf>>>()?;
            if next.is_empty() {
                return Ok(skipped);
            }
            uninterrupted()?;
            let pass = self.pass(&next)?;
            skipped += pass.broken.len();
            keep(&pass)?;
        }
    }

    fn pass(&self, files: &[PathBuf]) -> Result<Pass> {
        let metadata = &self.checkpoint.metadata;
        let (side, channels) = (metadata.input_size, metadata.encoder.channels);
        let fit = if metadata.sees_whole_pictures() { Fit::Whole } else { Fit::Middle };
        let stored = ResizeSpec { side: metadata.stored_side(), channels, fit };
        let one =
            |path: &PathBuf| -> Result<Vec<u8>> { Ok(metadata.fitted(&read_picture(path, stored)?)?.pixels) };
        let pictures = files.par_iter().map(one).collect::<Vec<_>>();
        let (mut names, mut pixels, mut broken) = (Vec::new(), Vec::new(), Vec::new());
        // The first file in order that cannot be read is named.
        for (at, (path, picture)) in files.iter().zip(pictures).enumerate() {
            match picture {
                Ok(picture) => {
                    names.push(path.display().to_string());
                    pixels.extend(picture);
                }
                Err(error) if self.skips() => {
                    line(format_args!("skipped: {error}"));
                    broken.push(at);
                }
                Err(error) => return Err(with_remedy(path, &error)),
            }
        }
        let rows = if names.is_empty() {
            Matrix::zeros(0, self.dimensions())
        } else {
            self.rows(Images::new(side, side, channels, pixels)?)?
        };
        Ok(Pass { names, rows, broken })
    }

    fn rows(&self, images: Images) -> Result<Matrix> {
        // They have the side of its input already.
        let form = ImageForm { resize: None, ..ImageForm::from(&self.checkpoint.metadata) };
        let prepared = PreparedImages::new(&images.into(), &form, &self.device);
        Ok(to_matrix(&prepared.features(&self.checkpoint.encoder)?)?)
    }
}

/// The error of a picture, with the remedy for what stands at its path.
fn with_remedy(path: &Path, error: &Error) -> Error {
    let shown = path.display();
    if path.is_dir() {
        return usage(format_args!(
            "{shown} is a folder; name its pictures, such as {}, or pipe their names, one a line, into --list -",
            path.join("*.png").display()
        ));
    }
    let remedy = match path.exists() {
        true => "repair it, or skip such pictures with --broken skip",
        false if shown.to_string().contains(['*', '?', '[']) => {
            "no file matches the pattern, which a shell then hands on as it is"
        }
        false => "name another, or skip such pictures with --broken skip",
    };
    anyhow!("{error}; {remedy}")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::exit::Usage;

    #[test]
    fn a_path_that_is_no_picture_is_told_what_it_is() {
        let place = tempfile::tempdir().unwrap();
        std::fs::write(place.path().join("broken.png"), "").unwrap();
        let of = |name: &str| with_remedy(&place.path().join(name), &anyhow!("cannot read {name}"));
        let folder = of("");
        assert!(
            folder.is::<Usage>() && folder.to_string().contains("is a folder; name its pictures"),
            "{folder}"
        );
        for (name, remedy) in [
            ("broken.png", "repair it"),
            ("absent.png", "name another"),
            ("*.png", "no file matches the pattern"),
        ] {
            let error = of(name).to_string();
            assert!(error.contains(name) && error.contains(remedy), "{error}");
            assert_eq!(error.contains("repair"), name == "broken.png", "{error}");
        }
    }
}
