//! The set of resources to which a listener is subscribed.
//!
//! A copy shares its contents with the original, and a change costs as much for the thousandth URI as for the tenth. A
//! session's record and its live part therefore hold each URI only once, and finding out how they differ takes no
//! longer if there are many.
//!
//! The set is a search tree whose nodes are never changed. Each node's priority is higher than those of the nodes below
//! it, and is derived from its URI with a key that clients do not know, so that they cannot make the tree deep.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Arc, LazyLock};

use mcp_schema::template::normal_uri;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::limits::StreamLimits;

/// Approximate size of a node without the URI's characters, in bytes.
const NODE_BYTES: usize = 96;

/// A set of URIs.
#[derive(Clone, Default)]
pub struct Subscriptions {
    root: Tree,
    count: u32,
    bytes: u32,
}

type Tree = Option<Arc<Node>>;

struct Node {
    uri: Arc<str>,
    priority: u64,
    /// The URIs that come before this one.
    before: Tree,
    /// The URIs that come after this one.
    after: Tree,
}

/// Returns the number of bytes that count for a subscription to this URI.
pub(crate) fn subscription_bytes(uri: &str) -> usize {
    uri.len().saturating_add(NODE_BYTES)
}

impl Subscriptions {
    /// Returns the number of URIs.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count as usize
    }

    /// Returns the sum of the URIs' [`subscription_bytes`].
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes as usize
    }

    /// Returns `true` if one session may have all of them.
    #[must_use]
    pub fn are_within(&self, limits: &StreamLimits) -> bool {
        self.count() <= limits.max_subscriptions
            && self.bytes() <= limits.max_subscription_bytes_per_session
    }

    pub(crate) fn contains(&self, uri: &str) -> bool {
        self.find(uri).is_some()
    }

    /// Returns the URI as it is held in this set.
    pub(super) fn find(&self, uri: &str) -> Option<&Arc<str>> {
        let mut tree = &self.root;
        while let Some(node) = tree {
            tree = match compare(uri, &node.uri) {
                Ordering::Equal => return Some(&node.uri),
                Ordering::Less => &node.before,
                Ordering::Greater => &node.after,
            };
        }
        None
    }

    /// Returns the URIs that are equivalent to one in its [normal form](normal_uri).
    pub(super) fn spellings(&self, normal: &str) -> Vec<Arc<str>> {
        let mut found = Vec::new();
        collect_spellings(&self.root, normal, &mut found);
        found
    }

    /// Adds a URI, unless it is already there.
    pub fn insert(&mut self, uri: Arc<str>) {
        static PRIORITIES: LazyLock<RandomState> = LazyLock::new(RandomState::new);
        if self.contains(&uri) {
            return;
        }
        let bytes = u32::try_from(subscription_bytes(&uri)).unwrap_or(u32::MAX);
        self.count = self.count.saturating_add(1);
        self.bytes = self.bytes.saturating_add(bytes);
        let priority = PRIORITIES.hash_one(&*uri);
        self.root = Some(with(&self.root, uri, priority));
    }

    /// Removes a URI, if it is there.
    pub fn remove(&mut self, uri: &str) {
        if !self.contains(uri) {
            return;
        }
        let bytes = u32::try_from(subscription_bytes(uri)).unwrap_or(u32::MAX);
        self.count = self.count.saturating_sub(1);
        self.bytes = self.bytes.saturating_sub(bytes);
        self.root = without(&self.root, uri);
    }

    /// Returns the URIs in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<str>> {
        let mut tree = &self.root;
        let mut open = Vec::new();
        std::iter::from_fn(move || {
            while let Some(node) = tree {
                open.push(node);
                tree = &node.before;
            }
            let node = open.pop()?;
            tree = &node.after;
            Some(&node.uri)
        })
    }

    /// Returns the URIs that `other` does not have. Takes time only for the parts that the sets do not share.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Vec<Arc<str>> {
        let mut found = Vec::new();
        collect_difference(&self.root, &other.root, &mut found);
        found
    }
}

impl Node {
    /// Returns a copy with these subtrees.
    fn with_subtrees(&self, before: Tree, after: Tree) -> Arc<Self> {
        Arc::new(Self {
            uri: Arc::clone(&self.uri),
            priority: self.priority,
            before,
            after,
        })
    }
}

/// Compares two URIs by their normal forms, so that equivalent ones are next to each other, and then by their text.
fn compare(one: &str, other: &str) -> Ordering {
    let by_form = normal_uri(one).cmp(&normal_uri(other));
    by_form.then_with(|| one.cmp(other))
}

