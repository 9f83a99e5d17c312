//! The formula of an objective as MathML, for browsers.
//!
//! It reads the text that core has: `x_ij^2`, `sum_{j != i}`, `1/b x` as (1/b) x, ` / ` with spaces, which divides everything to its
//! left by everything to its right within a term, `|x|`, `<x, y>`, and the marks of [`MARKS`]. Parameters stand under their names and
//! become symbols; other words become Greek letters, functions or text.

use simile_core::loss::spec::MARKS;

/// Words that are letters.
const LETTERS: [(&str, &str); 9] = [
    ("alpha", "α"),
    ("beta", "β"),
    ("epsilon", "ε"),
    ("lambda", "λ"),
    ("pi", "π"),
    ("psi", "ψ"),
    ("sigma", "σ"),
    ("tau", "τ"),
    ("theta", "θ"),
];
/// Functions whose argument may stand without brackets.
const FUNCTIONS: [&str; 2] = ["log", "cos"];
const PRIME: &str = "<mo lspace=\"0\" rspace=\"0\">′</mo>";
/// The gap after a word that is a factor.
const GAP: &str = "<mspace width=\"0.17em\"/>";
/// Words in a row of more letters than these are words, not indices.
const INDICES: usize = 3;

/// A parameter by its name: its symbol, or the name where it has none; `None` for other words.
pub(crate) type Symbols<'a> = &'a dyn Fn(&str) -> Option<&'static str>;

/// One line of a formula as an element `math`.
///
/// # Errors
/// A bracket is not closed, or a character has no meaning here.
pub(crate) fn equation(line: &str, symbols: Symbols) -> Result<String, String> {
    let mut reader = Reader { rest: line, before: ' ', symbols };
    let row = reader.row(None)?;
    match reader.rest {
        "" => Ok(format!("<math display=\"block\">{}</math>", row.text)),
        rest => Err(format!("`{rest}` is not understood in `{line}`")),
    }
}

/// A part of a formula. `inner` is that without the brackets around it, where these only hold it together.
struct Part {
    text: String,
    inner: Option<String>,
}

impl Part {
    fn new(text: String) -> Self {
        Self { text, inner: None }
    }

    /// As the one side of a fraction, or an exponent.
    fn bare(self) -> String {
        self.inner.unwrap_or(self.text)
    }
}

struct Reader<'a> {
    rest: &'a str,
    /// The character before the rest.
    before: char,
    symbols: Symbols<'a>,
}

