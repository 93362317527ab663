//! Tags for definitions, and the selection of definitions by tag.
//!
//! `issues,-admin` selects the definitions that have the tag `issues` but not the tag `admin`. A server's selection
//! determines the definitions that it serves, and a request's selection narrows that request's view. A definition must
//! match all selections.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use mcp_schema::suggest::closest;

/// Maximum number of tags in one list.
const MAX_TAGS: usize = 64;

/// Returns the reason why definitions cannot have this tag, or `None` if they can.
#[must_use]
pub fn problem(tag: &str) -> Option<String> {
    let reason = if tag.is_empty() {
        "is empty"
    } else if tag.starts_with('-') {
        "begins with `-`, which excludes a tag"
    } else if tag.contains(',') {
        "contains `,`, which separates tags"
    } else if tag.contains(|char: char| char.is_whitespace() || char.is_control()) {
        "contains white space or control characters"
    } else {
        return None;
    };
    Some(format!("the tag `{}` {reason}", tag.escape_debug()))
}

/// A selection of definitions by their tags. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TagSelection(Arc<[TagList]>);

/// A list of tags as written by its author, such as `issues,-admin`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct TagList {
    /// Definitions must have one of these tags. If the list is empty, all definitions match, even those without tags.
    included: Vec<Box<str>>,
    /// Definitions must not have any of these tags.
    excluded: Vec<Box<str>>,
}

impl TagSelection {
    /// Parses tags that are separated by commas. A tag preceded by `-` is excluded.
    ///
    /// # Errors
    ///
    /// Returns the reason why the text is not such a list.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut list = TagList::default();
        for word in text.split(',').map(str::trim) {
            let (names, name) = match word.strip_prefix('-') {
                Some(name) => (&mut list.excluded, name),
                None => (&mut list.included, word),
            };
            if name.is_empty() {
                return Err(
                    "a tag is empty; write tags like `issues,-admin`, or omit the list".into(),
                );
            }
            if !names.iter().any(|known| **known == *name) {
                names.push(name.into());
            }
        }
        if list.names().count() > MAX_TAGS {
            return Err(format!("there are more than {MAX_TAGS} tags"));
        }
        Ok(Self(Arc::new([list])))
    }

    /// Returns the intersection of both selections.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        let lists = self.0.iter().chain(other.0.iter());
        Self(lists.cloned().collect())
    }

    /// Returns the lists of tags, each in the form that [`parse`](Self::parse) accepts. A definition must match all of
    /// them.
    pub(crate) fn lists(&self) -> Vec<String> {
        let lists = self.0.iter().map(|list| {
            let excluded = list.excluded.iter().map(|tag| format!("-{tag}"));
            let included = list.included.iter().map(ToString::to_string);
            included.chain(excluded).collect::<Vec<_>>().join(",")
        });
        lists.collect()
    }

    /// Returns `true` if a definition with these tags is selected.
    pub(crate) fn selects(&self, tags: &[Box<str>]) -> bool {
        let has = |names: &[Box<str>]| names.iter().any(|name| tags.contains(name));
        self.0
            .iter()
            .all(|list| (list.included.is_empty() || has(&list.included)) && !has(&list.excluded))
    }

    /// Returns an error for the first tag that is not `known`. The error suggests one of the tags in `show` or lists
    /// all of them.
    pub(crate) fn check<'t>(
        &self,
        known: impl Fn(&str) -> bool,
        show: impl FnOnce() -> BTreeSet<&'t str>,
    ) -> Result<(), UnknownTag> {
        let mut names = self.0.iter().flat_map(TagList::names);
        let Some(unknown) = names.find(|name| !known(name)) else {
            return Ok(());
        };
        Err(UnknownTag::new(unknown, show()))
    }
}

impl TagList {
    fn names(&self) -> impl Iterator<Item = &str> {
        let names = self.included.iter().chain(&self.excluded);
        names.map(|name| &**name)
    }
}

