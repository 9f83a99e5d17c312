//! Mutations of valid files that target the fields a parser trusts: lengths, counts, repeats, words and numbers out of
//! place.

use std::ops::Range;

use rand::RngExt as _;
use rand_chacha::ChaCha8Rng;

/// A mutated file is at most this many bytes longer than its seed.
const MOST_ADDED: usize = 1 << 16;
/// Integers at the edges of their types.
const EDGES: [u64; 16] = [
    0,
    1,
    2,
    0x7f,
    0x80,
    0xff,
    0x7fff,
    0x8000,
    0xffff,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    1 << 40,
    i64::MAX as u64,
    1 << 63,
    u64::MAX,
];
/// Numbers as text.
const NUMBERS: [&str; 20] = [
    "0",
    "-0",
    "-1",
    "1",
    "2",
    "255",
    "256",
    "65536",
    "4294967296",
    "9223372036854775807",
    "18446744073709551615",
    "1e12",
    "1e300",
    "1e-320",
    "1e999",
    "NaN",
    "inf",
    "nan",
    "null",
    "0.5",
];

/// A mutation of one of `seeds` in one to six places; `words` are the keywords of its format.
pub(super) fn mutated(seeds: &[Vec<u8>], words: &[&[u8]], draw: &mut ChaCha8Rng) -> Vec<u8> {
    let mut bytes = pick(seeds, draw).cloned().unwrap_or_default();
    let most = bytes.len() + MOST_ADDED;
    let mut changes = 1;
    while changes < 6 && draw.random_bool(0.5) {
        changes += 1;
    }
    for _ in 0..changes {
        change(&mut bytes, seeds, words, draw);
        bytes.truncate(most);
    }
    bytes
}

/// One change; those to bits and to integers, which reach most of a parser, come twice as often as others.
fn change(bytes: &mut Vec<u8>, seeds: &[Vec<u8>], words: &[&[u8]], draw: &mut ChaCha8Rng) {
    match draw.random_range(0..14) {
        0 | 1 => flip_bit(bytes, draw),
        2 => replace_byte(bytes, draw),
        3 | 4 => integer(bytes, draw),
        5 => cut_end(bytes, draw),
        6 => remove_part(bytes, draw),
        7 => repeat_part(bytes, draw),
        8 => insert_noise(bytes, draw),
        9 => continue_with_another(bytes, seeds, draw),
        10 => insert_word(bytes, words, draw),
        11 => overwrite_with_word(bytes, words, draw),
        12 => number(bytes, draw),
        _ => swap_parts(bytes, draw),
    }
}

fn flip_bit(bytes: &mut [u8], draw: &mut ChaCha8Rng) {
    if let Some(byte) = place(bytes, draw).and_then(|at| bytes.get_mut(at)) {
        *byte ^= 1 << draw.random_range(0..8);
    }
}

fn replace_byte(bytes: &mut [u8], draw: &mut ChaCha8Rng) {
    if let Some(byte) = place(bytes, draw).and_then(|at| bytes.get_mut(at)) {
        *byte = draw.random();
    }
}

fn cut_end(bytes: &mut Vec<u8>, draw: &mut ChaCha8Rng) {
    let at = draw.random_range(0..=bytes.len());
    bytes.truncate(at);
}

fn remove_part(bytes: &mut Vec<u8>, draw: &mut ChaCha8Rng) {
    let part = range(bytes, draw);
    bytes.drain(part);
}

fn repeat_part(bytes: &mut Vec<u8>, draw: &mut ChaCha8Rng) {
    let part = range(bytes, draw);
    let times = 1 << draw.random_range(0..7_u32);
    let copy = bytes[part].repeat(times.min(1 + MOST_ADDED / bytes.len().max(1)));
    insert(bytes, &copy, draw);
}

fn insert_noise(bytes: &mut Vec<u8>, draw: &mut ChaCha8Rng) {
    let count = draw.random_range(1..=16);
    let random: Vec<u8> = (0..count).map(|_| draw.random()).collect();
    insert(bytes, &random, draw);
}

