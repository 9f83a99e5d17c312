//! The modules of one file, with the names that each declares, defines, imports and uses.

use std::collections::{BTreeMap, BTreeSet};

use super::tokens::tokens;

/// A path such as `crate::loss::Batch`, in its parts.
pub(super) type Path = Vec<String>;

/// A module: a file, or `mod name { }` in one.
#[derive(Debug, Default)]
pub(super) struct Module {
    /// Index of the file it is written in.
    pub(super) file: usize,
    pub(super) children: BTreeSet<String>,
    /// Names of its own items.
    pub(super) items: BTreeSet<String>,
    pub(super) uses: Vec<Use>,
    /// Paths of two parts and more in its code.
    pub(super) paths: BTreeSet<Path>,
    /// Names in its code outside of `use`.
    pub(super) words: BTreeSet<String>,
}

/// One name that a `use` brings in.
#[derive(Debug)]
pub(super) struct Use {
    pub(super) path: Path,
    /// The name that it has here; none for `*`.
    pub(super) name: Option<String>,
    /// True if it is re-exported.
    pub(super) is_public: bool,
}

/// The modules and imports of all files of a crate.
#[derive(Debug, Default)]
pub(super) struct Modules {
    pub(super) by_path: BTreeMap<Path, Module>,
    /// Paths of modules that are compiled for tests alone.
    pub(super) of_tests: BTreeSet<Path>,
    /// The module of each macro.
    pub(super) macros: BTreeMap<String, Path>,
}

const ITEMS: [&str; 8] = ["struct", "enum", "fn", "const", "static", "type", "trait", "union"];

/// Adds the modules of a file.
pub(super) fn read(modules: &mut Modules, path: &Path, file: usize, text: &str) {
    Reader { tokens: tokens(text), at: 0, file, modules }.module(path.clone());
}

struct Reader<'a> {
    tokens: Vec<String>,
    at: usize,
    file: usize,
    modules: &'a mut Modules,
}

impl Reader<'_> {
    fn token(&self, ahead: usize) -> &str {
        self.tokens.get(self.at + ahead).map_or("", String::as_str)
    }

    /// Reads up to the end of the file, or the brace that closes the module.
    fn module(&mut self, path: Path) {
        let mut module = Module { file: self.file, ..Module::default() };
        let (mut depth, mut is_public, mut is_test) = (0_usize, false, false);
        while self.at < self.tokens.len() {
            let (token, next) = (self.token(0).to_owned(), self.token(1).to_owned());
            match token.as_str() {
                "#" => {
                    is_test |= self.attribute(&mut module, is_test);
                    continue;
                }
                "pub" => {
                    is_public = true;
                    self.at += 1;
                    if self.token(0) == "(" {
                        self.skip_group();
                    }
                    continue;
                }
                _ if is_test => {
                    if token == "mod" {
                        self.modules.of_tests.insert(child(&path, &next));
                    }
                    self.skip_item();
                }
                "mod" if self.token(2) == "{" => {
                    self.at += 3;
                    module.children.insert(next.clone());
                    self.module(child(&path, &next));
                }
                "mod" => {
                    module.children.insert(next);
                    self.at += 2;
                }
                "use" => {
                    self.at += 1;
                    self.use_tree(&Vec::new(), is_public, &mut module.uses);
                }
                "macro_rules" => {
                    self.modules.macros.insert(self.token(2).to_owned(), path.clone());
                    self.at += 3;
                }
                "{" => (depth, self.at) = (depth + 1, self.at + 1),
                "}" if depth == 0 => {
                    self.at += 1;
                    break;
                }
                "}" => (depth, self.at) = (depth - 1, self.at + 1),
                _ => {
                    if depth == 0 && ITEMS.contains(&token.as_str()) {
                        module.items.insert(next);
                    }
                    self.name(&mut module);
                }
            }
            (is_public, is_test) = (false, false);
        }
        self.modules.by_path.insert(path, module);
    }

    /// A name in code, with the path that it begins.
    fn name(&mut self, module: &mut Module) {
        if !is_name(self.token(0)) {
            self.at += 1;
            return;
        }
        // A range, `..`, may end in a path.
        let goes_on = match &self.tokens[..self.at] {
            [.., first, last] if last == "." => first != ".",
            [.., last] => last == "::",
            [] => false,
        };
        let mut path = vec![self.token(0).to_owned()];
        self.at += 1;
        while self.token(0) == "::" && is_name(self.token(1)) {
            path.push(self.token(1).to_owned());
            self.at += 2;
        }
        if !goes_on {
            module.words.insert(path[0].clone());
            if path.len() > 1 {
                module.paths.insert(path);
            }
        }
    }

    /// Reads an attribute, with the paths in it unless its item is for tests only. True if it says that.
    fn attribute(&mut self, module: &mut Module, is_test: bool) -> bool {
        self.at += 1;
        if self.token(0) == "!" {
            self.at += 1;
        }
        let start = self.at;
        self.skip_group();
        let end = self.at;
        if self.tokens[start..end] == ["[", "cfg", "(", "test", ")", "]"] {
            return true;
        }
        if !is_test {
            // Words alone, such as those of `derive`, are the names of macros.
            let mut of_attribute = Module::default();
            self.at = start;
            while self.at < end {
                self.name(&mut of_attribute);
            }
            module.paths.append(&mut of_attribute.paths);
        }
        false
    }

    /// From an opening sign to behind the one that closes it.
    fn skip_group(&mut self) {
        let mut depth = 0_usize;
        while self.at < self.tokens.len() {
            match self.token(0) {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => depth = depth.saturating_sub(1),
                _ => {}
            }
            self.at += 1;
            if depth == 0 {
                break;
            }
        }
    }

    /// An item with its body, or up to its semicolon; a field or an arm up to its comma.
    fn skip_item(&mut self) {
        while self.at < self.tokens.len() {
            match self.token(0) {
                "(" | "[" => self.skip_group(),
                "{" => {
                    self.skip_group();
                    break;
                }
                "}" => break,
                end => {
                    let is_end = [";", ","].contains(&end);
                    self.at += 1;
                    if is_end {
                        break;
                    }
                }
            }
        }
    }

    /// The imports of one branch of a `use`, up to the sign that ends it.
    fn use_tree(&mut self, before: &Path, is_public: bool, uses: &mut Vec<Use>) {
        let mut path = before.clone();
        while self.at < self.tokens.len() {
            match self.token(0) {
                "::" => self.at += 1,
                "{" => {
                    self.at += 1;
                    while self.at < self.tokens.len() && self.token(0) != "}" {
                        self.use_tree(&path, is_public, uses);
                        if self.token(0) == "," {
                            self.at += 1;
                        }
                    }
                    self.at += 1;
                    return;
                }
                "*" => {
                    uses.push(Use { path: path.clone(), name: None, is_public });
                    self.at += 1;
                    return;
                }
                // `self` in braces is the module itself.
                "self" if !path.is_empty() => self.at += 1,
                "as" => {
                    uses.push(Use { path, name: Some(self.token(1).to_owned()), is_public });
                    self.at += 2;
                    return;
                }
                part if is_name(part) => {
                    path.push(part.to_owned());
                    self.at += 1;
                }
                _ => break,
            }
        }
        if let Some(name) = path.last().cloned() {
            uses.push(Use { path, name: Some(name), is_public });
        }
    }
}

fn is_name(token: &str) -> bool {
    token.chars().next().is_some_and(|first| first.is_alphabetic() || first == '_')
}

/// The path of a module in another.
pub(super) fn child(parent: &Path, name: &str) -> Path {
    parent.iter().cloned().chain([name.to_owned()]).collect()
}
