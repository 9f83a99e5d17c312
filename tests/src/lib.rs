//! Workspace tests live in `tests/`.