/// Appends the URIs of the tree with this normal form.
fn collect_spellings(tree: &Tree, normal: &str, found: &mut Vec<Arc<str>>) {
    let Some(node) = tree else { return };
    let order = normal.cmp(&normal_uri(&node.uri));
    if order.is_le() {
        collect_spellings(&node.before, normal, found);
    }
    if order.is_eq() {
        found.push(Arc::clone(&node.uri));
    }
    if order.is_ge() {
        collect_spellings(&node.after, normal, found);
    }
}

/// Returns the tree with a URI that it does not have.
fn with(tree: &Tree, uri: Arc<str>, priority: u64) -> Arc<Node> {
    match tree {
        Some(node) if node.priority >= priority => {
            let Node { before, after, .. } = &**node;
            if compare(&uri, &node.uri).is_lt() {
                node.with_subtrees(Some(with(before, uri, priority)), after.clone())
            } else {
                node.with_subtrees(before.clone(), Some(with(after, uri, priority)))
            }
        }
        below => {
            let (before, _, after) = split(below, &uri);
            Arc::new(Node {
                uri,
                priority,
                before,
                after,
            })
        }
    }
}

/// Returns the parts of the tree before and after a URI, and whether the tree has the URI itself.
fn split(tree: &Tree, uri: &str) -> (Tree, bool, Tree) {
    let Some(node) = tree else {
        return (None, false, None);
    };
    match compare(uri, &node.uri) {
        Ordering::Equal => (node.before.clone(), true, node.after.clone()),
        Ordering::Less => {
            let (before, is_there, between) = split(&node.before, uri);
            (
                before,
                is_there,
                Some(node.with_subtrees(between, node.after.clone())),
            )
        }
        Ordering::Greater => {
            let (between, is_there, after) = split(&node.after, uri);
            (
                Some(node.with_subtrees(node.before.clone(), between)),
                is_there,
                after,
            )
        }
    }
}

/// Returns the tree without a URI.
fn without(tree: &Tree, uri: &str) -> Tree {
    let node = tree.as_ref()?;
    match compare(uri, &node.uri) {
        Ordering::Equal => join(&node.before, &node.after),
        Ordering::Less => Some(node.with_subtrees(without(&node.before, uri), node.after.clone())),
        Ordering::Greater => {
            Some(node.with_subtrees(node.before.clone(), without(&node.after, uri)))
        }
    }
}

/// Joins two trees. All URIs of the first one come before those of the second one.
fn join(before: &Tree, after: &Tree) -> Tree {
    match (before, after) {
        (None, tree) | (tree, None) => tree.clone(),
        (Some(first), Some(second)) if first.priority >= second.priority => {
            Some(first.with_subtrees(first.before.clone(), join(&first.after, after)))
        }
        (Some(_), Some(second)) => {
            Some(second.with_subtrees(join(before, &second.before), second.after.clone()))
        }
    }
}

/// Appends the URIs of `tree` that `other` does not have.
fn collect_difference(tree: &Tree, other: &Tree, found: &mut Vec<Arc<str>>) {
    let Some(node) = tree else { return };
    if other.as_ref().is_some_and(|other| Arc::ptr_eq(node, other)) {
        return;
    }
    let (before, is_there, after) = match other {
        // Usual: the trees differ further below.
        Some(other) if other.uri == node.uri => (other.before.clone(), true, other.after.clone()),
        _ => split(other, &node.uri),
    };
    collect_difference(&node.before, &before, found);
    if !is_there {
        found.push(Arc::clone(&node.uri));
    }
    collect_difference(&node.after, &after, found);
}

impl<U: Into<Arc<str>>> FromIterator<U> for Subscriptions {
    fn from_iter<I: IntoIterator<Item = U>>(uris: I) -> Self {
        let mut set = Self::default();
        uris.into_iter().for_each(|uri| set.insert(uri.into()));
        set
    }
}

impl PartialEq for Subscriptions {
    fn eq(&self, other: &Self) -> bool {
        self.count == other.count && self.iter().eq(other.iter())
    }
}

impl Eq for Subscriptions {}

impl fmt::Debug for Subscriptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

/// An array of strings.
impl Serialize for Subscriptions {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter().map(|uri| &**uri))
    }
}

