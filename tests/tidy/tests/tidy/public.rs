//! Checks that the public interface, a list of names, changes only on purpose.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::mem;

use proc_macro2::{Spacing, TokenTree};
use tidy::generated::check_generated;

use crate::sources::{Source, is_hidden, product};

const SNAPSHOT: &str = "tests/tidy/public.txt";

/// Maximum number of names that the crate root may export, not counting modules.
const MOST_IN_ROOT: usize = 35;

/// The sources of the runtime and the protocol crate, by module path such as `handler::call`.
type Modules = BTreeMap<String, Source>;

fn modules() -> Modules {
    let mut modules = Modules::new();
    let sources = product().into_iter().filter_map(|source| {
        let path = match source.path.strip_prefix("crates/protocol/src/") {
            Some("lib.rs") => return None,
            Some(path) => path,
            None => (source.path.strip_prefix("crates/core/src/"))
                .filter(|path| !matches!(*path, "lib.rs" | "extension/mod.rs"))
                .or_else(|| source.path.strip_prefix("mcp-runtime/src/"))
                .or_else(|| source.path.strip_prefix("crates/"))?,
        };
        let path = path.strip_suffix(".rs")?;
        let path = path.strip_suffix("/mod").unwrap_or(path);
        let module = match path.split_once("/src/") {
            // A crate above the core: its modules have its name, such as `mcp_http::options`.
            Some((name, path)) => format!("mcp_{name}::{}", path.replace('/', "::")),
            None if path == "lib" => String::new(),
            None => path.replace('/', "::"),
        };
        Some((module, source))
    });
    for (module, source) in sources {
        let former = modules.insert(module, source);
        assert!(
            former.is_none(),
            "a module path occurs in both crates: {}",
            former.unwrap().path
        );
    }
    modules
}

/// The names that a public module exports, each with the module that defines it and its name in that module.
type Exports = BTreeMap<String, (String, String)>;

/// Returns the public modules and their exports. The crate root is the module with the empty name.
fn interface(modules: &Modules) -> BTreeMap<String, Exports> {
    let mut found = BTreeMap::new();
    let mut open = vec![(String::new(), None)];
    while let Some((module, inline)) = open.pop() {
        let Some(items) = inline.or_else(|| modules.get(&module).map(Source::items)) else {
            continue;
        };
        let mut exports = Exports::new();
        for item in items {
            match item {
                syn::Item::Mod(item) if is_public(&item.vis) && !is_hidden(&item.attrs) => {
                    let items = item.content.map(|(_, items)| items);
                    open.push((join(&module, &item.ident.to_string()), items));
                }
                syn::Item::Use(item) if is_public(&item.vis) && !is_hidden(&item.attrs) => {
                    if let Some(whole) = module_of_protocol(&item.tree) {
                        open.push((whole, None));
                        continue;
                    }
                    if let Some((whole, exported)) = module_of_crate(&item.tree, modules) {
                        let items = modules[&whole].items();
                        match exported {
                            Some(exported) => open.push((join(&module, &exported), Some(items))),
                            None => exports.extend(names_in(&whole, items)),
                        }
                        continue;
                    }
                    let mut path = Vec::new();
                    follow(&item.tree, &mut path, &module, &mut exports);
                }
                item => {
                    if let Some(name) = public_name(&item) {
                        exports.insert(name.clone(), (module.clone(), name));
                    }
                }
            }
        }
        found.insert(module, exports);
    }
    found
}

/// Returns the protocol module that `pub use mcp_protocol::module` re-exports.
fn module_of_protocol(tree: &syn::UseTree) -> Option<String> {
    match tree {
        syn::UseTree::Path(path) if path.ident == "mcp_protocol" => match &*path.tree {
            syn::UseTree::Name(name) => Some(name.ident.to_string()),
            _ => None,
        },
        _ => None,
    }
}

/// Returns a module of another crate that is re-exported as a whole, and the name under which it is, or `None` if its names are
/// (`pub use mcp_extra::middleware::*`).
fn module_of_crate(tree: &syn::UseTree, modules: &Modules) -> Option<(String, Option<String>)> {
    let mut path = Vec::new();
    let mut tree = tree;
    while let syn::UseTree::Path(part) = tree {
        path.push(part.ident.to_string());
        tree = &part.tree;
    }
    let exported = match tree {
        syn::UseTree::Name(name) => {
            path.push(name.ident.to_string());
            Some(name.ident.to_string())
        }
        syn::UseTree::Rename(name) => {
            path.push(name.ident.to_string());
            Some(name.rename.to_string())
        }
        syn::UseTree::Glob(_) => None,
        syn::UseTree::Path(_) | syn::UseTree::Group(_) => return None,
    };
    let whole = path.join("::");
    modules.contains_key(&whole).then_some((whole, exported))
}

/// Returns the names that a module exports.
fn names_in(module: &str, items: Vec<syn::Item>) -> Exports {
    let mut exports = Exports::new();
    for item in items {
        if let syn::Item::Use(item) = &item
            && is_public(&item.vis)
            && !is_hidden(&item.attrs)
        {
            follow(&item.tree, &mut Vec::new(), module, &mut exports);
        } else if let Some(name) = public_name(&item) {
            exports.insert(name.clone(), (module.to_owned(), name));
        }
    }
    exports
}

