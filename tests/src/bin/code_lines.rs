//! Counts the lines of code that users compile: lines with a token, excluding comments, documentation and tests.
//!
//! Run it with `cargo run -p tests --bin code_lines`. Code behind `#[cfg(feature = …)]` counts if the feature is on, so
//! each crate has a column for no features and one for all of them.

#![expect(clippy::print_stdout, reason = "its output is the table")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

const CRATES: [&str; 5] = [
    "mcp-protocol",
    "mcp-schema",
    "mcp-skills",
    "mcp-runtime",
    "mcp-macros",
];

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let (mut none, mut all) = (0, 0);
    println!("{:14}{:>12}{:>14}", "", "no features", "all features");
    for name in CRATES {
        let library = root.join(name).join("src/lib.rs");
        let counts = [false, true].map(|features| Counter { features }.count_file(&library));
        println!("{name:14}{:>12}{:>14}", counts[0], counts[1]);
        none += counts[0];
        all += counts[1];
    }
    println!("{:14}{none:>12}{all:>14}", "together");
}

/// Counts the code of a crate with all of its features or with none.
#[derive(Clone, Copy)]
struct Counter {
    features: bool,
}

/// The lines of a file that contain code, and the modules that it declares in other files.
#[derive(Default)]
struct FileCode {
    lines: BTreeSet<usize>,
    modules: Vec<Vec<String>>,
}

impl Counter {
    fn count_file(self, path: &Path) -> usize {
        let text = std::fs::read_to_string(path).unwrap_or_else(|error| {
            panic!("{}: {error}", path.display());
        });
        let tokens: TokenStream = text.parse().expect("the sources are valid Rust");
        let mut code = FileCode::default();
        self.read(tokens, &mut Vec::new(), &mut code);
        let folder = folder_of_modules(path);
        let modules = code.modules.iter().map(|module| {
            let path = folder.join(module.join("/"));
            let file = path.with_extension("rs");
            self.count_file(&if file.is_file() {
                file
            } else {
                path.join("mod.rs")
            })
        });
        code.lines.len() + modules.sum::<usize>()
    }

    /// Records the code of a file or of a group within it. `within` is the path of the enclosing inline modules.
    fn read(self, tokens: TokenStream, within: &mut Vec<String>, code: &mut FileCode) {
        let tokens: Vec<_> = tokens.into_iter().collect();
        let mut at = 0;
        while let Some(token) = tokens.get(at) {
            if let Some((attribute, next)) = attribute(&tokens, at) {
                at = if is_documentation(&attribute) {
                    next
                } else if self.is_left_out(&attribute) {
                    after_item(&tokens, next)
                } else {
                    for token in &tokens[at..next] {
                        mark(token, code);
                    }
                    next
                };
                continue;
            }
            let module = inline_module(&tokens, at);
            if let (Some(name), Some(TokenTree::Punct(_))) = (&module, tokens.get(at + 2)) {
                code.modules
                    .push(within.iter().cloned().chain([name.clone()]).collect());
            }
            match token {
                TokenTree::Group(group) => {
                    code.lines.insert(group.span_open().start().line);
                    code.lines.insert(group.span_close().end().line);
                    let name = at.checked_sub(2).and_then(|at| inline_module(&tokens, at));
                    within.extend(name.clone());
                    self.read(group.stream(), within, code);
                    if name.is_some() {
                        within.pop();
                    }
                }
                token => mark(token, code),
            }
            at += 1;
        }
    }

    /// Returns `true` if this is a `#[cfg(…)]` whose condition is false.
    fn is_left_out(self, attribute: &[TokenTree]) -> bool {
        match attribute {
            [TokenTree::Ident(cfg), TokenTree::Group(condition)] if cfg == "cfg" => {
                !self.holds(condition.stream())
            }
            _ => false,
        }
    }

    fn holds(self, condition: TokenStream) -> bool {
        let tokens: Vec<_> = condition.into_iter().collect();
        match tokens.as_slice() {
            [TokenTree::Ident(all), TokenTree::Group(of)] if all == "all" => {
                parts(of.stream()).all(|part| self.holds(part))
            }
            [TokenTree::Ident(any), TokenTree::Group(of)] if any == "any" => {
                parts(of.stream()).any(|part| self.holds(part))
            }
            [TokenTree::Ident(not), TokenTree::Group(of)] if not == "not" => {
                !self.holds(of.stream())
            }
            [TokenTree::Ident(name), ..] if name == "feature" => self.features,
            [TokenTree::Ident(name), ..] => {
                name != "test" && name != "fuzzing" && name != "windows"
            }
            _ => true,
        }
    }
}

/// Returns the folder that contains the modules of a file.
fn folder_of_modules(path: &Path) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default();
    if stem == "lib" || stem == "mod" {
        path.with_file_name("")
    } else {
        path.with_extension("")
    }
}