impl<'de> Deserialize<'de> for Subscriptions {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let uris = Vec::<Box<str>>::deserialize(deserializer)?;
        Ok(uris.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn set(uris: &[&str]) -> Subscriptions {
        uris.iter().copied().collect()
    }

    fn uris(set: &Subscriptions) -> Vec<&str> {
        set.iter().map(|uri| &**uri).collect()
    }

    /// Returns the length of the longest path from the root.
    fn depth(tree: &Tree) -> usize {
        let below = |node: &Arc<Node>| depth(&node.before).max(depth(&node.after)) + 1;
        tree.as_ref().map_or(0, below)
    }

    /// Returns the number of nodes in a tree that `shared` does not have.
    fn own(tree: &Tree, shared: &Tree) -> usize {
        let is_shared = |node: &Arc<Node>| {
            let mut other = shared;
            while let Some(found) = other {
                if Arc::ptr_eq(node, found) {
                    return true;
                }
                other = if node.uri < found.uri {
                    &found.before
                } else {
                    &found.after
                };
            }
            false
        };
        let below = |node: &Arc<Node>| own(&node.before, shared) + own(&node.after, shared) + 1;
        tree.as_ref()
            .filter(|node| !is_shared(node))
            .map_or(0, below)
    }

    #[test]
    fn the_set_contains_uris_that_were_inserted_and_not_removed() {
        let (mut set, mut expected) = (Subscriptions::default(), BTreeSet::new());
        let mut number = 1_u32;
        for _ in 0..5_000 {
            number = number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let uri = format!("a://{}", (number >> 8) % 300);
            if number >> 31 == 0 {
                set.insert(uri.as_str().into());
                expected.insert(uri);
            } else {
                set.remove(&uri);
                expected.remove(&uri);
            }
            assert_eq!(set.count(), expected.len());
        }
        assert!(
            set.iter()
                .map(|uri| &**uri)
                .eq(expected.iter().map(String::as_str))
        );
        let bytes: usize = expected.iter().map(|uri| subscription_bytes(uri)).sum();
        assert_eq!(set.bytes(), bytes);
        assert!(expected.iter().all(|uri| set.contains(uri)) && !set.contains("a://300"));
    }

    #[test]
    fn a_cloned_subscription_set_is_independent_and_shares_most_nodes() {
        let mut set: Subscriptions = (0..1_000).map(|number| format!("a://{number}")).collect();
        let before = set.clone();
        set.insert("a://new".into());
        set.remove("a://500");
        assert_eq!((before.count(), set.count()), (1_000, 1_000));
        assert_eq!(*set.difference(&before), ["a://new".into()]);
        assert_eq!(*before.difference(&set), ["a://500".into()]);
        let own = own(&set.root, &before.root);
        assert!(
            own <= 100,
            "{own} of 1,000 nodes were copied for two changes"
        );
    }

    #[test]
    fn the_depth_of_the_set_stays_below_60_with_10000_uris() {
        let ordered: Subscriptions = (0..10_000)
            .map(|number| format!("a://{number:05}"))
            .collect();
        let depth = depth(&ordered.root);
        assert!(depth < 60, "{depth}");
    }

    #[test]
    fn all_spellings_of_a_uri_are_found() {
        let set = set(&[
            "a://b/é",
            "a://b/%c3%a9",
            "A://b/%C3%A9",
            "a://b/e",
            "a://b",
        ]);
        let spellings = |uri| {
            let mut found: Vec<_> = set.spellings(uri).iter().map(ToString::to_string).collect();
            found.sort();
            found
        };
        let expected = ["A://b/%C3%A9", "a://b/%c3%a9", "a://b/é"];
        assert_eq!(spellings("a://b/%C3%A9"), expected);
        assert_eq!(spellings("a://b/e"), ["a://b/e"]);
        assert!(spellings("a://b/x").is_empty());
    }

    #[test]
    fn differences_of_subscription_sets_are_found() {
        for (one, other, expected) in [
            (&[][..], &["a"][..], &[][..]),
            (&["a", "b", "c"], &["b"], &["a", "c"]),
            (&["a", "b"], &["a", "b"], &[]),
            (&["b", "d"], &["a", "c", "e"], &["b", "d"]),
        ] {
            let difference = set(one).difference(&set(other));
            let difference: Vec<_> = difference.iter().map(|uri| &**uri).collect();
            assert_eq!(difference, expected, "{one:?} without {other:?}");
        }
        assert_eq!(uris(&set(&["b", "a", "b"])), ["a", "b"]);
        assert_eq!(set(&["b", "a"]), set(&["a", "b"]));
        assert_ne!(set(&["a"]), set(&["b"]));
    }
}
