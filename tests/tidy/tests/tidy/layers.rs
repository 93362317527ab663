//! Checks which parts of the code use which others, and finds circular imports.
//!
//! The table under "Layers" in `architecture/rooms.md` divides the code into *rooms*. A room may use only the rooms above it
//! in the table. A room is a crate, a folder or a file; a file belongs to the room with the longest path that contains
//! it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use quote::ToTokens as _;

use crate::exceptions;
use crate::sources;

/// Maximum number of files in an import circle. All of them must be in the same room.
const MAX_CIRCLE: usize = 3;

/// The path of a module: the crate, followed by its modules.
type Module = Vec<String>;

/// The source files of the crates that users build, and the imports between them.
#[derive(Clone, Default)]
struct Imports {
    /// The path of the file that contains each module.
    files: BTreeMap<Module, String>,
    /// The names that a module passes on, and the path of each.
    passed_on: BTreeMap<Module, BTreeMap<String, Vec<String>>>,
    /// The names that a module imports for itself, and the path of each.
    imported: BTreeMap<Module, BTreeMap<String, Vec<String>>>,
    /// The modules used in each module.
    used: BTreeMap<Module, BTreeSet<Module>>,
}

impl Imports {
    /// Returns the imports of the project. They are read once, because parsing takes most of the time of these tests.
    fn of_project() -> &'static Self {
        static IMPORTS: OnceLock<Imports> = OnceLock::new();
        IMPORTS.get_or_init(Self::read)
    }

    fn read() -> Self {
        let mut imports = Self::default();
        let mut mentioned = Vec::new();
        for source in sources::product() {
            let own = module(&source.path);
            let items = source.items();
            imports
                .passed_on
                .insert(own.clone(), names_of(&items, true));
            imports
                .imported
                .insert(own.clone(), names_of(&items, false));
            mentioned.push((own.clone(), words_and_paths(items)));
            imports.files.insert(own, source.path);
        }
        for (own, (words, paths)) in mentioned {
            let used = imports.used_in(&own, &words, paths);
            imports.used.insert(own, used);
        }
        imports
    }

    /// Returns the modules that a module uses: those of its paths, and of the names that it passes on and uses itself.
    fn used_in(
        &self,
        own: &Module,
        words: &BTreeSet<String>,
        mut paths: Vec<Vec<String>>,
    ) -> BTreeSet<Module> {
        // A name that is passed on counts as used here if the file uses it itself. The root of a crate only passes on.
        let passed_on = self.passed_on.get(own).filter(|_| own.len() > 1);
        let used_here = passed_on
            .into_iter()
            .flatten()
            .filter(|(name, _)| words.contains(*name));
        paths.extend(used_here.map(|(_, path)| path.clone()));
        let modules = paths.iter().filter_map(|path| self.resolve(own, path, 0));
        modules.filter(|module| module != own).collect()
    }

    /// Returns the innermost module on a path that has a separate file.
    fn resolve(&self, own: &Module, path: &[String], followed: usize) -> Option<Module> {
        let crate_name = own.first()?;
        let absolute: Module = match path.first()?.as_str() {
            "crate" => std::iter::once(crate_name)
                .chain(path.get(1..)?)
                .cloned()
                .collect(),
            "self" if path.get(1).is_some_and(|part| part == "super") => {
                return self.resolve(own, &path[1..], followed);
            }
            "super" | "self" => {
                let up = path.iter().take_while(|part| *part == "super").count();
                let start = usize::from(up == 0).max(up);
                let base = own.get(..own.len().checked_sub(up)?)?;
                base.iter().chain(path.get(start..)?).cloned().collect()
            }
            first if first.starts_with("mcp_") => {
                let mut path = path.to_vec();
                path[0] = first.replace('_', "-");
                path
            }
            first => {
                let imported = self.imported.get(own).and_then(|names| names.get(first));
                if let Some(path_of_name) = imported.filter(|path| followed < 8 && path[0] != first)
                {
                    let path: Vec<_> = path_of_name.iter().chain(&path[1..]).cloned().collect();
                    return self.resolve(own, &path, followed + 1);
                }
                let child: Module = own.iter().chain(path).cloned().collect();
                self.files.get(child.get(..=own.len())?)?;
                child
            }
        };
        let length = (1..=absolute.len())
            .rev()
            .find(|length| self.files.contains_key(&absolute[..*length]))?;
        let (module, rest) = absolute.split_at(length);
        let passed_on = rest
            .first()
            .and_then(|name| self.passed_on.get(module)?.get(name))
            .filter(|_| followed < 8);
        match passed_on {
            Some(path) => {
                let path: Vec<_> = path.iter().chain(&rest[1..]).cloned().collect();
                self.resolve(&module.to_vec(), &path, followed + 1)
            }
            None => Some(module.to_vec()),
        }
    }

    /// Drops the arrows, `FROM TO`, that may close a circle. Fails if there is no such arrow.
    fn drop_arrows(&mut self, arrows: &BTreeSet<String>) {
        for arrow in arrows {
            let (from, to) = arrow.split_once(' ').unwrap_or_default();
            let used = self.used.get_mut(&module(from));
            let is_there = used.is_some_and(|used| used.remove(&module(to)));
            assert!(
                is_there,
                "arrow {arrow}: the exception is not needed any more"
            );
        }
    }

    /// Returns the import circles: sets of modules in which every module uses every other one, directly or indirectly.
    fn circles(&self) -> Vec<BTreeSet<&Module>> {
        let reach: BTreeMap<_, _> = self
            .used
            .keys()
            .map(|module| (module, self.reachable(module)))
            .collect();
        let mut circles = BTreeSet::new();
        for (module, reached) in &reach {
            let circle: BTreeSet<_> = reached
                .iter()
                .copied()
                .filter(|other| reach.get(other).is_some_and(|back| back.contains(module)))
                .collect();
            if circle.len() > 1 {
                circles.insert(circle);
            }
        }
        circles.into_iter().collect()
    }

    fn reachable<'a>(&'a self, module: &Module) -> BTreeSet<&'a Module> {
        let mut reached = BTreeSet::new();
        let mut open: Vec<&Module> = self.used.get(module).into_iter().flatten().collect();
        while let Some(next) = open.pop() {
            if reached.insert(next) {
                open.extend(self.used.get(next).into_iter().flatten());
            }
        }
        reached
    }

    fn names(&self, circle: &BTreeSet<&Module>) -> String {
        let files = circle.iter().filter_map(|module| self.files.get(*module));
        files.cloned().collect::<Vec<_>>().join(" ")
    }
}