/// The beginning of the file with the end of another one.
fn continue_with_another(bytes: &mut Vec<u8>, seeds: &[Vec<u8>], draw: &mut ChaCha8Rng) {
    if let Some(other) = pick(seeds, draw) {
        let (keep, from) = (draw.random_range(0..=bytes.len()), draw.random_range(0..=other.len()));
        bytes.truncate(keep);
        bytes.extend(&other[from..]);
    }
}

fn insert_word(bytes: &mut Vec<u8>, words: &[&[u8]], draw: &mut ChaCha8Rng) {
    if let Some(word) = pick(words, draw) {
        insert(bytes, word, draw);
    }
}

fn overwrite_with_word(bytes: &mut Vec<u8>, words: &[&[u8]], draw: &mut ChaCha8Rng) {
    if let (Some(word), Some(at)) = (pick(words, draw), place(bytes, draw)) {
        let end = (at + word.len()).min(bytes.len());
        bytes.splice(at..end, word.iter().copied());
    }
}

/// Exchanges two parts, unless they overlap.
fn swap_parts(bytes: &mut Vec<u8>, draw: &mut ChaCha8Rng) {
    let (a, b) = (range(bytes, draw), range(bytes, draw));
    let (first, second) = if a.start <= b.start { (a, b) } else { (b, a) };
    if first.end <= second.start {
        *bytes = [
            &bytes[..first.start],
            &bytes[second.clone()],
            &bytes[first.end..second.start],
            &bytes[first],
            &bytes[second.end..],
        ]
        .concat();
    }
}

/// Writes an integer at the edge of a type, or near the file's own length, in either order of bytes.
fn integer(bytes: &mut [u8], draw: &mut ChaCha8Rng) {
    let Some(at) = place(bytes, draw) else { return };
    let length = bytes.len() as u64;
    let near = [length, length.wrapping_sub(1), length + 1, length / 2];
    let value = if draw.random_bool(0.2) { pick(&near, draw) } else { pick(&EDGES, draw) };
    let value = value.copied().unwrap_or_default();
    let width = 1 << draw.random_range(0..4_u32);
    let mut written = value.to_le_bytes()[..width].to_vec();
    if draw.random() {
        written.reverse();
    }
    bytes[at..].iter_mut().zip(written).for_each(|(byte, new)| *byte = new);
}

/// Replaces a number that is written as text.
fn number(bytes: &mut Vec<u8>, draw: &mut ChaCha8Rng) {
    let Some(at) = place(bytes, draw) else { return };
    let is_digit = |byte: &u8| byte.is_ascii_digit();
    let Some(start) = bytes[at..].iter().position(is_digit).map(|ahead| at + ahead) else { return };
    let length = bytes[start..].iter().take_while(|byte| is_digit(byte)).count();
    let new = pick(&NUMBERS, draw).map_or(&b""[..], |number| number.as_bytes());
    bytes.splice(start..start + length, new.iter().copied());
}

fn insert(bytes: &mut Vec<u8>, new: &[u8], draw: &mut ChaCha8Rng) {
    let at = draw.random_range(0..=bytes.len());
    bytes.splice(at..at, new.iter().copied());
}

/// A random position; positions at the beginning, where headers are, come more often.
fn place(bytes: &[u8], draw: &mut ChaCha8Rng) -> Option<usize> {
    let most = if draw.random_bool(0.3) { bytes.len().min(64) } else { bytes.len() };
    (most > 0).then(|| draw.random_range(0..most))
}

/// A random range, short more often than long.
fn range(bytes: &[u8], draw: &mut ChaCha8Rng) -> Range<usize> {
    let start = draw.random_range(0..=bytes.len());
    let longest = 1_usize << draw.random_range(0..16_u32);
    start..(start + draw.random_range(0..=longest)).min(bytes.len())
}

fn pick<'a, T>(all: &'a [T], draw: &mut ChaCha8Rng) -> Option<&'a T> {
    (!all.is_empty()).then(|| &all[draw.random_range(0..all.len())])
}
