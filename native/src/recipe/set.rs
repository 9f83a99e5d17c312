//! `--set key=value`: changes to a recipe from the command line.

use anyhow::Result;
use toml::{Table, Value};

use super::Recipe;
use super::explain::suggestion;
use crate::exit::usage;

/// The recipe with keys changed, one after the other. Whether they go together is seen at the end, so that they may come
/// in any order.
///
/// # Errors
/// A usage error that names the setting: as [`set`], or the first one since which the recipe cannot be run.
pub(super) fn all(mut recipe: Recipe, settings: &[String]) -> Result<Recipe> {
    let mut wrong: Option<(&String, String)> = None;
    for setting in settings {
        recipe = set(&recipe, setting)?;
        wrong = match (recipe.check(), wrong) {
            (Ok(()), _) => None,
            (Err(fault), Some((since, reason))) if fault.reason == reason => Some((since, reason)),
            (Err(fault), _) => Some((setting, fault.reason)),
        };
    }
    match wrong {
        None => Ok(recipe),
        Some((setting, reason)) => Err(usage(format_args!("--set {setting}: {reason}"))),
    }
}

/// The recipe with one key changed. `key` is dotted; an arm is named by its name: `arm.fair-cclk.objective.lambda`.
///
/// # Errors
/// A missing `=`, an unknown key, a value of the wrong type.
fn set(recipe: &Recipe, setting: &str) -> Result<Recipe> {
    let fail = |reason: String| usage(format_args!("--set {setting}: {reason}"));
    let Some((key, text)) = setting.split_once('=') else {
        return Err(fail("expected KEY=VALUE, such as `train.batch=128`".into()));
    };
    let mut table = Table::try_from(recipe)?;
    let path: Vec<&str> = key.trim().split('.').collect();
    if path == ["augment", "preset"] {
        // A preset is where views start from, and so replaces all that the recipe says of them.
        table.insert("augment".into(), Value::Table(Table::new()));
    }
    let old = place(&mut table, &path, Value::Boolean(false)).map_err(fail)?;
    let (first, second) = readings(text.trim(), old.as_ref());
    let read = |value: Value| {
        let mut table = table.clone();
        place(&mut table, &path, value)?;
        Recipe::from_table(table)
    };
    read(first).or_else(|reason| second.map_or(Err(reason), read)).map_err(fail)
}

/// Puts a value where the path leads; returns the one that was there.
fn place(table: &mut Table, path: &[&str], value: Value) -> Result<Option<Value>, String> {
    let Some((&last, parents)) = path.split_last().filter(|(last, _)| !last.is_empty()) else {
        return Err("the key is empty".into());
    };
    let mut table = table;
    let mut at = 0;
    while let Some(&parent) = parents.get(at) {
        let known = keys(table);
        table = match table.get_mut(parent) {
            Some(Value::Table(inner)) => inner,
            Some(Value::Array(arms)) => {
                at += 1;
                let name = parents.get(at).copied().unwrap_or_default();
                arm(arms, name)?
            }
            Some(_) => return Err(format!("`{parent}` is a value, not a section")),
            None => return Err(unknown(parent, &known)),
        };
        at += 1;
    }
    Ok(table.insert(last.to_owned(), value))
}

fn arm<'a>(arms: &'a mut [Value], name: &str) -> Result<&'a mut Table, String> {
    let named = |arm: &Value| arm.get("name").and_then(Value::as_str).map(str::to_owned);
    let known: Vec<String> = arms.iter().filter_map(named).collect();
    arms.iter_mut()
        .find(|arm| named(arm).as_deref() == Some(name))
        .and_then(Value::as_table_mut)
        .ok_or_else(|| format!("no arm is named `{name}`; known: {}", known.join(", ")))
}

/// A value as TOML has it, or a bare word, which is a string. Where it replaces a string it may be one although it
/// looks like a number: then there is a second reading.
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

fn keys(table: &Table) -> Vec<String> {
    table.keys().cloned().collect()
}

fn unknown(word: &str, known: &[String]) -> String {
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    format!("unknown key `{word}`{}", suggestion(word, &known))
}