/// Returns the module in a file: `crates/core/src/dispatch/call.rs` contains `mcp-core::dispatch::call`.
fn module(path: &str) -> Module {
    let mut parts: Module = match path.strip_prefix("crates/") {
        Some(path) => format!("mcp-{path}")
            .split('/')
            .map(str::to_owned)
            .collect(),
        None => path.split('/').map(str::to_owned).collect(),
    };
    parts.retain(|part| part != "src");
    if let Some(file) = parts.pop() {
        let name = file.trim_end_matches(".rs");
        if !matches!(name, "mod" | "lib") {
            parts.push(name.to_owned());
        }
    }
    parts
}

/// Returns the names that a file passes on, or imports for itself, and their paths.
fn names_of(items: &[syn::Item], passed_on: bool) -> BTreeMap<String, Vec<String>> {
    let mut names = BTreeMap::new();
    for item in items {
        if let syn::Item::Use(item) = item
            && passed_on != matches!(item.vis, syn::Visibility::Inherited)
        {
            leaves(&item.tree, Vec::new(), &mut names);
        }
    }
    names
}

/// Returns the identifiers of a file, without those of its imports and of modules in other files, and all of its paths.
fn words_and_paths(items: Vec<syn::Item>) -> (BTreeSet<String>, Vec<Vec<String>>) {
    let mut words = BTreeSet::new();
    let mut paths = Vec::new();
    for item in items {
        match &item {
            syn::Item::Use(_) => {}
            syn::Item::Mod(file) if file.content.is_none() => {}
            item => words_in(item.to_token_stream(), &mut words),
        }
        paths_in(item, &mut paths);
    }
    (words, paths)
}