fn join(module: &str, name: &str) -> String {
    if module.is_empty() {
        name.to_owned()
    } else {
        format!("{module}::{name}")
    }
}

fn is_public(visibility: &syn::Visibility) -> bool {
    matches!(visibility, syn::Visibility::Public(_))
}

/// Returns the name of the item if it is public and not hidden from the documentation.
fn public_name(item: &syn::Item) -> Option<String> {
    let (visibility, attributes, name) = match item {
        syn::Item::Struct(item) => (&item.vis, &item.attrs, &item.ident),
        syn::Item::Enum(item) => (&item.vis, &item.attrs, &item.ident),
        syn::Item::Trait(item) => (&item.vis, &item.attrs, &item.ident),
        syn::Item::Type(item) => (&item.vis, &item.attrs, &item.ident),
        syn::Item::Const(item) => (&item.vis, &item.attrs, &item.ident),
        syn::Item::Fn(item) => (&item.vis, &item.attrs, &item.sig.ident),
        _ => return None,
    };
    (is_public(visibility) && !is_hidden(attributes)).then(|| name.to_string())
}

/// Adds the names that a `pub use` re-exports.
fn follow(tree: &syn::UseTree, path: &mut Vec<String>, module: &str, exports: &mut Exports) {
    let mut add = |name: &syn::Ident, exported: &syn::Ident| {
        exports.insert(
            exported.to_string(),
            (absolute(path, module), name.to_string()),
        );
    };
    match tree {
        syn::UseTree::Path(part) => {
            path.push(part.ident.to_string());
            follow(&part.tree, path, module, exports);
            path.pop();
        }
        syn::UseTree::Name(part) => add(&part.ident, &part.ident),
        syn::UseTree::Rename(part) => add(&part.ident, &part.rename),
        syn::UseTree::Group(group) => {
            for tree in &group.items {
                follow(tree, path, module, exports);
            }
        }
        syn::UseTree::Glob(_) => {}
    }
}

/// Resolves a path in a module to the absolute path of the module it refers to.
fn absolute(path: &[String], module: &str) -> String {
    let mut parts: Vec<&str> = module.split("::").filter(|part| !part.is_empty()).collect();
    for (index, part) in path.iter().enumerate() {
        match part.as_str() {
            "crate" => parts.clear(),
            "self" => {}
            "super" => {
                parts.pop();
            }
            part => {
                // A path in the root starts with one of the root's modules.
                if index == 0 && module.is_empty() {
                    parts.clear();
                }
                parts.push(part);
            }
        }
    }
    parts.join("::")
}

/// Returns the names of all public types.
pub(crate) fn types() -> BTreeSet<String> {
    let modules = modules();
    interface(&modules)
        .into_values()
        .flat_map(Exports::into_values)
        .map(|(_, name)| name)
        .filter(|name| name.starts_with(char::is_uppercase))
        .collect()
}

/// Collects the public methods, fields and variants of each type. Those that the documentation hides can be used all
/// the same, so they are listed and marked.
fn members(modules: &Modules) -> BTreeMap<String, BTreeSet<String>> {
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut add = |of: &syn::Ident, member: String, is_hidden: bool| {
        let mark = if is_hidden { " (hidden)" } else { "" };
        let members = found.entry(of.to_string()).or_default();
        members.insert(format!("{member}{mark}"));
    };
    let options = option_methods(modules);
    for item in modules.values().flat_map(Source::items) {
        match item {
            syn::Item::Macro(item) => {
                let group = item.mac.path.get_ident().map(ToString::to_string);
                let methods = group.and_then(|group| options.get(&group));
                if let (Some(methods), Ok(builder)) = (methods, item.mac.parse_body()) {
                    for method in methods {
                        add(&builder, format!("::{method}()"), false);
                    }
                }
            }
            syn::Item::Struct(item) => {
                for field in item.fields.iter().filter(|field| is_public(&field.vis)) {
                    if let Some(name) = &field.ident {
                        add(&item.ident, format!(".{name}"), is_hidden(&field.attrs));
                    }
                }
            }
            syn::Item::Enum(item) => {
                for variant in &item.variants {
                    let name = format!("::{}", variant.ident);
                    add(&item.ident, name, is_hidden(&variant.attrs));
                }
            }
            syn::Item::Trait(item) => {
                for member in &item.items {
                    if let syn::TraitItem::Fn(member) = member {
                        let name = format!("::{}()", member.sig.ident);
                        add(&item.ident, name, is_hidden(&member.attrs));
                    }
                }
            }
            syn::Item::Impl(item) if item.trait_.is_none() => {
                let syn::Type::Path(this) = &*item.self_ty else {
                    continue;
                };
                let Some(this) = this.path.segments.last() else {
                    continue;
                };
                for member in &item.items {
                    if let syn::ImplItem::Fn(member) = member
                        && is_public(&member.vis)
                    {
                        let is_hidden = is_hidden(&item.attrs) || is_hidden(&member.attrs);
                        add(&this.ident, format!("::{}()", member.sig.ident), is_hidden);
                    }
                }
            }
            _ => {}
        }
    }
    found
}

