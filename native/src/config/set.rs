//! `--set key=value`: changes to a recipe from the command line.

use anyhow::{Error, Result};
use toml::{Table, Value};

use super::key_path::{FORMER_VARIANTS, VARIANTS, dotted, key_of, path_of};
use super::reader_error::{MISSING_KEY, ReaderError, ValueType};
use super::recipe::Recipe;
use crate::exit::{Subject, Usage, usage_about};

/// The recipe with keys changed, one after the other. The combination is checked at the end, so that keys may come in
/// any order; keys that give no valid recipe one by one, such as those of a missing section, are changed together.
///
/// # Errors
/// A usage error that names the setting: as [`apply`] and [`apply_section`], or the first one with which the recipe is not valid.
pub(super) fn apply_all(recipe: Recipe, settings: &[String]) -> Result<Recipe> {
    let fault = |recipe: &Recipe| recipe.check_given().err().map(|fault| fault.reason);
    let mut steps: Vec<(String, Recipe)> = Vec::new();
    let mut rest = settings.to_vec();
    while let Some(first) = rest.first().cloned() {
        let last = steps.last().map_or(&recipe, |(_, last)| last);
        let changed = match apply(last, &rest[..1]) {
            Ok(changed) => {
                rest.remove(0);
                changed
            }
            Err(error) => apply_section(last, &mut rest, error)?,
        };
        steps.push((first, changed));
    }
    let Some((_, changed)) = steps.last() else { return Ok(recipe) };
    // The recipe of a run may have keys that are ignored; no setting causes that fault.
    let Some(reason) = fault(changed).filter(|reason| fault(&recipe).as_ref() != Some(reason)) else {
        return Ok(changed.clone());
    };
    let wrong = steps.iter().rev().take_while(|(_, recipe)| fault(recipe).as_ref() == Some(&reason)).last();
    let setting = wrong.map_or("", |(setting, _)| setting.as_str());
    Err(refused(setting, &reason))
}

/// The recipe with as many settings of the first one's section changed together as it takes; `settings` keeps the others.
///
/// # Errors
/// A usage error: that of the first setting `alone`; if it lacks a key that others may give, that of the first one of these that is wrong.
fn apply_section(recipe: &Recipe, settings: &mut Vec<String>, alone: Error) -> Result<Recipe> {
    let section = |setting: &String| path_of(key_of(setting)).first().map(ToString::to_string);
    let own = settings.first().and_then(section);
    let (mut together, others): (Vec<String>, Vec<String>) =
        settings.iter().cloned().partition(|setting| section(setting) == own);
    let is_incomplete =
        |error: &Error| reason_of(error).is_some_and(|reason| reason.starts_with(MISSING_KEY));
    let mut fault = alone;
    for count in 2..=together.len() {
        match apply(recipe, &together[..count]) {
            Ok(changed) => {
                *settings = together.split_off(count);
                settings.extend(others);
                return Ok(changed);
            }
            Err(error) if is_incomplete(&fault) && !is_incomplete(&error) => {
                fault = match reason_of(&error) {
                    Some(reason) => refused(&together[count - 1], reason),
                    None => error,
                };
            }
            Err(_) => {}
        }
    }
    Err(fault)
}

/// The reason of an error of [`refused`].
fn reason_of(error: &Error) -> Option<&str> {
    match error.downcast_ref::<Usage>()?.subject.as_ref()? {
        Subject::Setting { reason, .. } => Some(reason),
        Subject::ObjectiveKey(_) | Subject::MethodKey(_) => None,
    }
}

/// The usage error of a setting.
fn refused(setting: &str, reason: &str) -> Error {
    let subject = Subject::Setting { setting: setting.to_owned(), reason: reason.to_owned() };
    usage_about(subject, format_args!("--set {setting}: {reason}"))
}