fn leaves(tree: &syn::UseTree, mut before: Vec<String>, names: &mut BTreeMap<String, Vec<String>>) {
    let (name, alias) = match tree {
        syn::UseTree::Path(path) => {
            before.push(path.ident.to_string());
            return leaves(&path.tree, before, names);
        }
        syn::UseTree::Group(group) => {
            for tree in &group.items {
                leaves(tree, before.clone(), names);
            }
            return;
        }
        syn::UseTree::Name(name) => (name.ident.to_string(), name.ident.to_string()),
        syn::UseTree::Rename(rename) => (rename.ident.to_string(), rename.rename.to_string()),
        syn::UseTree::Glob(_) => return,
    };
    if name == "self" {
        // `use a::b::{self}` imports `b`.
        let module = before.last().cloned().unwrap_or_default();
        names.insert(if alias == "self" { module } else { alias }, before);
    } else {
        before.push(name);
        names.insert(alias, before);
    }
}

/// Collects the identifiers in the tokens.
fn words_in(tokens: TokenStream, words: &mut BTreeSet<String>) {
    for token in tokens {
        match token {
            TokenTree::Ident(ident) => drop(words.insert(ident.to_string())),
            TokenTree::Group(group) => words_in(group.stream(), words),
            _ => {}
        }
    }
}

/// Collects the paths in an item. A re-export counts where the name is imported from here, not where it is passed on.
fn paths_in(item: syn::Item, paths: &mut Vec<Vec<String>>) {
    match item {
        syn::Item::Use(item) if !matches!(item.vis, syn::Visibility::Inherited) => {}
        syn::Item::Mod(item) => {
            for item in item.content.into_iter().flat_map(|(_, items)| items) {
                paths_in(item, paths);
            }
        }
        item => collect(&item.to_token_stream(), &[], paths),
    }
}

/// Collects the paths in the tokens: `a::b::{c, d::e}` yields `a::b::c` and `a::b::d::e`.
fn collect(tokens: &TokenStream, before: &[String], paths: &mut Vec<Vec<String>>) {
    let mut path: Vec<String> = before.to_vec();
    let mut is_joined = !before.is_empty();
    let mut colons = 0;
    let finish = |path: &mut Vec<String>, paths: &mut Vec<Vec<String>>| {
        if path.len() > 1 || path.first().is_some_and(|part| part == "super") {
            paths.push(path.clone());
        }
        *path = before.to_vec();
    };
    let mut is_visibility = false;
    for token in tokens.clone() {
        // `pub(in crate::http)` uses nothing.
        if std::mem::take(&mut is_visibility) && matches!(token, TokenTree::Group(_)) {
            continue;
        }
        is_visibility = matches!(&token, TokenTree::Ident(ident) if ident == "pub");
        match token {
            TokenTree::Punct(punct) if punct.as_char() == ':' => {
                colons += 1;
                is_joined = colons == 2;
            }
            TokenTree::Ident(ident) => {
                if !is_joined {
                    finish(&mut path, paths);
                }
                path.push(ident.to_string());
                (colons, is_joined) = (0, false);
            }
            TokenTree::Group(group)
                if is_joined && colons == 2 && group.delimiter() == Delimiter::Brace =>
            {
                collect(&group.stream(), &path, paths);
                path = before.to_vec();
                (colons, is_joined) = (0, false);
            }
            other => {
                finish(&mut path, paths);
                (colons, is_joined) = (0, !before.is_empty());
                if let TokenTree::Group(group) = other {
                    collect(&group.stream(), &[], paths);
                }
            }
        }
    }
    finish(&mut path, paths);
}

