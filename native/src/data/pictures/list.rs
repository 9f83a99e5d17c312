//! Picture files that are read together.

use std::path::{Path, PathBuf};

/// Picture files, as paths below a folder.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PictureList<'a> {
    pub(crate) root: &'a Path,
    pub(crate) files: &'a [String],
}

impl PictureList<'_> {
    /// The path of the picture at a place of the list.
    pub(super) fn path(&self, at: usize) -> PathBuf {
        self.root.join(self.files.get(at).map_or("", String::as_str))
    }
}
