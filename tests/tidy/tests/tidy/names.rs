//! Checks that a type name has only one meaning.

use std::collections::BTreeMap;

use crate::exceptions;
use crate::sources::{Source, product};

/// Maximum percentage of types that may share their name with another type. The macros and the crates that are linked
/// into a server are counted separately.
const MOST_SHARED: usize = 4;

/// Returns the files that define each type name.
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
            // Variants of a type for different targets or features are in the same file and count once.
            if places.last() != Some(&source.path) {
                places.push(source.path.clone());
            }
        }
    }
    found
}

fn is_of_macros(source: &Source) -> bool {
    source.path.starts_with("mcp-macros/")
}

#[test]
fn few_types_share_their_name() {
    let (macros, runtime): (Vec<_>, Vec<_>) = product().into_iter().partition(is_of_macros);
    for (sources, which) in [(macros, "the macros"), (runtime, "the runtime")] {
        let definitions = definitions(&sources);
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
    let sources: Vec<_> = product()
        .into_iter()
        .filter(|source| !is_of_macros(source))
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