impl<'a> Reader<'a> {
    fn skip(&mut self, bytes: usize) -> &'a str {
        let (text, rest) = self.rest.split_at(bytes);
        self.before = text.chars().next_back().unwrap_or(self.before);
        self.rest = rest;
        text
    }

    /// Skips a text that comes next.
    fn take(&mut self, text: &str) -> bool {
        let comes = self.rest.starts_with(text);
        if comes {
            self.skip(text.len());
        }
        comes
    }

    fn take_while(&mut self, is_wanted: impl Fn(char) -> bool) -> &'a str {
        let end = self.rest.find(|next| !is_wanted(next)).unwrap_or(self.rest.len());
        self.skip(end)
    }

    /// Everything until `end`, which it skips, or until the end of the line.
    fn row(&mut self, end: Option<&str>) -> Result<Part, String> {
        let (mut done, mut term, mut over) = (String::new(), Vec::<Part>::new(), None);
        let flush = |term: &mut Vec<Part>, over: &mut Option<Part>| {
            let mut parts = std::mem::take(term);
            let part = match parts.len() {
                1 => parts.remove(0),
                _ => Part::new(parts.into_iter().map(|part| part.text).collect()),
            };
            match over.take() {
                Some(above) => Part::new(fraction(above, part)),
                None => part,
            }
        };
        loop {
            let spaces = self.take_while(|next| next == ' ').len();
            if end.is_some_and(|end| self.take(end)) {
                break;
            }
            if self.rest.is_empty() {
                match end {
                    None => break,
                    Some(end) => return Err(format!("`{end}` is missing")),
                }
            }
            if spaces > 0 && self.take("/ ") {
                over = Some(flush(&mut term, &mut over));
            } else if self.take("/") {
                let above = term.pop().ok_or("nothing stands before `/`")?;
                let below = self.factor()?;
                term.push(Part::new(fraction(above, below)));
            } else if let Some(sign) = self.sign() {
                done += &flush(&mut term, &mut over).text;
                done += &sign;
            } else {
                term.push(self.factor()?);
            }
        }
        let last = flush(&mut term, &mut over);
        Ok(if done.is_empty() { last } else { Part::new(done + &last.text) })
    }

    /// A sign between terms.
    fn sign(&mut self) -> Option<String> {
        const SIGNS: [(&str, &str); 13] = [
            ("!=", "≠"),
            ("..", "…"),
            ("=", "="),
            ("+", "+"),
            ("-", "−"),
            ("~", "∼"),
            (";", ";"),
            (".", "·"),
            (">", "&gt;"),
            ("in ", "∈"),
            ("< ", "&lt;"),
            ("<", "&lt;"),
            ("|", "|"),
        ];
        if self.take(",") {
            let gap = if self.rest.starts_with("  ") { "<mspace width=\"1.5em\"/>" } else { "" };
            return Some(format!("<mo>,</mo>{gap}"));
        }
        if self.opens_bracket() {
            return None;
        }
        let (_, sign) = SIGNS.iter().find(|(text, _)| self.take(text))?;
        Some(format!("<mo>{sign}</mo>"))
    }

    /// True if `<` or `|` comes next and opens a bracket: something follows it, and no operand stands before it.
    fn opens_bracket(&self) -> bool {
        let after = self.rest.chars().nth(1).unwrap_or(' ');
        let ends_operand = self.before.is_alphanumeric() || "}')]|".contains(self.before);
        self.rest.starts_with(['<', '|']) && after != ' ' && !ends_operand
    }

    /// An operand with its indices and exponents, and the brackets right after it.
    fn factor(&mut self) -> Result<Part, String> {
        for (mark, class) in MARKS.into_iter().zip(["attract", "repel"]) {
            if self.take(mark) {
                let row = self.row(Some("}"))?;
                return Ok(Part::new(format!("<mrow class=\"{class}\">{}</mrow>", row.text)));
            }
        }
        if self.take("sum_") {
            return Ok(Part::new(format!("<munder><mo>∑</mo>{}</munder>", self.script()?)));
        }
        if self.take("exp") {
            self.take(" ");
            let exponent = self.factor()?.bare();
            return Ok(Part::new(format!("<msup><mi>e</mi><mrow>{exponent}</mrow></msup>")));
        }
        if let Some(name) = FUNCTIONS.into_iter().find(|name| self.rest.starts_with(&format!("{name} "))) {
            self.skip(name.len() + 1);
            return Ok(Part::new(format!("<mi>{name}</mi><mo>\u{2061}</mo>{GAP}")));
        }
        let operand = self.operand()?;
        let scripted = self.scripts(operand)?;
        if self.rest.starts_with(['(', '[']) {
            let argument = self.factor()?;
            return Ok(Part::new(format!("<mrow>{}{}</mrow>", scripted.text, argument.text)));
        }
        Ok(scripted)
    }

    fn operand(&mut self) -> Result<Part, String> {
        const BRACKETS: [[&str; 4]; 4] =
            [["(", ")", "(", ")"], ["[", "]", "[", "]"], ["<", ">", "⟨", "⟩"], ["|", "|", "|", "|"]];
        for [open, close, left, right] in BRACKETS {
            if (!matches!(open, "<" | "|") || self.opens_bracket()) && self.take(open) {
                let inner = self.row(Some(close))?.text;
                // Brackets grow with fractions and sums alone: without a font for mathematics they grow far too much.
                let is_high = ["<mfrac", "<munder"].iter().any(|element| inner.contains(element));
                let fence = |sign: &str| format!("<mo fence=\"true\" stretchy=\"{is_high}\">{sign}</mo>");
                let text = format!("<mrow>{}{inner}{}</mrow>", fence(left), fence(right));
                return Ok(Part { text, inner: matches!(open, "(" | "[").then_some(inner) });
            }
        }
        let digits = self.take_while(|next| next.is_ascii_digit());
        if !digits.is_empty() {
            let text = match self.take("e-") {
                true => format!(
                    "<msup><mn>10</mn><mn>−{}</mn></msup>",
                    self.take_while(|next| next.is_ascii_digit())
                ),
                false => format!("<mn>{digits}</mn>"),
            };
            return Ok(Part::new(text));
        }
        let start = self.rest;
        let name = self.take_while(|next| next.is_ascii_alphanumeric() || next == '_');
        // A name such as `sigma_x` without a symbol is a letter with an index.
        let base = name.split('_').next().unwrap_or(name);
        if let Some(symbol) = (self.symbols)(name).filter(|symbol| *symbol != name || letter(base).is_none())
        {
            let gap = if symbol == name && name.len() > 1 { GAP } else { "" };
            return Ok(Part::new(format!("<mi>{symbol}</mi>{gap}")));
        }
        let letters = name.find(|next: char| !next.is_ascii_alphabetic()).unwrap_or(name.len());
        if letters == 0 {
            return Err(format!("`{start}` is not understood"));
        }
        self.rest = &start[letters..];
        let word = &start[..letters];
        self.before = 'a';
        let is_call = self.rest.starts_with(['(', '_', '^', '[']);
        let text = match letter(word) {
            Some(letter) => format!("<mi>{letter}</mi>"),
            None if letters == 1 || is_call => format!("<mi>{word}</mi>"),
            None => format!("<mtext>\u{a0}{word}\u{a0}</mtext>"),
        };
        Ok(Part::new(text))
    }

    /// The operand with the primes, indices and exponents that follow it.
    fn scripts(&mut self, operand: Part) -> Result<Part, String> {
        let primes = self.take_while(|next| next == '\'').len();
        let operand = match primes {
            0 => operand,
            _ => Part::new(format!("<mrow>{}{}</mrow>", operand.text, PRIME.repeat(primes))),
        };
        let below = if self.take("_") { Some(self.script()?) } else { None };
        let above = if self.take("^") { Some(self.script()?) } else { None };
        let base = &operand.text;
        Ok(match (below, above) {
            (None, None) => operand,
            (Some(below), None) => Part::new(format!("<msub>{base}{below}</msub>")),
            (None, Some(above)) => Part::new(format!("<msup>{base}{above}</msup>")),
            (Some(below), Some(above)) => Part::new(format!("<msubsup>{base}{below}{above}</msubsup>")),
        })
    }

    /// The group in braces after `_` or `^`, or the letters, each an index, or the number.
    fn script(&mut self) -> Result<String, String> {
        if self.take("{") {
            return Ok(format!("<mrow>{}</mrow>", self.row(Some("}"))?.text));
        }
        let sign = if self.take("-") { "<mo>−</mo>" } else { "" };
        let word = self.take_while(|next| next.is_ascii_alphanumeric());
        let parts = match (self.symbols)(word).or(letter(word)) {
            Some(symbol) => format!("<mi>{symbol}</mi>"),
            None if word.len() > INDICES => format!("<mtext>{word}</mtext>"),
            None => word.chars().map(index).collect(),
        };
        let primes = PRIME.repeat(self.take_while(|next| next == '\'').len());
        if word.is_empty() {
            return Err(format!("an index is missing before `{}`", self.rest));
        }
        Ok(format!("<mrow>{sign}{parts}{primes}</mrow>"))
    }
}

