//! A type name means one thing.

use std::collections::BTreeMap;

use crate::exceptions;
use crate::sources::{Source, product};

/// Of 100 types, as many may share their name with another one of their crate.
const MOST_SHARED: usize = 4;

/// The places each type name of a crate is defined at.
fn definitions(sources: &[Source]) -> BTreeMap<String, Vec<String>> {
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for source in sources {
        for item in source.items() {
            let name = match &item {
                syn::Item::Struct(item) => &item.ident,
                syn::Item::Enum(item) => &item.ident,
                syn::Item::Trait(item) => &item.ident,
                syn::Item::Type(item) => &item.ident,
                _ => continue,
            };
            let places = found.entry(name.to_string()).or_default();
            // Variants of one type for different targets or features stand in one file.
            if places.last() != Some(&source.path) {
                places.push(source.path.clone());
            }
        }
    }
    found
}

#[test]
fn hardly_any_type_shares_its_name() {
    for krate in ["mcp-macros/", "mcp-runtime/", "mcp-schema/"] {
        let sources: Vec<_> = product()
            .into_iter()
            .filter(|source| source.path.starts_with(krate))
            .collect();
        let definitions = definitions(&sources);
        let all: usize = definitions.values().map(Vec::len).sum();
        let shared: Vec<_> = definitions
            .iter()
            .filter(|(_, places)| places.len() > 1)
            .collect();
        let sharing: usize = shared.iter().map(|(_, places)| places.len()).sum();
        assert!(
            sharing * 100 <= all * MOST_SHARED,
            "{sharing} of {all} types of {krate} share their names, more than {MOST_SHARED} %: {shared:#?}"
        );
    }
}

#[test]
fn no_public_type_shares_its_name() {
    let sources: Vec<_> = product()
        .into_iter()
        .filter(|source| source.path.starts_with("mcp-runtime/"))
        .collect();
    let definitions = definitions(&sources);
    let public = crate::public::types();
    let shared = definitions
        .into_iter()
        .filter(|(name, places)| places.len() > 1 && public.contains(name))
        .map(|(name, places)| (name, places.join(", ")));
    exceptions::check(
        "public-homonym",
        "rename the type that is not public",
        shared,
    );
}
