//! Checks the three stages of the macros: each uses only the stages before it, and only the last one produces tokens.

use std::collections::BTreeSet;

use proc_macro2::{TokenStream, TokenTree};

use crate::exceptions;
use crate::sources::product;

const FOLDER: &str = "mcp-macros/src/";

/// The modules of the macro crate, each with the later modules that it must not use.
const LATER: [(&str, &[&str]); 4] = [
    ("errors", &["parse", "model", "expand", "stages"]),
    ("parse", &["model", "expand", "stages"]),
    ("model", &["expand", "stages"]),
    ("expand", &["stages"]),
];

/// Macros that produce tokens.
const QUOTING: [&str; 5] = [
    "quote!",
    "quote_spanned!",
    "parse_quote!",
    "parse_quote_spanned!",
    "format_ident!",
];

/// Returns the paths and the tokens of all files in a module, excluding tests.
fn sources(module: &str) -> impl Iterator<Item = (String, TokenStream)> {
    let file = format!("{FOLDER}{module}.rs");
    let folder = format!("{FOLDER}{module}/");
    product()
        .into_iter()
        .filter(move |source| source.path == file || source.path.starts_with(&folder))
        .map(|source| {
            let product = source.text.split("\n#[cfg(test)]").next();
            (source.path.clone(), product.unwrap().parse().unwrap())
        })
}

/// Collects the modules of the crate that the tokens refer to, in imports and in paths.
fn modules(tokens: TokenStream, found: &mut BTreeSet<String>) {
    let mut trees = tokens.into_iter().peekable();
    while let Some(tree) = trees.next() {
        match tree {
            TokenTree::Ident(word) if word == "crate" => {
                while matches!(trees.peek(), Some(TokenTree::Punct(punct)) if punct.as_char() == ':')
                {
                    trees.next();
                }
                match trees.next() {
                    Some(TokenTree::Ident(module)) => _ = found.insert(module.to_string()),
                    Some(TokenTree::Group(list)) => found.extend(words(list.stream())),
                    _ => {}
                }
            }
            TokenTree::Group(group) => modules(group.stream(), found),
            _ => {}
        }
    }
}

/// Returns the identifiers among the tokens. The name of an invoked macro ends in `!`.
fn words(tokens: TokenStream) -> Vec<String> {
    let mut found = Vec::new();
    let mut trees = tokens.into_iter().peekable();
    while let Some(tree) = trees.next() {
        match tree {
            TokenTree::Ident(word) => found.push(match trees.peek() {
                Some(TokenTree::Punct(punct)) if punct.as_char() == '!' => format!("{word}!"),
                _ => word.to_string(),
            }),
            TokenTree::Group(group) => found.extend(words(group.stream())),
            _ => {}
        }
    }
    found
}

#[test]
fn a_macro_stage_uses_only_earlier_stages() {
    let mut broken = Vec::new();
    for (module, later) in LATER {
        for (path, tokens) in sources(module) {
            let mut used = BTreeSet::new();
            modules(tokens, &mut used);
            for name in later.iter().filter(|name| used.contains(**name)) {
                broken.push((format!("{path} `{name}`"), "comes later".to_owned()));
            }
        }
    }
    exceptions::check(
        "stage",
        "move what both need to the earlier stage, or call it from `stages`",
        broken,
    );
}

#[test]
fn only_the_expand_stage_produces_tokens() {
    let mut broken = Vec::new();
    for module in ["errors", "parse", "model", "stages"] {
        for (path, tokens) in sources(module) {
            for word in words(tokens) {
                if QUOTING.contains(&&*word) || (module == "model" && word == "TokenStream") {
                    broken.push((format!("{path} `{word}`"), "makes tokens".to_owned()));
                }
            }
        }
    }
    exceptions::check("quote", "make tokens in `expand`", broken);
}
