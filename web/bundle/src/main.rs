//! Builds the npm package and the site.
fn main() {}
