//! The formula of an objective: lines of text with a few marks. A line may belong to one form only.
//!
//! ```text
//! released  L = 1/(2b) sum_i [ repel{log sum_{j != i} exp s_ij} - attract{s_ii'} ]
//! s_ij = cos(x_i, x_j) / temperature
//! ```
//!
//! A line that begins with the name of a form belongs to that form only; a line without a name belongs to all forms. `attract{...}`
//! and `repel{...}` mark the terms that pull rows together and that push them apart; [`Spec::plain_formula`] drops the marks.
//! Parameters are written by their names. `1/b x` is (1/b) x; ` / ` with spaces divides everything to its left by everything to its
//! right, within a term.

use serde::Serializer;

use super::Spec;

/// The marks of a term that pulls rows together, and of one that pushes them apart.
pub const MARKS: [&str; 2] = ["attract{", "repel{"];

/// A formula without marks, as terminals and documentation show it.
fn plain(formula: &str) -> String {
    let mut text = String::new();
    // For each open brace, whether it belongs to a mark.
    let mut open = Vec::new();
    let mut rest = formula;
    while let Some(next) = rest.chars().next() {
        if let Some(mark) = MARKS.iter().find(|mark| rest.starts_with(**mark)) {
            open.push(true);
            rest = &rest[mark.len()..];
            continue;
        }
        let is_of_mark = match next {
            '{' => {
                open.push(false);
                false
            }
            '}' => open.pop().unwrap_or_default(),
            _ => false,
        };
        if !is_of_mark {
            text.push(next);
        }
        rest = &rest[next.len_utf8()..];
    }
    text
}

/// Writes a formula without marks.
pub(super) fn serialize<S: Serializer>(formula: &str, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&plain(formula))
}

impl Spec {
    /// The formula without marks.
    pub fn plain_formula(&self) -> String {
        plain(self.formula)
    }

    /// The lines of the formula for one of the forms, with marks. An objective with one form has all lines.
    pub fn equations(&self, form: &str) -> Vec<&'static str> {
        let of = |line: &'static str| {
            let (word, rest) = line.split_once(' ')?;
            self.variants.iter().any(|form| form.name == word).then(|| (word, rest.trim_start()))
        };
        let lines = self.formula.lines().map(|line| (of(line), line));
        lines
            .filter_map(|(own, line)| match own {
                Some((name, rest)) => (name == form).then_some(rest),
                None => Some(line),
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::spec::Form;

    #[test]
    fn marks_are_dropped_and_other_braces_stay() {
        let marked = "L = repel{log sum_{j != i} exp s_ij} - attract{s_ii'}";
        assert_eq!(plain(marked), "L = log sum_{j != i} exp s_ij - s_ii'");
    }

    #[test]
    fn a_line_is_of_the_form_that_it_begins_with() {
        const SPEC: Spec = Spec {
            formula: "paper     L = 1/b sum_i l_i\nreleased  L = sum_i l_i\nl_i = s_i",
            variants: &[Form::new("released", ""), Form::new("paper", "")],
            ..Spec::BASE
        };
        assert_eq!(SPEC.equations("paper"), ["L = 1/b sum_i l_i", "l_i = s_i"]);
        assert_eq!(SPEC.equations("released"), ["L = sum_i l_i", "l_i = s_i"]);
        assert_eq!(Spec { variants: &[], ..SPEC }.equations("").len(), 3);
    }
}
