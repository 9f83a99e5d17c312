//! The settings that are tried: `KEY=a,b,c` on the command line, and their combinations.

use anyhow::Result;
use serde::Serialize;
use simile_core::numeric::split::split_indices;

use crate::config::{FORMER_VARIANTS, VARIANTS};
use crate::exit::usage;

/// Combinations of a grid at most, even where few of them are drawn.
const MOST_POINTS: usize = 1_000_000;

/// A key of the recipe and the values that are tried.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Axis {
    pub(crate) key: String,
    pub(crate) values: Vec<String>,
}

impl Axis {
    /// Reads `KEY=a,b,c`. Commas inside brackets, braces or quotes belong to a value.
    ///
    /// # Errors
    /// A usage error if there is no key or no value, or a value is repeated.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let fail = |reason: &str| usage(format_args!("--grid {text}: {reason}"));
        let Some((key, values)) = text.split_once('=').map(|(key, values)| (key.trim(), values)) else {
            return Err(fail("expected KEY=VALUE,VALUE,..., such as `optimizer.learning_rate=1e-3,4e-3`"));
        };
        let values = pieces(values);
        if key.is_empty() || values.iter().any(String::is_empty) {
            return Err(fail("a key or a value is empty"));
        }
        if values.iter().enumerate().any(|(at, value)| values[..at].contains(value)) {
            return Err(fail("a value stands twice"));
        }
        Ok(Self { key: key.to_owned(), values })
    }

    /// Reads all axes of a command line.
    ///
    /// # Errors
    /// As [`parse`](Self::parse), or if a key is repeated, or there are too many combinations.
    pub(crate) fn all(texts: &[String]) -> Result<Vec<Self>> {
        let axes = texts.iter().map(|text| Self::parse(text)).collect::<Result<Vec<_>>>()?;
        let twice = axes.iter().enumerate().find(|(at, axis)| axes[..*at].iter().any(|a| a.key == axis.key));
        match twice {
            Some((_, axis)) => {
                let key = &axis.key;
                Err(usage(format_args!(
                    "--grid {key} stands twice; write all of its values in one, with commas"
                )))
            }
            None => {
                let points = axes.iter().try_fold(1_usize, |all, axis| all.checked_mul(axis.values.len()));
                match points.filter(|&points| points <= MOST_POINTS) {
                    Some(_) => Ok(axes),
                    None => Err(usage(format_args!(
                        "--grid: the values make more than {MOST_POINTS} combinations; take fewer of them"
                    ))),
                }
            }
        }
    }

    /// The key without the variant that it belongs to.
    pub(crate) fn short(&self) -> &str {
        let variant_and_key = [VARIANTS, FORMER_VARIANTS]
            .into_iter()
            .find_map(|variants| self.key.strip_prefix(variants)?.strip_prefix('.')?.split_once('.'));
        variant_and_key.map_or(self.key.as_str(), |(_, key)| key)
    }
}

/// One combination: for each axis the index of a value.
pub(crate) type Point = Vec<usize>;

/// All combinations, the last key changing fastest, or `count` of them at random, in the same order.
pub(crate) fn points(axes: &[Axis], count: Option<usize>, seed: u64) -> Vec<Point> {
    let mut points: Vec<Point> = vec![Vec::new()];
    for axis in axes {
        let further = |point: Point| {
            (0..axis.values.len()).map(move |value| point.iter().copied().chain([value]).collect::<Point>())
        };
        points = points.into_iter().flat_map(further).collect();
    }
    match count {
        Some(count) if count < points.len() => {
            let (_, drawn) = split_indices(points.len(), count, seed);
            drawn.into_iter().map(|at| points[at].clone()).collect()
        }
        _ => points,
    }
}

/// The parts between commas outside of brackets, braces and quotes.
fn pieces(text: &str) -> Vec<String> {
    let mut pieces = vec![String::new()];
    let (mut depth, mut quote) = (0_usize, None);
    for letter in text.chars() {
        match (quote, letter) {
            (Some(open), letter) if open == letter => quote = None,
            (None, '"' | '\'') => quote = Some(letter),
            (None, '[' | '{') => depth += 1,
            (None, ']' | '}') => depth = depth.saturating_sub(1),
            (None, ',') if depth == 0 => {
                pieces.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(piece) = pieces.last_mut() {
            piece.push(letter);
        }
    }
    pieces.into_iter().map(|piece| piece.trim().to_owned()).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn axis(text: &str) -> Axis {
        Axis::parse(text).unwrap()
    }

    #[test]
    fn commas_inside_a_value_do_not_end_it() {
        let kernels = axis(r#"kernel={ name = "rbf", sigma = 5 }, { name = "cosine" },[1,2],"a,b""#);
        assert_eq!(kernels.key, "kernel");
        assert_eq!(
            kernels.values,
            [r#"{ name = "rbf", sigma = 5 }"#, r#"{ name = "cosine" }"#, "[1,2]", r#""a,b""#]
        );
        for wrong in ["lambda", "=1", "lambda=", "lambda=1,,2", "lambda=1,1"] {
            assert!(Axis::parse(wrong).unwrap_err().is::<crate::exit::Usage>(), "{wrong}");
        }
        assert!(Axis::all(&["a=1".into(), "a=2".into()]).is_err());
        let many: Vec<String> = (0..9).map(|key| format!("k{key}=1,2,3,4,5,6,7,8,9,10")).collect();
        let text = Axis::all(&many).unwrap_err().to_string();
        assert!(text.contains("more than 1000000 combinations"), "{text}");
    }

    #[test]
    fn a_variant_is_left_out_of_a_short_key() {
        assert_eq!(axis("arm.Fair-CCLK.objective.lambda=1").short(), "objective.lambda");
        assert_eq!(axis("train.batch=1").short(), "train.batch");
    }

    #[test]
    fn every_combination_comes_once_and_a_draw_is_some_of_them() {
        let axes = [axis("a=1,2"), axis("b=1,2,3")];
        let all = points(&axes, None, 0);
        assert_eq!((all.len(), &all[0], &all[1], &all[3]), (6, &vec![0, 0], &vec![0, 1], &vec![1, 0]));
        let drawn = points(&axes, Some(4), 7);
        assert_eq!((drawn.len(), &drawn), (4, &points(&axes, Some(4), 7)));
        assert!(drawn.iter().all(|point| all.contains(point)) && drawn.is_sorted());
        assert_eq!(points(&axes, Some(9), 7), all);
    }
}
