//! Checks that a type name has only one meaning.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use crate::exceptions;
use crate::sources::{Source, product};

/// Maximum percentage of types that may share their name with another type. The macros and the crates that are linked
/// into a server are counted separately.
const MOST_SHARED: usize = 4;

/// Returns the name of each type, with the path of its file. They are read once, because parsing takes most of the time.
fn types() -> &'static [(String, String)] {
    static TYPES: OnceLock<Vec<(String, String)>> = OnceLock::new();
    TYPES.get_or_init(|| product().iter().flat_map(types_in).collect())
}

fn types_in(source: &Source) -> Vec<(String, String)> {
    let items = source.items().into_iter();
    let names = items.filter_map(|item| match item {
        syn::Item::Struct(item) => Some(item.ident),
        syn::Item::Enum(item) => Some(item.ident),
        syn::Item::Trait(item) => Some(item.ident),
        syn::Item::Type(item) => Some(item.ident),
        _ => None,
    });
    names
        .map(|name| (name.to_string(), source.path.clone()))
        .collect()
}

/// Returns the files that define each type name, in the macros or in the crates that are linked into a server.
fn definitions(of_macros: bool) -> BTreeMap<&'static str, Vec<&'static str>> {
    let mut found: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, path) in types() {
        if path.starts_with("mcp-macros/") != of_macros {
            continue;
        }
        let places = found.entry(name).or_default();
        // Variants of a type for different targets or features are in the same file and count once.
        if places.last() != Some(&path.as_str()) {
            places.push(path);
        }
    }
    found
}

#[test]
fn few_types_share_their_name() {
    for (of_macros, which) in [(true, "the macros"), (false, "the runtime")] {
        let definitions = definitions(of_macros);
        let all: usize = definitions.values().map(Vec::len).sum();
        let shared: Vec<_> = definitions
            .iter()
            .filter(|(_, places)| places.len() > 1)
            .collect();
        let sharing: usize = shared.iter().map(|(_, places)| places.len()).sum();
        assert!(
            sharing * 100 <= all * MOST_SHARED,
            "{sharing} of {all} types of {which} share their names, more than {MOST_SHARED} %: {shared:#?}"
        );
    }
}

#[test]
fn no_public_type_shares_its_name() {
    let definitions = definitions(false);
    let public = crate::public::types();
    let shared = definitions
        .into_iter()
        .filter(|(name, places)| places.len() > 1 && public.contains(*name))
        .map(|(name, places)| (name.to_owned(), places.join(", ")));
    exceptions::check(
        "public-homonym",
        "rename the type that is not public",
        shared,
    );
}
