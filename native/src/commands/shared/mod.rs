//! Code that several commands share.

pub(super) mod model_data;
pub(super) mod named_data;
pub(super) mod own_pictures;
pub(super) mod runs;
pub(super) mod shipped;