/// Returns the names of the builder methods in each group of `item_options!`. The name of a group is that of the macro
/// which adds the methods to a builder.
fn option_methods(modules: &Modules) -> BTreeMap<String, Vec<String>> {
    let items = modules["handler::item_option"].items();
    let table = items.into_iter().find_map(|item| match item {
        syn::Item::Macro(item) if item.mac.path.is_ident("item_options") => Some(item.mac.tokens),
        _ => None,
    });
    let mut groups = BTreeMap::new();
    let mut name = String::new();
    for tree in table.expect("the table is there") {
        match tree {
            TokenTree::Ident(group) => name = group.to_string(),
            TokenTree::Group(group) => {
                let trees: Vec<TokenTree> = group.stream().into_iter().collect();
                let methods = trees.windows(3).filter_map(|trees| match trees {
                    // `method(…) => Option(…)`
                    [
                        TokenTree::Ident(method),
                        TokenTree::Group(_),
                        TokenTree::Punct(arrow),
                    ] if arrow.as_char() == '=' && arrow.spacing() == Spacing::Joint => {
                        Some(method.to_string())
                    }
                    _ => None,
                });
                groups.insert(mem::take(&mut name), methods.collect());
            }
            TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
    }
    groups
}

fn snapshot() -> String {
    let modules = modules();
    let interface = interface(&modules);
    let members = members(&modules);
    let mut text = String::from(
        "# The public interface of mcp-runtime: modules, their names, and what each type has.\n\
         # Written by `.ci/renew`; read the diff before accepting it.\n",
    );
    let mut told = BTreeSet::new();
    for (module, exports) in &interface {
        let module = if module.is_empty() {
            "mcp_runtime".to_owned()
        } else {
            format!("mcp_runtime::{module}")
        };
        writeln!(text, "\n## {module}").unwrap();
        for (exported, (_, name)) in exports {
            writeln!(text, "{exported}").unwrap();
            if told.insert(name.clone())
                && let Some(members) = members.get(name)
            {
                for member in members {
                    writeln!(text, "  {exported}{member}").unwrap();
                }
            }
        }
    }
    text
}

#[test]
fn the_public_interface_matches_the_recorded_one() {
    check_generated(SNAPSHOT, &snapshot());
}

/// Maximum numbers of names that the documentation shows, by the crate that adds them. The prelude repeats the names of
/// others, and is not counted.
const MOST_NAMES: [(&str, &[&str], usize); 7] = [
    ("apps", &["apps"], 4),
    ("auth", &["auth"], 40),
    ("skills", &["skills"], 12),
    ("stores", &["backend"], 255),
    ("tasks", &["tasks"], 15),
    ("testing", &["testing", "testing::chaos"], 115),
    ("all others", &[], 1_015),
];

/// Maximum number of methods of `Server`.
const MOST_SERVER_METHODS: usize = 53;

/// Maximum number of modules, not counting those of features that are not on by default.
const MOST_MODULES: usize = 15;

#[test]
fn the_interface_keeps_to_its_budgets() {
    let text = snapshot();
    let mut names: BTreeMap<&str, usize> = BTreeMap::new();
    let mut module = "";
    let shown = text.lines().filter(|line| !line.ends_with("(hidden)"));
    for line in shown {
        if let Some(path) = line.strip_prefix("## mcp_runtime") {
            module = path.trim_start_matches("::");
        } else if !line.is_empty() && !line.starts_with('#') && module != "prelude" {
            let owner = MOST_NAMES.iter().find(|(_, of, _)| of.contains(&module));
            *names
                .entry(owner.map_or("all others", |(name, ..)| name))
                .or_default() += 1;
        }
    }
    for (owner, _, most) in MOST_NAMES {
        let found = names[owner];
        assert!(
            found <= most,
            "{owner}: {found} public names instead of at most {most}; hide what is only for this project's crates"
        );
    }
    let server = text.lines().filter(|line| line.starts_with("  Server::"));
    let server = server.filter(|line| !line.ends_with("(hidden)")).count();
    assert!(
        server <= MOST_SERVER_METHODS,
        "`Server` has {server} methods instead of at most {MOST_SERVER_METHODS}"
    );
    let optional = ["auth", "skills", "testing", "guide"];
    let modules: Vec<_> = interface(&modules())
        .into_keys()
        .filter(|module| !module.is_empty() && !module.contains("::"))
        .filter(|module| !optional.contains(&module.as_str()))
        .collect();
    assert!(
        modules.len() <= MOST_MODULES,
        "{} modules instead of at most {MOST_MODULES}: {modules:?}",
        modules.len()
    );
}

#[test]
fn the_root_exports_few_names() {
    let interface = interface(&modules());
    // `new_server!` is exported by its definition.
    let root: Vec<_> = interface[""].keys().collect();
    assert!(
        root.len() < MOST_IN_ROOT,
        "the root exports {} names besides `new_server`; put some into the module of their subject: {root:?}",
        root.len()
    );
}
