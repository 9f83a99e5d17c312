//! Finds the file that a path in a module refers to.

use std::collections::{BTreeMap, BTreeSet};

use super::read::{Module, Modules, Path, Use, child, read};

/// Names that one file has from another, by both files.
pub(super) type Imports = BTreeMap<(String, String), BTreeSet<String>>;

/// Re-exports that are followed one after the other.
const LONGEST: usize = 20;

/// The imports between the files of a crate. The file of a module with a folder counts as one of that folder.
pub(super) fn imports(files: &[(String, String)]) -> Imports {
    let mut modules = Modules::default();
    let places: Vec<Path> = files.iter().map(|(name, _)| module_of(name)).collect();
    for (file, ((_, text), path)) in files.iter().zip(&places).enumerate() {
        read(&mut modules, path, file, text);
    }
    let of_tests = |path: &Path| (1..=path.len()).any(|end| modules.of_tests.contains(&path[..end]));
    let shown: Vec<String> = files
        .iter()
        .zip(&places)
        .map(|((name, _), path)| {
            let is_folder = places.iter().any(|other| other.len() > path.len() && other.starts_with(path));
            if is_folder && !path.is_empty() { format!("{}/mod.rs", path.join("/")) } else { name.clone() }
        })
        .collect();
    let mut imports = Imports::new();
    for (path, module) in modules.by_path.iter().filter(|(path, _)| !of_tests(path)) {
        for (target, name) in targets(&modules, path, module) {
            let files = [module.file, modules.by_path[&target].file];
            if files[0] != files[1] && !of_tests(&target) {
                let [from, to] = files.map(|file| shown[file].clone());
                imports.entry((from, to)).or_default().insert(name);
            }
        }
    }
    imports
}

/// The path of the module that a file is.
fn module_of(file: &str) -> Path {
    let mut path: Path = file.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    if matches!(path.last().map(String::as_str), Some("mod" | "lib" | "main")) {
        path.pop();
    }
    path
}

/// The modules that one has names from.
fn targets(modules: &Modules, path: &Path, module: &Module) -> Vec<(Path, String)> {
    let mut targets = Vec::new();
    for one in &module.uses {
        let Some(target) = modules.find(path, &one.path, LONGEST) else { continue };
        let named = one.name.as_ref().is_some_and(|name| module.words.contains(name));
        let is_handed_on = one.is_public && target.module().starts_with(path) && !named;
        match (target, one.path.last()) {
            (Target::Item(target), Some(name)) if !is_handed_on => targets.push((target, name.clone())),
            (Target::Module(target), _) if one.name.is_none() && !is_handed_on => {
                targets.push((target, "*".into()));
            }
            _ => {}
        }
    }
    for written in &module.paths {
        if let (Some(target), Some(name)) = (modules.find(path, written, LONGEST), written.last()) {
            targets.push((target.module().clone(), name.clone()));
        }
    }
    targets
}

/// The target of a path: a module, or an item of one.
#[derive(Debug, Clone)]
enum Target {
    Module(Path),
    Item(Path),
}

impl Target {
    fn module(&self) -> &Path {
        match self {
            Self::Module(path) | Self::Item(path) => path,
        }
    }
}

impl Modules {
    /// The target of a path in the module `from`; none if it is of another crate.
    fn find(&self, from: &Path, path: &[String], left: usize) -> Option<Target> {
        let (first, rest) = path.split_first()?;
        let start = match first.as_str() {
            "crate" => Target::Module(Path::new()),
            "self" => Target::Module(from.clone()),
            "super" => Target::Module(from.split_last()?.1.to_vec()),
            name => self.name(from, name, left)?,
        };
        rest.iter().try_fold(start, |target, name| match target {
            Target::Item(_) => Some(target),
            Target::Module(module) if name == "super" => {
                Some(Target::Module(module.split_last()?.1.to_vec()))
            }
            Target::Module(module) => {
                let of_macro = self.macros.get(name).filter(|_| module.is_empty()).cloned();
                let of_name = self.name(&module, name, left);
                Some(of_name.unwrap_or_else(|| Target::Item(of_macro.unwrap_or(module))))
            }
        })
    }

    /// The target of a name in a module; none if it has no such name.
    fn name(&self, path: &Path, name: &str, left: usize) -> Option<Target> {
        let left = left.checked_sub(1)?;
        let module = self.by_path.get(path)?;
        let inner = child(path, name);
        if self.by_path.contains_key(&inner) {
            return Some(Target::Module(inner));
        }
        if module.items.contains(name) {
            return Some(Target::Item(path.clone()));
        }
        // `use name::Item` of another crate, whose name is no name of this module.
        let is_it = |one: &&Use| one.name.as_deref() == Some(name) && one.path != [name];
        if let Some(one) = module.uses.iter().find(is_it) {
            return self.find(path, &one.path, left);
        }
        module.uses.iter().filter(|one| one.name.is_none()).find_map(|glob| {
            match self.find(path, &glob.path, left)? {
                Target::Module(of) if of != *path => self.name(&of, name, left),
                _ => None,
            }
        })
    }
}