/// A tag that does not belong to any definition.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct UnknownTag {
    tag: String,
    suggestion: Option<String>,
    /// The tags that definitions have.
    known: Vec<String>,
}

impl UnknownTag {
    /// Creates the error for a tag. The error lists the tags that do exist.
    pub(crate) fn new<'t>(tag: &str, known: impl IntoIterator<Item = &'t str>) -> Self {
        let known: Vec<&str> = known.into_iter().collect();
        Self {
            tag: tag.to_owned(),
            suggestion: closest(tag, known.iter().copied()).map(str::to_owned),
            known: known.into_iter().map(str::to_owned).collect(),
        }
    }
}

impl fmt::Display for UnknownTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no definition has the tag `{}`", self.tag.escape_debug())?;
        match self.known.as_slice() {
            [] => f.write_str("; there are no tags")?,
            known => write!(f, "; the tags are `{}`", known.join("`, `"))?,
        }
        match &self.suggestion {
            Some(meant) => write!(f, "; did you mean `{meant}`?"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selects(selection: &TagSelection, tags: &[&str]) -> bool {
        let tags: Vec<Box<str>> = tags.iter().map(|tag| (*tag).into()).collect();
        selection.selects(&tags)
    }

    #[test]
    fn a_list_includes_and_excludes() {
        let none: &[&str] = &[];
        for (text, selected, others) in [
            (
                "issues",
                vec![&["issues"][..], &["admin", "issues"]],
                vec![none, &["pulls"]],
            ),
            (
                "-admin",
                vec![none, &["issues"]],
                vec![&["admin"][..], &["issues", "admin"]],
            ),
            (
                " issues , pulls ,-admin",
                vec![&["issues"][..], &["pulls"]],
                vec![none, &["pulls", "admin"]],
            ),
        ] {
            let selection = TagSelection::parse(text).unwrap();
            assert!(
                selected.iter().all(|tags| selects(&selection, tags)),
                "{text}"
            );
            assert!(
                !others.iter().any(|tags| selects(&selection, tags)),
                "{text}"
            );
        }
    }

    #[test]
    fn a_combined_selection_needs_both_selections() {
        let (one, other) = (TagSelection::parse("admin"), TagSelection::parse("-admin"));
        let both = one.unwrap().and(&other.unwrap());
        assert!(!selects(&both, &["admin"]) && !selects(&both, &[]));
    }

    #[test]
    fn a_malformed_tag_list_is_refused() {
        let many: Vec<String> = (0..=MAX_TAGS).map(|tag| format!("t{tag}")).collect();
        for text in ["", " ", "a,", ",a", "-", "a,-", "a,,b", &many.join(",")] {
            assert!(TagSelection::parse(text).is_err(), "{text}");
        }
        assert!(TagSelection::parse(&many[1..].join(",")).is_ok());
    }

    #[test]
    fn an_unknown_tag_is_named_with_those_that_exist() {
        let check = |text: &str, known: &[&'static str]| {
            let selection = TagSelection::parse(text).unwrap();
            let checked = selection.check(
                |tag| known.contains(&tag),
                || known.iter().copied().collect(),
            );
            checked.map_err(|unknown| unknown.to_string())
        };
        assert_eq!(check("issues,-admin", &["admin", "issues"]), Ok(()));
        assert_eq!(
            check("issues,-amdin", &["admin", "issues"]),
            Err("no definition has the tag `amdin`; the tags are `admin`, `issues`; did you mean `admin`?".into())
        );
        assert_eq!(
            check("x", &[]),
            Err("no definition has the tag `x`; there are no tags".into())
        );
    }

    #[test]
    fn a_tag_that_no_list_could_select_is_refused() {
        for tag in ["", "-a", "a,b", "a b", "a\n"] {
            assert!(problem(tag).is_some(), "{tag:?}");
        }
        assert_eq!(problem("pull-requests"), None);
    }
}
