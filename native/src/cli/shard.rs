//! `--shard I/N`.

use std::ops::Range;
use std::str::FromStr;

/// One of `count` parts of a list, counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shard {
    index: usize,
    count: usize,
}

impl Shard {
    /// All of the list.
    pub(crate) const WHOLE: Self = Self { index: 0, count: 1 };

    /// Its part of `total` things in groups of `group`, which are not divided. The parts follow each other and leave
    /// nothing out.
    pub(crate) fn of(self, total: usize, group: usize) -> Range<usize> {
        let groups = total.div_ceil(group.max(1)) as u128;
        let before = |parts: usize| {
            let groups = (groups * parts as u128 / self.count as u128) as usize;
            groups.saturating_mul(group).min(total)
        };
        before(self.index)..before(self.index + 1)
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parts = text.split_once('/').map(|(index, count)| (index.parse(), count.parse()));
        match parts {
            Some((Ok(index), Ok(count))) if index < count => Ok(Self { index, count }),
            _ => Err("expected I/N with I from 0 to N - 1, such as 0/8".into()),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn shards_follow_each_other_and_divide_no_group() {
        for (total, count) in [(0, 3), (1, 3), (100, 1), (100, 7), (1_281_167, 64)] {
            let parts: Vec<Range<usize>> =
                (0..count).map(|index| Shard { index, count }.of(total, 16)).collect();
            assert_eq!((parts[0].start, parts[count - 1].end), (0, total));
            assert!(parts.windows(2).all(|pair| pair[0].end == pair[1].start), "{parts:?}");
            assert!(parts.iter().all(|part| part.start % 16 == 0 || part.start == total), "{parts:?}");
        }
        assert_eq!("2/8".parse(), Ok(Shard { index: 2, count: 8 }));
        for wrong in ["8/8", "1", "a/2", "-1/2", "0/0"] {
            assert!(wrong.parse::<Shard>().is_err(), "{wrong}");
        }
    }
}
