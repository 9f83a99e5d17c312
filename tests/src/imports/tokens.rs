//! Rust source as words and signs, without comments and the contents of literals.

/// Names, `::` as one sign, every other sign for itself; a literal is `"`, but a path in one of an attribute is read.
pub(super) fn tokens(text: &str) -> Vec<String> {
    let letters: Vec<char> = text.chars().collect();
    // Brackets that are open in an attribute.
    let (mut tokens, mut at, mut open) = (Vec::new(), 0, 0_usize);
    let next = |at: usize| letters.get(at).copied().unwrap_or('\0');
    while at < letters.len() {
        match letters[at] {
            '/' if next(at + 1) == '/' => at = line_end(&letters, at),
            '/' if next(at + 1) == '*' => at = comment_end(&letters, at),
            '"' => {
                let end = string_end(&letters, at);
                let text: String = letters[at..end.min(letters.len())].iter().collect();
                match text.trim_matches('"') {
                    path if open > 0 && is_path(path) => tokens.extend(self::tokens(path)),
                    _ => tokens.push("\"".to_owned()),
                }
                at = end;
            }
            '[' if open > 0 || begins_attribute(&tokens) => {
                (open, at) = (open + 1, push(&mut tokens, "[", at + 1));
            }
            ']' if open > 0 => (open, at) = (open - 1, push(&mut tokens, "]", at + 1)),
            '\'' => {
                let is_lifetime = is_letter(next(at + 1)) && next(at + 2) != '\'';
                at = if is_lifetime { word_end(&letters, at + 1) } else { quote_end(&letters, at) };
            }
            ':' if next(at + 1) == ':' => at = push(&mut tokens, "::", at + 2),
            letter if is_letter(letter) => {
                let end = word_end(&letters, at);
                let word: String = letters[at..end].iter().collect();
                at = match (word.as_str(), next(end)) {
                    ("r" | "br" | "cr", '"' | '#') if raw_start(&letters, end).is_some() => {
                        push(&mut tokens, "\"", raw_end(&letters, end))
                    }
                    // A name that is a keyword: `r#type`.
                    ("r", '#') => end + 1,
                    ("b", '\'') => quote_end(&letters, end),
                    _ => push(&mut tokens, &word, end),
                };
            }
            letter if letter.is_whitespace() => at += 1,
            sign => at = push(&mut tokens, &sign.to_string(), at + 1),
        }
    }
    tokens
}

fn push(tokens: &mut Vec<String>, token: &str, end: usize) -> usize {
    tokens.push(token.to_owned());
    end
}

/// True if a bracket after these tokens opens an attribute: `#[` or `#![`.
fn begins_attribute(tokens: &[String]) -> bool {
    match tokens {
        [.., first, last] if last == "!" => first == "#",
        [.., last] => last == "#",
        [] => false,
    }
}

/// True of a path of two parts and more, as `serde` takes it in quotes.
fn is_path(text: &str) -> bool {
    text.contains("::") && text.chars().all(|letter| is_letter(letter) || letter == ':')
}

fn is_letter(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

fn word_end(letters: &[char], start: usize) -> usize {
    start + letters[start..].iter().take_while(|&&letter| is_letter(letter)).count()
}

fn line_end(letters: &[char], start: usize) -> usize {
    start + letters[start..].iter().take_while(|&&letter| letter != '\n').count()
}

fn comment_end(letters: &[char], start: usize) -> usize {
    let (mut at, mut depth) = (start, 0);
    while at < letters.len() {
        match letters[at..] {
            ['/', '*', ..] => (at, depth) = (at + 2, depth + 1),
            ['*', '/', ..] => (at, depth) = (at + 2, depth - 1),
            _ => at += 1,
        }
        if depth == 0 {
            break;
        }
    }
    at
}

fn string_end(letters: &[char], start: usize) -> usize {
    closing(letters, start, '"')
}

fn quote_end(letters: &[char], start: usize) -> usize {
    closing(letters, start, '\'')
}

/// Behind the sign that ends a literal which begins with the same one.
fn closing(letters: &[char], start: usize, sign: char) -> usize {
    let mut at = start + 1;
    while at < letters.len() && letters[at] != sign {
        at += if letters[at] == '\\' { 2 } else { 1 };
    }
    at + 1
}

/// Number of `#` before the quote of a raw string; none if there is no quote.
fn raw_start(letters: &[char], start: usize) -> Option<usize> {
    let marks = letters[start..].iter().take_while(|&&letter| letter == '#').count();
    (letters.get(start + marks) == Some(&'"')).then_some(marks)
}

fn raw_end(letters: &[char], start: usize) -> usize {
    let marks = raw_start(letters, start).unwrap_or_default();
    let end: Vec<char> = std::iter::once('"').chain(std::iter::repeat_n('#', marks)).collect();
    let body = start + marks + 1;
    let length = letters[body..].windows(end.len()).position(|window| window == end);
    length.map_or(letters.len(), |length| body + length + end.len())
}
