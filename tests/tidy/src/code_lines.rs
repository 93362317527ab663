//! Counts lines of code: lines with a token, excluding comments, documentation and tests.

use std::collections::BTreeSet;

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

/// The builds whose code counts, as `#[cfg(…)]` decides. Code for tests never counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Build {
    /// The one without features.
    NoFeatures,
    /// The one with all features.
    AllFeatures,
    /// All of them, on every system.
    Any,
}

/// The code of a file.
#[derive(Debug, Default)]
pub struct FileCode {
    /// The lines that contain code, counted from 1.
    pub lines: BTreeSet<usize>,
    /// The modules that the file declares in other files, each with the inline modules around it.
    pub modules: Vec<Vec<String>>,
}

impl Build {
    /// Returns the number of lines of the text that contain code.
    ///
    /// # Panics
    ///
    /// Panics if the text is not valid Rust.
    #[must_use]
    pub fn count(self, text: &str) -> usize {
        self.code(text).lines.len()
    }

    /// Returns the code of the text of a file.
    ///
    /// # Panics
    ///
    /// Panics if the text is not valid Rust.
    #[must_use]
    pub fn code(self, text: &str) -> FileCode {
        let tokens = text.parse().expect("the sources are valid Rust");
        let mut code = FileCode::default();
        self.read(tokens, &mut Vec::new(), &mut code);
        code
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
                self.holds(condition.stream()) == Some(false)
            }
            _ => false,
        }
    }

    /// Returns whether a condition is true, or nothing if it is true in some builds only.
    fn holds(self, condition: TokenStream) -> Option<bool> {
        let tokens: Vec<_> = condition.into_iter().collect();
        let of = |group: &Group, decisive: bool| {
            let parts: Vec<_> = parts(group.stream()).map(|part| self.holds(part)).collect();
            match parts.as_slice() {
                parts if parts.contains(&Some(decisive)) => Some(decisive),
                parts if parts.contains(&None) => None,
                _ => Some(!decisive),
            }
        };
        match tokens.as_slice() {
            [TokenTree::Ident(all), TokenTree::Group(group)] if all == "all" => of(group, false),
            [TokenTree::Ident(any), TokenTree::Group(group)] if any == "any" => of(group, true),
            [TokenTree::Ident(not), TokenTree::Group(group)] if not == "not" => {
                self.holds(group.stream()).map(|holds| !holds)
            }
            [TokenTree::Ident(name), ..] if name == "test" => Some(false),
            _ if self == Build::Any => None,
            [TokenTree::Ident(name), ..] if name == "feature" => Some(self == Build::AllFeatures),
            [TokenTree::Ident(name), ..] => Some(name != "fuzzing" && name != "windows"),
            _ => Some(true),
        }
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
                (
                    Build::NoFeatures.count(text),
                    Build::AllFeatures.count(text)
                ),
                (none, all),
                "{text}"
            );
        }
    }

    #[test]
    fn code_of_any_build_counts_unless_it_is_for_tests() {
        for (condition, lines) in [
            ("feature = \"f\"", 2),
            ("not(feature = \"f\")", 2),
            ("windows", 2),
            ("any(test, feature = \"f\")", 2),
            ("not(test)", 2),
            ("test", 0),
            ("all(test, feature = \"f\")", 0),
            ("all(feature = \"f\", test)", 0),
        ] {
            let text = format!("// comment\n#[cfg({condition})]\n\nfn a() {{}}\n");
            assert_eq!(Build::Any.count(&text), lines, "{condition}");
        }
    }
}
