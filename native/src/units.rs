//! Bytes, seconds and missing values in words.

/// A cell of a table that has no value.
pub(crate) const NOTHING: &str = "–";

/// Bytes in the largest unit of which there is at least one.
pub(crate) fn bytes(count: u128) -> String {
    const UNITS: [&str; 6] = ["bytes", "kB", "MB", "GB", "TB", "PB"];
    let unit = (0..UNITS.len() - 1).take_while(|&unit| count >= 1000_u128.pow(unit as u32 + 1)).count();
    let value = count as f64 / 1000_f64.powi(unit as i32);
    format!("{value:.0} {}", UNITS[unit])
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
        let sizes = [0, 999, 1_500, 6_144_000_000_000_000, u128::from(u64::MAX)].map(bytes);
        assert_eq!(sizes, ["0 bytes", "999 bytes", "2 kB", "6 PB", "18447 PB"]);
    }

    #[test]
    fn seconds_are_said_in_two_units_at_most() {
        let times = [0.04, 59.9, 61.5, 3_599.0, 7_380.0].map(seconds);
        assert_eq!(times, ["0.0 s", "59.9 s", "1 min 01 s", "59 min 59 s", "2 h 03 min"]);
    }
}
