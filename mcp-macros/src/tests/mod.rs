//! Pretty-printed snapshots of expansions. Review a changed snapshot line by line before accepting it.

mod access;
mod completer;
mod data;
mod prompt;
mod resource;
mod server;
#[cfg(feature = "skills")]
mod skills;
mod tool;

use expect_test::Expect;
use proc_macro2::TokenStream;

use crate::parse::kind::Kind;
use crate::stages;

/// Expands an attribute on a function.
#[track_caller]
fn check(kind: Kind, options: &str, item: &str, expected: &Expect) {
    check_tokens(
        &stages::expand_handler(kind, tokens(options), tokens(item)),
        expected,
    );
}

/// Expands `#[server]`.
#[track_caller]
fn check_server(item: &str, expected: &Expect) {
    check_tokens(
        &stages::expand_server(TokenStream::new(), tokens(item)),
        expected,
    );
}

#[track_caller]
fn check_tokens(emitted: &TokenStream, expected: &Expect) {
    let text = match syn::parse2(emitted.clone()) {
        Ok(file) => prettyplease::unparse(&file),
        Err(_) => emitted.to_string(),
    };
    expected.assert_eq(&text);
}

fn tokens(text: &str) -> TokenStream {
    text.parse().expect("a test writes tokens")
}