fn index(character: char) -> String {
    let element = if character.is_ascii_digit() { "mn" } else { "mi" };
    format!("<{element}>{character}</{element}>")
}

fn letter(word: &str) -> Option<&'static str> {
    LETTERS.iter().find(|(name, _)| *name == word).map(|(_, letter)| *letter)
}

fn fraction(above: Part, below: Part) -> String {
    format!("<mfrac><mrow>{}</mrow><mrow>{}</mrow></mfrac>", above.bare(), below.bare())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use simile_core::loss;

    use super::*;

    fn inner(line: &str) -> String {
        let symbols = |name: &str| match name {
            "temperature" => Some("τ"),
            "mix" => Some("mix"),
            "sigma_x" => Some("sigma_x"),
            _ => None,
        };
        let math = equation(line, &symbols).unwrap();
        math.strip_prefix("<math display=\"block\">").unwrap().strip_suffix("</math>").unwrap().to_owned()
    }

    #[test]
    fn indices_are_letters_and_names_are_symbols() {
        let expected = format!("<msub><mi>s</mi><mrow><mi>i</mi><mi>i</mi>{PRIME}</mrow></msub>");
        assert_eq!(inner("s_ii'"), expected);
        assert_eq!(inner("temperature mix alpha"), format!("<mi>τ</mi><mi>mix</mi>{GAP}<mi>α</mi>"));
        assert_eq!(inner("sigma_x^2"), inner("sigma_{x}^{2}"));
        assert_eq!(inner("C_kl^-1").matches("<mo>−</mo>").count(), 1);
        assert!(inner("R_orthogonal").contains("<mtext>orthogonal</mtext>"));
        assert_eq!(inner("1e-9"), "<msup><mn>10</mn><mn>−9</mn></msup>");
    }

    #[test]
    fn a_slash_divides_factors_and_with_spaces_terms() {
        let of = |above: &str, below: &str| {
            format!("<mfrac><mrow>{}</mrow><mrow>{}</mrow></mfrac>", inner(above), inner(below))
        };
        assert_eq!(inner("a 1/b c"), format!("{}{}{}", inner("a"), of("1", "b"), inner("c")));
        assert_eq!(inner("1/(2b) c"), of("1", "2b") + &inner("c"));
        assert_eq!(inner("a b / c d"), of("a b", "c d"));
        assert_eq!(inner("1 - (a + b) / c"), format!("{}{}", inner("1 -"), of("a + b", "c")));
    }

    #[test]
    fn bars_and_angles_are_brackets_where_they_stand_around_something() {
        let bars = inner("|a - b|^2");
        assert!(bars.starts_with("<msup>") && bars.matches("fence=").count() == 2, "{bars}");
        assert!(inner("<x, y>").contains('⟩'));
        assert!(inner("sum_{i<j} b").contains("<mo>&lt;</mo>"));
        assert!(inner("p(. | b)").contains("<mo>|</mo>"));
    }

    #[test]
    fn marks_are_classes() {
        assert_eq!(inner("repel{a} - attract{b}"), {
            format!(
                "<mrow class=\"repel\">{}</mrow><mo>−</mo><mrow class=\"attract\">{}</mrow>",
                inner("a"),
                inner("b")
            )
        });
    }

    #[test]
    fn what_is_not_understood_is_an_error() {
        for line in ["(a", "a_", "/b", "a }", "€"] {
            equation(line, &|_| None).unwrap_err();
        }
    }

    #[test]
    fn every_formula_is_understood() {
        for spec in loss::specs() {
            let symbols = |name: &str| spec.parameter(name).map(|one| one.symbol.unwrap_or(one.name));
            let forms = spec.variants.iter().map(|form| form.name).chain([""]);
            for line in forms.flat_map(|form| spec.equations(form)) {
                let math = equation(line, &symbols).unwrap();
                let text: String =
                    math.split('<').filter_map(|part| part.split_once('>')).map(|(_, text)| text).collect();
                let names = spec.parameters.iter().fold(text, |text, one| text.replace(one.name, ""));
                assert!(!names.contains(['_', '^', '{', '}', '/']), "{}: {names}", spec.name);
                let closing = math.matches("</").count();
                assert_eq!(
                    math.matches('<').count() - math.matches("/>").count(),
                    2 * closing,
                    "{line}: {math}"
                );
            }
        }
    }
}
