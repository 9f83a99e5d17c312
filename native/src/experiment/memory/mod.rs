//! The memory that is available and that is used, and the checks that a run fits into it: `limits` checks single counts of a
//! recipe, before anything of that size is allocated, and `step` checks the sum for a training step; `pass` limits what an
//! evaluation takes at once.

pub(crate) mod available;
pub(crate) mod limits;
pub(crate) mod pass;
pub(crate) mod step;
pub(crate) mod used;

/// Bytes in the largest unit of which there is at least one, for messages.
fn with_unit(bytes: u128) -> String {
    const UNITS: [&str; 6] = ["bytes", "kB", "MB", "GB", "TB", "PB"];
    let unit = (0..UNITS.len() - 1).take_while(|&unit| bytes >= 1000_u128.pow(unit as u32 + 1)).count();
    let value = bytes as f64 / 1000_f64.powi(unit as i32);
    format!("{value:.0} {}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_said_in_the_unit_that_fits() {
        let sizes = [0, 999, 1_500, 6_144_000_000_000_000, u128::from(u64::MAX)].map(with_unit);
        assert_eq!(sizes, ["0 bytes", "999 bytes", "2 kB", "6 PB", "18447 PB"]);
    }
}
