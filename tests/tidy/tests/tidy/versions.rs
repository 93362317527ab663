//! Checks that only the protocol crate knows how protocol versions differ.

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens as _;

use crate::exceptions;
use crate::sources::product;

#[test]
fn only_the_protocol_crate_names_single_versions() {
    let mut broken = Vec::new();
    for source in product() {
        // Most files do not have to be parsed.
        if source.path.starts_with("crates/protocol/") || !source.text.contains("V20") {
            continue;
        }
        for item in source.items() {
            if let Some(version) = version_in(item.to_token_stream()) {
                broken.push((source.path.clone(), format!("names {version}")));
            }
        }
    }
    broken.dedup_by(|a, b| a.0 == b.0);
    exceptions::check(
        "version",
        "ask a method of `ProtocolVersion` or `Method` what the version does",
        broken,
    );
}

/// Returns the first version name among the tokens, such as `V2025_11_25`.
fn version_in(tokens: TokenStream) -> Option<String> {
    tokens.into_iter().find_map(|token| match token {
        TokenTree::Group(group) => version_in(group.stream()),
        TokenTree::Ident(ident) => {
            let name = ident.to_string();
            (name.starts_with("V20") && name.len() == "V2025_11_25".len()).then_some(name)
        }
        _ => None,
    })
}