/// The recipe with some keys changed. A key is dotted; a variant is named by its name: `variant.fair-cclk.objective.lambda`. A
/// missing section is created.
///
/// # Errors
/// A usage error that names the first setting: a missing `=`, an unknown key, a value of the wrong type.
fn apply(recipe: &Recipe, settings: &[String]) -> Result<Recipe> {
    let [setting, others @ ..] = settings else { return Ok(recipe.clone()) };
    let mut table = Table::try_from(recipe)?;
    let fail = |reason: String| refused(setting, &reason);
    let (path, text) = parts(setting).map_err(fail)?;
    if path == ["augment", "preset"] {
        // A preset is the base of the augmentation, and so replaces the whole section of the recipe.
        table.insert("augment".into(), Value::Table(Table::new()));
    }
    // In a copy, because a variant whose name is removed cannot be found again.
    let old = place(&mut table.clone(), &path, Value::Boolean(false)).map_err(fail)?;
    let (first, second) = readings(text.trim(), old.as_ref());
    let name = if first.is_str() { text.trim() } else { "NAME" };
    let section_by_name = NamedSection::of(&table, &path, old.as_ref());
    let read = |value: Value| {
        let mut table = table.clone();
        place(&mut table, &path, value).map_err(ReaderError::Other)?;
        let placed = others.iter().try_for_each(|other| put_as_read(&mut table, other));
        placed.map_err(ReaderError::Other)?;
        section_by_name.read(table)
    };
    let explained = |error: ReaderError| match (error.unknown_key(), path.as_slice()) {
        (Some(key), [only]) if key == *only => within(&table, only).unwrap_or_else(|| error.to_string()),
        (Some(key), _) if section_by_name.has(&table, key) => format!(
            "{error}; it is a key of the former `{}`: set the whole section, as in --set '{}={{ name = \"{}\" }}'",
            old.as_ref().and_then(Value::as_str).unwrap_or_default(),
            section_by_name.section.join("."),
            text.trim().trim_matches('"')
        ),
        _ if matches!(error, ReaderError::WrongType { expected: Some(ValueType::Section), .. }) => {
            match in_section(recipe, &path, name) {
                Some(remedy) => format!("{error}; {remedy}"),
                None => error.to_string(),
            }
        }
        _ => error.to_string(),
    };
    read(first).or_else(|error| second.map_or(Err(error), read)).map_err(|error| fail(explained(error)))
}

/// A section whose `name`, which a setting replaces, determines its keys: `[optimizer]`, `[method]`, ...
struct NamedSection<'a> {
    /// The path of the section.
    section: &'a [&'a str],
    /// The keys of its former name with their defaults; none if a section of that name alone is not complete.
    defaults: Table,
}

impl<'a> NamedSection<'a> {
    /// The section whose `name` a setting replaces; an empty path if the setting is of another key.
    fn of(recipe: &Table, path: &'a [&'a str], former: Option<&Value>) -> Self {
        let (section, former) = match (path, former) {
            ([section @ .., "name"], Some(former)) if !section.is_empty() => (section, former.clone()),
            _ => return Self { section: &[], defaults: Table::new() },
        };
        let alone = Table::from_iter([("name".to_owned(), former)]);
        let mut table = recipe.clone();
        let placed = place(&mut table, section, Value::Table(alone)).ok();
        let mut written = placed
            .and_then(|_| Recipe::from_table(table).ok())
            .and_then(|former_recipe| Table::try_from(&former_recipe).ok())
            .unwrap_or_default();
        let defaults = self::section(&mut written, section).cloned();
        Self { section, defaults: defaults.unwrap_or_default() }
    }

    /// The recipe of a table. Keys that the new name does not know are left out if they have the defaults of the former name: they
    /// are in the table because a recipe is written with all of its keys.
    fn read(&self, mut table: Table) -> Result<Recipe, ReaderError> {
        loop {
            let error = match Recipe::from_table(table.clone()) {
                Ok(recipe) => return Ok(recipe),
                Err(error) => error,
            };
            let default = error.unknown_key().and_then(|key| self.defaults.get_key_value(key));
            match (default, section(&mut table, self.section)) {
                (Some((key, default)), Ok(section)) if section.get(key) == Some(default) => {
                    section.remove(key);
                }
                _ => return Err(error),
            }
        }
    }

    /// True if the section has a key.
    fn has(&self, recipe: &Table, key: &str) -> bool {
        !self.section.is_empty()
            && section(&mut recipe.clone(), self.section).is_ok_and(|section| section.contains_key(key))
    }
}

/// The setting for a value that was given to a whole section, in words: that of its name, where this determines its keys. None if the
/// user chooses the names of its keys.
fn in_section(recipe: &Recipe, path: &[&str], name: &str) -> Option<String> {
    let section = path.join(".");
    if let Some(keys) = recipe.known_keys(&section) {
        return Some(format!("its keys are {}", keys.join(", ")));
    }
    // The reader takes an objective of any name, and has the variants in a list, so that it tells the names of neither.
    let has_name = path.ends_with(&["objective"])
        || path.starts_with(&[VARIANTS])
        || recipe.keys_by_name(&section).is_some();
    has_name.then(|| format!("write {section}.name={name}"))
}

/// The sections that have the key, in words, for a setting without a section.
fn within(table: &Table, key: &str) -> Option<String> {
    let has = |section: &Value| section.as_table().is_some_and(|section| section.contains_key(key));
    let full_keys: Vec<String> =
        table.iter().filter(|(_, section)| has(section)).map(|(name, _)| format!("`{name}.{key}`")).collect();
    (!full_keys.is_empty())
        .then(|| format!("`{key}` stands in a section; did you mean {}?", full_keys.join(" or ")))
}