/// Returns the rooms in each row of the table, starting with the lowest layer. Rooms in the same row may use each
/// other.
fn layers() -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(sources::root().join("architecture/rooms.md")).unwrap();
    let section = text.split("## Layers").nth(1).unwrap_or_default();
    let rows = section
        .lines()
        .skip_while(|line| !line.starts_with("|---"))
        .skip(1)
        .take_while(|line| line.starts_with('|'));
    rows.map(|row| {
        let rooms = row.split('|').nth(1).unwrap_or_default();
        rooms
            .split('`')
            .skip(1)
            .step_by(2)
            .map(|room| room.trim_end_matches('/').to_owned())
            .collect()
    })
    .collect()
}

/// Returns the layer and the name of the room that a file belongs to.
fn room<'l>(layers: &'l [Vec<String>], path: &str) -> Option<(usize, &'l str)> {
    let rooms = layers
        .iter()
        .enumerate()
        .flat_map(|(layer, rooms)| rooms.iter().map(move |room| (layer, room.as_str())));
    rooms
        .filter(|(_, room)| {
            path.strip_prefix(room)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
        .max_by_key(|(_, room)| room.len())
}

#[test]
fn folders_import_only_from_folders_above_them_in_the_table() {
    let layers = layers();
    assert!(
        layers.len() > 5,
        "architecture/rooms.md has a table of layers"
    );
    for room in layers.iter().flatten() {
        let is_there = sources::root().join(room).exists();
        assert!(is_there, "{room}: there is no such room");
    }
    let imports = Imports::of_project();
    let mut broken = Vec::new();
    for (module, used) in &imports.used {
        let path = &imports.files[module];
        let Some((layer, name)) = room(&layers, path) else {
            broken.push((path.clone(), "lies in no room of the table".to_owned()));
            continue;
        };
        for other in used {
            let target = &imports.files[other];
            if let Some((below, other)) = room(&layers, target)
                && below > layer
            {
                broken.push((format!("{path} {target}"), format!("{name} uses {other}")));
            }
        }
    }
    exceptions::check(
        "layer",
        "a room uses those above it in the table of architecture/rooms.md",
        broken,
    );
}

#[test]
fn import_cycles_stay_in_one_folder_and_within_three_files() {
    let layers = layers();
    let mut imports = Imports::of_project().clone();
    imports.drop_arrows(&exceptions::excepted("arrow"));
    let broken = imports.circles().into_iter().filter_map(|circle| {
        let rooms: BTreeSet<_> = circle
            .iter()
            .filter_map(|module| room(&layers, &imports.files[*module]))
            .collect();
        let names = imports.names(&circle);
        (rooms.len() > 1 || circle.len() > MAX_CIRCLE)
            .then(|| (names, format!("{} files in a circle", circle.len())))
    });
    exceptions::check(
        "circle",
        "move what both sides need into a file of its own",
        broken,
    );
}

/// Returns the dependencies of a manifest, without those of tests: the lines of the tables named `[…dependencies]`.
fn dependencies(manifest: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut is_counted = false;
    for line in manifest.lines() {
        if line.starts_with('[') {
            is_counted = line.ends_with("dependencies]") && !line.contains("dev-dependencies");
        } else if is_counted && !line.is_empty() && !line.starts_with('#') {
            found.extend(line.split([' ', '.', '=']).next());
        }
    }
    found
}

#[test]
fn no_crate_depends_on_the_one_that_users_name() {
    for path in sources::crates("Cargo.toml") {
        let manifest = std::fs::read_to_string(sources::root().join(&path)).unwrap();
        let names = dependencies(&manifest);
        assert!(!names.is_empty(), "{path}");
        assert!(
            !names.contains(&"mcp-runtime"),
            "{path} depends on mcp-runtime"
        );
    }
    let manifest =
        "[dependencies]\nmcp-runtime.workspace = true\n\n[dev-dependencies]\nserde = \"1\"\n";
    assert_eq!(dependencies(manifest), ["mcp-runtime"]);
}