/// Returns the content of the attribute at `at`, if there is one, and the index of the token after it.
fn attribute(tokens: &[TokenTree], at: usize) -> Option<(Vec<TokenTree>, usize)> {
    let TokenTree::Punct(hash) = tokens.get(at)? else {
        return None;
    };
    let is_inner =
        matches!(tokens.get(at + 1), Some(TokenTree::Punct(bang)) if bang.as_char() == '!');
    let next = at + 1 + usize::from(is_inner);
    match tokens.get(next)? {
        TokenTree::Group(group)
            if hash.as_char() == '#' && group.delimiter() == Delimiter::Bracket =>
        {
            Some((group.stream().into_iter().collect(), next + 1))
        }
        _ => None,
    }
}

fn is_documentation(attribute: &[TokenTree]) -> bool {
    let is_doc = matches!(attribute.first(), Some(TokenTree::Ident(name)) if name == "doc");
    is_doc && matches!(attribute.get(1), Some(TokenTree::Punct(_)))
}

/// Returns the index of the token after the item, field, variant or statement at `at`.
fn after_item(tokens: &[TokenTree], mut at: usize) -> usize {
    while let Some((_, next)) = attribute(tokens, at) {
        at = next;
    }
    // A visibility can precede a field as well.
    if matches!(tokens.get(at), Some(TokenTree::Ident(word)) if word == "pub") {
        at += 1;
        if matches!(tokens.get(at), Some(TokenTree::Group(of)) if of.delimiter() == Delimiter::Parenthesis)
        {
            at += 1;
        }
    }
    let items = [
        "fn",
        "struct",
        "enum",
        "impl",
        "mod",
        "use",
        "const",
        "static",
        "trait",
        "type",
        "async",
        "let",
        "unsafe",
        "extern",
        "macro_rules",
    ];
    let is_item = matches!(tokens.get(at), Some(TokenTree::Ident(first)) if items.iter().any(|item| first == item));
    while let Some(token) = tokens.get(at) {
        at += 1;
        match token {
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => {
                let is_end = |token: &TokenTree| matches!(token, TokenTree::Punct(end) if [';', ','].contains(&end.as_char()));
                return at + usize::from(tokens.get(at).is_some_and(is_end));
            }
            TokenTree::Punct(end) if end.as_char() == ';' => return at,
            TokenTree::Punct(end) if end.as_char() == ',' && !is_item => return at,
            _ => {}
        }
    }
    at
}

/// Returns the name of the module if `mod name` is at `at`.
fn inline_module(tokens: &[TokenTree], at: usize) -> Option<String> {
    match tokens.get(at..at + 2)? {
        [TokenTree::Ident(keyword), TokenTree::Ident(name)] if keyword == "mod" => {
            Some(name.to_string())
        }
        _ => None,
    }
}

/// Splits a list at its commas.
fn parts(list: TokenStream) -> impl Iterator<Item = TokenStream> {
    let tokens: Vec<_> = list.into_iter().collect();
    let is_comma =
        |token: &TokenTree| matches!(token, TokenTree::Punct(comma) if comma.as_char() == ',');
    let parts: Vec<TokenStream> = tokens
        .split(is_comma)
        .filter(|part| !part.is_empty())
        .map(|part| part.iter().cloned().collect())
        .collect();
    parts.into_iter()
}

/// Records the lines of a token and of everything in it.
fn mark(token: &TokenTree, code: &mut FileCode) {
    let span = token.span();
    code.lines.extend(span.start().line..=span.end().line);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str, features: bool) -> usize {
        let mut code = FileCode::default();
        let tokens = text.parse().unwrap();
        Counter { features }.read(tokens, &mut Vec::new(), &mut code);
        code.lines.len()
    }

    #[test]
    fn code_behind_a_feature_counts_only_with_the_feature() {
        for (text, none, all) in [
            ("/// Doc.\n// comment\nfn a() {}\n", 1, 1),
            ("#[cfg(test)]\nmod tests {\n}\nfn a() {}\n", 1, 1),
            (
                "struct A {\n#[cfg(feature = \"f\")]\npub(super) a: u8,\n#[cfg(feature = \"f\")]\npub b: u8,\nc: u8,\n}\n",
                3,
                7,
            ),
            (
                "fn a() {\n#[cfg(not(feature = \"f\"))]\nlet a = 1;\n#[cfg(feature = \"f\")]\nlet a = 2;\nb();\n}\n",
                5,
                5,
            ),
            (
                "#[cfg(feature = \"f\")]\npub fn a() -> (u8, u8) {\n(1, 2)\n}\nfn b() {}\n",
                1,
                5,
            ),
        ] {
            assert_eq!(
                (lines(text, false), lines(text, true)),
                (none, all),
                "{text}"
            );
        }
    }
}
