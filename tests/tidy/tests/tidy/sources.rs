//! Reads the project's sources with their comments, string literals and items.

use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, TokenStream, TokenTree};
pub(crate) use tidy::root;

/// A Rust source file.
pub(crate) struct Source {
    /// The path relative to the root of the repository, with `/` as separator.
    pub(crate) path: String,
    pub(crate) text: String,
}

/// Returns all files in the folders that have the extension, sorted by path. A folder may also be a single file.
pub(crate) fn files(folders: &[&str], extension: &str) -> Vec<Source> {
    let mut found = Vec::new();
    for folder in folders {
        collect(&root().join(folder), extension, &mut found);
    }
    found.sort();
    found
        .into_iter()
        .map(|path| Source {
            text: std::fs::read_to_string(&path).unwrap(),
            path: path
                .strip_prefix(root())
                .unwrap()
                .to_str()
                .unwrap()
                .replace('\\', "/"),
        })
        .collect()
}

fn collect(folder: &Path, extension: &str, found: &mut Vec<PathBuf>) {
    if folder.is_file() {
        found.push(folder.to_path_buf());
        return;
    }
    for entry in
        std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
    {
        let path = entry.unwrap().path();
        if path.is_dir() {
            if !path.ends_with("target") && !path.ends_with("node_modules") {
                collect(&path, extension, found);
            }
        } else if path.extension().is_some_and(|found| found == extension) {
            found.push(path);
        }
    }
}

/// Returns the sources of the crates that users build, excluding test files.
pub(crate) fn product() -> Vec<Source> {
    let mut folders = crates("src");
    folders.extend(["mcp-macros/src", "mcp-runtime/src"].map(str::to_owned));
    let folders: Vec<&str> = folders.iter().map(String::as_str).collect();
    let sources = files(&folders, "rs").into_iter();
    sources.filter(|source| !source.is_test()).collect()
}

/// Returns the path of a file or folder in each crate below `crates/`, so that a new crate cannot be forgotten.
pub(crate) fn crates(part: &str) -> Vec<String> {
    let folder = root().join("crates");
    let entries = std::fs::read_dir(folder).expect("there are crates");
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut paths: Vec<_> = names.map(|name| format!("crates/{name}/{part}")).collect();
    paths.sort();
    paths
}

impl Source {
    /// Returns `true` if the file contains only tests.
    pub(crate) fn is_test(&self) -> bool {
        let mut parts = self.path.rsplit('/');
        let file = parts.next().unwrap_or_default();
        matches!(file, "tests.rs" | "fuzzing.rs" | "fixture.rs")
            || file.starts_with("test_")
            || parts.any(|folder| folder == "tests")
    }

    /// Returns the items in the file, excluding items with `#[cfg(test)]`.
    pub(crate) fn items(&self) -> Vec<syn::Item> {
        let file =
            syn::parse_file(&self.text).unwrap_or_else(|error| panic!("{}: {error}", self.path));
        file.items
            .into_iter()
            .filter(|item| !attributes(item).iter().any(is_for_tests))
            .collect()
    }

    /// Returns the text before the module of tests that stands in the file, if there is one.
    pub(crate) fn product(&self) -> &str {
        let mut start = 0;
        while let Some(at) = self.text[start..].find("\n#[cfg(test)]\n") {
            let end = start + at + 1;
            let item = self.text[end..].lines().nth(1).unwrap_or_default();
            if item.starts_with("mod ") && item.ends_with('{') {
                return &self.text[..end];
            }
            start = end;
        }
        &self.text
    }

    /// Returns each block of lines that contain only a comment as one string, with the number of its first line.
    pub(crate) fn comments(&self) -> Vec<(usize, String)> {
        let mut found: Vec<(usize, String)> = Vec::new();
        let mut is_going_on = false;
        let mut is_fenced = false;
        for (number, line) in self.product().lines().enumerate() {
            let Some(comment) = line.trim_start().strip_prefix("//") else {
                is_going_on = false;
                is_fenced = false;
                continue;
            };
            let comment = comment.trim_start_matches(['/', '!']).trim();
            if comment.starts_with("```") {
                is_fenced = !is_fenced;
                continue;
            }
            match found.last_mut() {
                Some((_, text)) if is_going_on => {
                    if !is_fenced {
                        text.push('\n');
                        text.push_str(comment);
                    }
                }
                _ => found.push((number + 1, comment.to_owned())),
            }
            is_going_on = true;
        }
        found
    }

    /// Returns the string literals in the file with their line numbers, excluding tests and attributes.
    pub(crate) fn strings(&self) -> Vec<(usize, String)> {
        let mut found = Vec::new();
        if let Ok(tokens) = self.product().parse::<TokenStream>() {
            strings(tokens, &mut found);
        }
        found
    }
}

fn strings(tokens: TokenStream, found: &mut Vec<(usize, String)>) {
    let mut is_attribute = false;
    for token in tokens {
        match token {
            TokenTree::Group(group) => {
                if !(is_attribute && group.delimiter() == Delimiter::Bracket) {
                    strings(group.stream(), found);
                }
                is_attribute = false;
            }
            TokenTree::Punct(punct) => {
                is_attribute = punct.as_char() == '#' || (is_attribute && punct.as_char() == '!');
            }
            TokenTree::Literal(literal) => {
                is_attribute = false;
                if let syn::Lit::Str(text) = syn::Lit::new(literal) {
                    found.push((text.span().start().line, text.value()));
                }
            }
            TokenTree::Ident(_) => is_attribute = false,
        }
    }
}

fn attributes(item: &syn::Item) -> &[syn::Attribute] {
    match item {
        syn::Item::Const(item) => &item.attrs,
        syn::Item::Enum(item) => &item.attrs,
        syn::Item::Fn(item) => &item.attrs,
        syn::Item::Impl(item) => &item.attrs,
        syn::Item::Mod(item) => &item.attrs,
        syn::Item::Static(item) => &item.attrs,
        syn::Item::Struct(item) => &item.attrs,
        syn::Item::Trait(item) => &item.attrs,
        syn::Item::Type(item) => &item.attrs,
        syn::Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

fn is_for_tests(attribute: &syn::Attribute) -> bool {
    attribute.path().is_ident("cfg")
        && attribute
            .parse_args::<syn::Path>()
            .is_ok_and(|path| path.is_ident("test"))
}

/// Returns `true` if an item is hidden from the documentation.
pub(crate) fn is_hidden(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("doc")
            && attribute
                .parse_args::<syn::Ident>()
                .is_ok_and(|word| word == "hidden")
    })
}
