//! The columns of a user's table: which one names the picture, the class, the split and the subject, and the type of the others.

pub(crate) mod attributes;
pub(crate) mod class;
pub(crate) mod kind;
pub(crate) mod names;
pub(crate) mod overlooked;
pub(crate) mod roles;
pub(crate) mod split;
pub(crate) mod subject;
pub(crate) mod table;
