//! Turns a guide page into a module's documentation, with links that rustdoc resolves and checks.
//!
//! Pages are written for the repository, where links contain file names, as in `[State](state.md#methods)`. In the
//! documentation, each page is a module, so the link becomes `[State](crate::guide::state#methods)`. Code such as
//! `Server::env` becomes a link to the item the first time a section mentions it. Only the documentation of
//! `mcp-runtime` uses this module.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::parse::Parser as _;

/// Expands `guide_page!(page, items)` to a string, reading both files from the package.
pub(crate) fn expand(input: TokenStream, package: Option<PathBuf>) -> TokenStream {
    let names =
        syn::punctuated::Punctuated::<syn::LitStr, syn::Token![,]>::parse_terminated.parse2(input);
    let text = names.and_then(|names| {
        let names: Vec<_> = names.iter().map(syn::LitStr::value).collect();
        let (Some(package), [name, items]) = (package, &*names) else {
            return Err(syn::Error::new(
                Span::call_site(),
                "`guide_page!` needs a page and the list of items",
            ));
        };
        let repository = std::env::var("CARGO_PKG_REPOSITORY").unwrap_or_default();
        page(&package, &repository, name, items)
            .map_err(|problem| syn::Error::new(Span::call_site(), problem))
    });
    match text {
        Ok(text) => quote!(#text),
        Err(error) => error.to_compile_error(),
    }
}

/// Reads the page `docs/PAGE` of a package and returns it with its links replaced.
///
/// `items` is a file in the package. Each line contains the path of a module and the names of items in that module,
/// separated by spaces.
fn page(package: &Path, repository: &str, page: &str, items: &str) -> Result<String, String> {
    let read = |file: &str| {
        std::fs::read_to_string(package.join(file)).map_err(|error| format!("{file}: {error}"))
    };
    let items = read(items)?;
    let text = read(&format!("docs/{page}"))?;
    let mut modules = BTreeMap::new();
    // Pages about other frameworks mention items from those frameworks, which must not become links.
    let lines = items.lines().filter(|_| !page.starts_with("from-"));
    for line in lines {
        let mut words = line.split_whitespace();
        let module = words.next().unwrap_or_default();
        modules.extend(words.map(|name| (name, module)));
    }
    Ok(replace_links(&text, repository, &modules))
}

fn replace_links(text: &str, repository: &str, modules: &BTreeMap<&str, &str>) -> String {
    let mut replaced = String::new();
    let mut prose = String::new();
    let mut linked = BTreeSet::new();
    let mut is_fenced = false;
    for line in text.split_inclusive('\n') {
        let is_fence = line.trim_start().starts_with("```");
        let is_heading = !is_fenced && line.starts_with('#');
        if is_fenced || is_fence || is_heading {
            of_prose(&prose, repository, modules, &mut linked, &mut replaced);
            prose.clear();
            replaced.push_str(line);
            is_fenced ^= is_fence;
        } else {
            prose.push_str(line);
        }
        if is_heading {
            linked.clear();
        }
    }
    of_prose(&prose, repository, modules, &mut linked, &mut replaced);
    replaced
}

/// Appends text outside code blocks after replacing its links. `linked` contains the items that the section already
/// links to.
fn of_prose(
    mut text: &str,
    repository: &str,
    modules: &BTreeMap<&str, &str>,
    linked: &mut BTreeSet<String>,
    replaced: &mut String,
) {
    while let Some(at) = text.find(['`', '[']) {
        let (before, rest) = text.split_at(at);
        replaced.push_str(before);
        let (whole, after) = if rest.starts_with('[') {
            link(rest).map_or((None, ""), |(label, target, after)| {
                let whole = target_of(target, repository).map_or_else(
                    || {
                        if replaced.ends_with('!') {
                            replaced.pop();
                        }
                        label.to_owned()
                    },
                    |target| format!("[{label}]({target})"),
                );
                (Some(whole), after)
            })
        } else {
            code(rest).map_or((None, ""), |(code, after)| {
                let item = item_of(code.trim_matches('`'), modules);
                let item = item.filter(|item| linked.insert(item.clone()));
                (
                    Some(item.map_or_else(|| code.to_owned(), |item| format!("[{code}]({item})"))),
                    after,
                )
            })
        };
        if let Some(whole) = whole {
            replaced.push_str(&whole);
            text = after;
        } else {
            let (mark, after) = rest.split_at(1);
            replaced.push_str(mark);
            text = after;
        }
    }
    replaced.push_str(text);
}

/// Splits off a link at the beginning of a text. Returns its label, its target, and the text after it.
fn link(text: &str) -> Option<(&str, &str, &str)> {
    let (label, rest) = text.strip_prefix('[')?.split_once("](")?;
    let is_label = !label.replace("](", "").contains("\n\n")
        && label.matches('[').count() == label.matches(']').count();
    let (target, after) = rest.split_once(')')?;
    (is_label && !target.contains(char::is_whitespace)).then_some((label, target, after))
}

/// Splits off code in backticks at the beginning of a text.
fn code(text: &str) -> Option<(&str, &str)> {
    let ticks = text.len() - text.trim_start_matches('`').len();
    let end = text[ticks..].find(&text[..ticks])? + 2 * ticks;
    Some(text.split_at(end))
}

/// Converts a link target in the repository to the corresponding target in the documentation. There is none for files
/// outside of the guide while the repository has no address.
fn target_of(target: &str, repository: &str) -> Option<String> {
    let (file, fragment) = target
        .split_once('#')
        .map_or((target, String::new()), |(file, name)| {
            (file, format!("#{name}"))
        });
    if file.is_empty() || file.contains(':') {
        return Some(target.to_owned());
    }
    let path = match file.strip_suffix(".md") {
        Some("README") => format!("crate::guide{fragment}"),
        Some(page) if page != "requirements" && !page.contains('/') => {
            format!("crate::guide::{}{fragment}", page.replace('-', "_"))
        }
        _ if repository.is_empty() => return None,
        _ => {
            let path = file
                .strip_prefix("../")
                .map_or_else(|| format!("docs/{file}"), str::to_owned);
            let is_image = Path::new(&path)
                .extension()
                .is_some_and(|end| end == "png" || end == "svg");
            let kind = if is_image { "raw" } else { "blob" };
            format!("{repository}/{kind}/main/{path}{fragment}")
        }
    };
    Some(path)
}

/// Returns the path of the item to which code such as `Server::env(…)` or `ctx.elicit` refers, if the item is in the
/// list.
fn item_of(code: &str, modules: &BTreeMap<&str, &str>) -> Option<String> {
    let path = code.split_once('(').map_or(code, |(path, _)| path);
    let path = path
        .split_once('<')
        .map_or(path, |(path, _)| path.trim_end_matches("::"));
    let is_name = |name: &str| {
        !name.is_empty()
            && name
                .chars()
                .all(|letter| letter.is_alphanumeric() || letter == '_')
    };
    if !path
        .split("::")
        .all(|name| is_name(name.strip_prefix("ctx.").unwrap_or(name)))
    {
        return None;
    }
    let path = path
        .strip_prefix("ctx.")
        .map_or_else(|| path.to_owned(), |method| format!("Context::{method}"));
    // A method that a trait adds to a type is listed with both, after the path of the trait.
    if let (Some(adding), Some((_, method))) = (modules.get(&*path), path.rsplit_once("::")) {
        return Some(format!("{adding}::{method}"));
    }
    let first = path.split("::").next().unwrap_or_default();
    modules.get(first).map(|module| format!("{module}::{path}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replaced(text: &str) -> String {
        let modules = BTreeMap::from([
            ("Context", "crate"),
            ("Server", "crate"),
            ("Jwt", "crate::auth"),
            ("Context::start_task", "crate::tasks::TaskContextExt"),
        ]);
        replace_links(text, "https://example.com/r", &modules)
    }

    #[test]
    fn pages_and_files_are_found() {
        for (text, expected) in [
            (
                "[State](state.md#methods)",
                "[State](crate::guide::state#methods)",
            ),
            ("[eras](README.md#eras) ", "[eras](crate::guide#eras) "),
            (
                "[many\ntools](many-tools.md).",
                "[many\ntools](crate::guide::many_tools).",
            ),
            (
                "[x](#below), [y](https://a/b.md)",
                "[x](#below), [y](https://a/b.md)",
            ),
            (
                "[`a`](../examples/a)",
                "[`a`](https://example.com/r/blob/main/examples/a)",
            ),
            (
                "![a page](images/a.png)",
                "![a page](https://example.com/r/raw/main/docs/images/a.png)",
            ),
            (
                "[BASE-1](requirements.md)",
                "[BASE-1](https://example.com/r/blob/main/docs/requirements.md)",
            ),
            ("- [ ] [a](b.md)", "- [ ] [a](crate::guide::b)"),
            (
                "```\n[a](b.md) `Server`\n```\n",
                "```\n[a](b.md) `Server`\n```\n",
            ),
        ] {
            assert_eq!(replaced(text), expected, "{text}");
        }
    }

    #[test]
    fn without_a_base_url_files_outside_of_the_guide_are_not_linked() {
        let text = "[`a`](../examples/a), ![a page](images/a.png) and [b](b.md)";
        assert_eq!(
            replace_links(text, "", &BTreeMap::new()),
            "`a`, a page and [b](crate::guide::b)"
        );
    }

    #[test]
    fn items_are_linked_once_in_a_section() {
        assert_eq!(
            replaced(
                "`Server::env`, `Server::env(…)`, `Jwt`, [`Server`](a.md), `ctx.elicit::<T>(x)`, `ctx.start_task()`\n## `Server`\n`Server::env`, `Other`, `a [b`"
            ),
            "[`Server::env`](crate::Server::env), `Server::env(…)`, [`Jwt`](crate::auth::Jwt), [`Server`](crate::guide::a), \
             [`ctx.elicit::<T>(x)`](crate::Context::elicit), \
             [`ctx.start_task()`](crate::tasks::TaskContextExt::start_task)\n## `Server`\n[`Server::env`](crate::Server::env), `Other`, `a [b`"
        );
    }
}
