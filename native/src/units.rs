//! Bytes, seconds and missing values in words.

/// A cell of a table that has no value.
pub(crate) const NOTHING: &str = "–";

/// Bytes in the largest unit of which there is, rounded, at least one. From megabytes on, a number below 10 has one decimal, so that two
/// that differ seldom read the same.
pub(crate) fn bytes(count: u128) -> String {
    const UNITS: [&str; 6] = ["bytes", "kB", "MB", "GB", "TB", "PB"];
    let least = |unit: usize| 1000_u128.pow(unit as u32) - 1000_u128.pow(unit as u32 - 1) / 2;
    let unit = (1..UNITS.len()).take_while(|&unit| count >= least(unit)).count();
    let value = count as f64 / 1000_f64.powi(unit as i32);
    let decimals = usize::from(unit >= 2 && value < 9.95);
    format!("{value:.decimals$} {}", UNITS[unit])
}

pub(crate) fn gigabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e9
}

/// Seconds as people say them.
pub(crate) fn seconds(seconds: f64) -> String {
    match seconds {
        seconds if seconds < 60.0 => format!("{seconds:.1} s"),
        seconds if seconds < 3600.0 => {
            format!("{:.0} min {:02.0} s", (seconds / 60.0).floor(), (seconds % 60.0).floor())
        }
        seconds => {
            format!("{:.0} h {:02.0} min", (seconds / 3600.0).floor(), (seconds / 60.0 % 60.0).floor())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_said_in_the_unit_that_fits() {
        let sizes = [0, 999, 1_500, 4_000_000, 6_144_000_000_000_000, u128::from(u64::MAX)].map(bytes);
        assert_eq!(sizes, ["0 bytes", "999 bytes", "2 kB", "4.0 MB", "6.1 PB", "18447 PB"]);
        let around = [999_499, 999_500, 9_949_999, 9_950_000, 999_499_999, 999_500_000].map(bytes);
        assert_eq!(around, ["999 kB", "1.0 MB", "9.9 MB", "10 MB", "999 MB", "1.0 GB"]);
    }

    /// A refusal said that 2 GB are needed and 2 GB are free.
    #[test]
    fn few_units_are_told_apart() {
        assert_eq!([2_400_000_000, 1_600_000_000, 16_000_000_000].map(bytes), ["2.4 GB", "1.6 GB", "16 GB"]);
    }

    #[test]
    fn seconds_are_said_in_two_units_at_most() {
        let times = [0.04, 59.9, 61.5, 3_599.0, 7_380.0].map(seconds);
        assert_eq!(times, ["0.0 s", "59.9 s", "1 min 01 s", "59 min 59 s", "2 h 03 min"]);
    }
}