/// The path of a setting's key, and the text of its value.
fn parts(setting: &str) -> Result<(Vec<&str>, &str), String> {
    let (key, text) = setting.split_once('=').ok_or("expected KEY=VALUE, such as `train.batch=128`")?;
    Ok((path_of(key), text))
}

/// Sets the value at the path of a setting, in its first reading.
fn put_as_read(table: &mut Table, setting: &str) -> Result<(), String> {
    let (path, text) = parts(setting)?;
    place(table, &path, readings(text.trim(), None).0).map(drop)
}

/// Sets the value at a path; returns the previous one. Missing sections are created: the reader of the recipe refuses
/// unknown ones.
fn place(table: &mut Table, path: &[&str], value: Value) -> Result<Option<Value>, String> {
    refuse_shared_objective(table, path)?;
    match path.split_last() {
        Some((&last, parents)) if !last.is_empty() => {
            Ok(section(table, parents)?.insert(last.to_owned(), value))
        }
        _ => Err("the key is empty".into()),
    }
}

/// Refuses a key of the recipe's objective where each variant has its own.
fn refuse_shared_objective(table: &Table, path: &[&str]) -> Result<(), String> {
    match (path, table.get(VARIANTS)) {
        (["objective", _, ..], Some(Value::Array(variants))) if !table.contains_key("objective") => {
            Err(format!(
                "the recipe has variants, each with its objective; write `{VARIANTS}.NAME.{}`; known: {}",
                path.join("."),
                names_of(variants).join(", ")
            ))
        }
        _ => Ok(()),
    }
}

/// The section at a path, which is created if it is missing.
fn section<'t>(table: &'t mut Table, path: &[&str]) -> Result<&'t mut Table, String> {
    let (mut table, mut rest) = (table, path);
    while let [name, inner @ ..] = rest {
        if *name == VARIANTS && !table.contains_key(*name) {
            return Err("the recipe has no variants; its objective is `objective`".into());
        }
        let entry = table.entry(*name).or_insert_with(|| Value::Table(Table::new()));
        (table, rest) = match entry {
            Value::Table(section) => (section, inner),
            Value::Array(variants) if variants.iter().any(Value::is_table) => variant(variants, inner)?,
            Value::Array(_) => {
                return Err(format!("`{name}` is a list, which is set as a whole, as in `{name}=[...]`"));
            }
            _ => return Err(format!("`{name}` is a value, not a section")),
        };
    }
    Ok(table)
}

/// The variant that a key belongs to, out of those of such names; none if it belongs to the recipe or to no known one.
pub(crate) fn variant_of<'n>(key: &str, names: &'n [String]) -> Option<&'n str> {
    match dotted(key).as_slice() {
        [VARIANTS | FORMER_VARIANTS, inner @ ..] => {
            longest(names, inner).and_then(|(at, _)| names.get(at)).map(String::as_str)
        }
        _ => None,
    }
}

/// The names of variants, each at its index.
fn names_of(variants: &[Value]) -> Vec<String> {
    let name = |variant: &Value| variant.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
    variants.iter().map(name).collect()
}

/// The index of the name that a path begins with, and the parts of the path that it takes. A name may have points, so that the longest
/// one counts.
fn longest(names: &[String], path: &[&str]) -> Option<(usize, usize)> {
    (1..=path.len()).rev().find_map(|parts| {
        let name = path[..parts].join(".");
        Some((names.iter().position(|known| *known == name)?, parts))
    })
}

/// The variant whose name a path begins with, and the rest of the path.
fn variant<'a, 'p>(
    variants: &'a mut [Value],
    path: &'p [&'p str],
) -> Result<(&'a mut Table, &'p [&'p str]), String> {
    let names = names_of(variants);
    if let Some((at, parts)) = longest(&names, path)
        && let Some(variant) = variants.get_mut(at).and_then(Value::as_table_mut)
    {
        return Ok((variant, &path[parts..]));
    }
    Err(format!(
        "`{VARIANTS}.{}` does not begin with the name of a variant, as in `{VARIANTS}.NAME.objective.lambda`; known: {}",
        path.join("."),
        names.join(", ")
    ))
}

/// A value in TOML, or a bare word, which is a string. If it replaces a string but looks like a number, it has a second
/// reading as a string.
fn readings(text: &str, old: Option<&Value>) -> (Value, Option<Value>) {
    let parsed =
        toml::from_str::<Table>(&format!("value = {text}")).ok().and_then(|mut table| table.remove("value"));
    let string = Value::String(text.to_owned());
    match (parsed, old) {
        (Some(Value::String(string)), _) => (Value::String(string), None),
        (Some(value), Some(Value::String(_))) => (value, Some(string)),
        (Some(value), _) => (value, None),
        (None, _) => (string, None),
    }
}
