//! A record of the changes to lists so far, used when sessions are resumed.
//!
//! Versions are counts rather than timestamps because clocks can be set back. Counts from different sources cannot be
//! compared; a source is usually one process. A session with a count from another source is notified that every list
//! has changed. That notification may be unnecessary, but changes are never lost. Instances with a log of changes use the
//! log instead (`catching_up.rs`).

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::LISTS;
use crate::handler::notified_callers::NotifiedCallers;
use crate::protocol::encode::ListKind;

/// The number of list changes that a given source had counted at a given time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ListVersion {
    /// A random number. Two sources have the same number with a probability of 1 in 2^32. Zero denotes an unknown
    /// source.
    source: u32,
    count: u32,
}

impl ListVersion {
    /// Returns `true` if the source is unknown.
    #[allow(
        clippy::trivially_copy_pass_by_ref,
        reason = "serde passes a reference"
    )]
    pub(crate) fn is_unknown(&self) -> bool {
        *self == Self::default()
    }
}

/// A record of the changes to lists so far.
pub(super) struct ListVersions {
    now: ListVersion,
    lists: [ListHistory; 3],
}

/// The changes to a single list.
#[derive(Default)]
struct ListHistory {
    /// The count as of the most recent change visible to all callers.
    everybody: u32,
    /// Later changes that are visible only to some callers, each with the count as of that change. Contains at most
    /// [`MOST`](Self::MOST) entries.
    some: VecDeque<(u32, NotifiedCallers)>,
}

impl ListHistory {
    /// Maximum number of changes recorded with a separate audience. Older changes are treated as visible to all
    /// callers.
    const MOST: usize = 32;

    fn note(&mut self, count: u32, audience: &NotifiedCallers) {
        match audience {
            NotifiedCallers::None => {}
            NotifiedCallers::Some(_) => self.some.push_back((count, audience.clone())),
            NotifiedCallers::All => {
                self.everybody = count;
                self.some.clear();
            }
        }
        if self.some.len() > Self::MOST
            && let Some((oldest, _)) = self.some.pop_front()
        {
            self.everybody = oldest;
        }
    }

    fn since(&self, count: u32) -> NotifiedCallers {
        if self.everybody > count {
            return NotifiedCallers::All;
        }
        let mut audience = NotifiedCallers::default();
        for (_, users) in self.some.iter().filter(|(after, _)| *after > count) {
            audience.add(users);
        }
        audience
    }
}

impl Default for ListVersions {
    /// Creates a new source without any changes.
    fn default() -> Self {
        let source = u32::from_ne_bytes(crate::random::random()).max(1);
        Self {
            now: ListVersion { source, count: 0 },
            lists: Default::default(),
        }
    }
}

impl ListVersions {
    /// Returns the number of changes so far, for later comparison.
    pub(super) fn now(&self) -> ListVersion {
        self.now
    }

    /// Records a change to a list that is visible to the callers in `audience`.
    pub(super) fn note(&mut self, list: ListKind, audience: &NotifiedCallers) {
        let Some(count) = self.now.count.checked_add(1) else {
            // Because the source is new, every session is notified of changes to all lists when it resumes.
            *self = Self::default();
            return;
        };
        self.now.count = count;
        for (kind, history) in LISTS.iter().zip(&mut self.lists) {
            if *kind == list {
                history.note(count, audience);
            }
        }
    }

    /// Returns `true` if a version is from this source.
    pub(super) fn knows(&self, seen: ListVersion) -> bool {
        seen.source == self.now.source
    }

    /// Returns, for each list, the callers for whom it has changed since `seen`.
    pub(super) fn since(&self, seen: ListVersion) -> [NotifiedCallers; 3] {
        if !self.knows(seen) {
            return [(); 3].map(|()| NotifiedCallers::All);
        }
        let lists = self.lists.each_ref();
        lists.map(|history| history.since(seen.count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::{Caller, Principal};
    use crate::handler::access::Access;

    fn users(scope: &str) -> NotifiedCallers {
        let mut audience = NotifiedCallers::default();
        audience.add_callers_with_access(&Access::declared(&[scope], None));
        audience
    }

    fn caller(scope: &str) -> Caller {
        Principal::new("alice").with_scopes([scope]).into()
    }

    /// Returns, for each list, whether this caller is notified of a change.
    fn told(versions: &ListVersions, seen: ListVersion, caller: &Caller) -> [bool; 3] {
        let audiences = versions.since(seen);
        audiences.map(|audience| audience.includes(caller))
    }

    #[test]
    fn later_changes_are_told_and_earlier_ones_are_not() {
        let mut versions = ListVersions::default();
        let anybody = Caller::anonymous();
        let first = versions.now();
        versions.note(ListKind::Prompts, &NotifiedCallers::All);
        let second = versions.now();
        assert_eq!(told(&versions, first, &anybody), [false, true, false]);
        assert_eq!(told(&versions, second, &anybody), [false; 3]);
        versions.note(ListKind::Tools, &NotifiedCallers::All);
        assert_eq!(told(&versions, first, &anybody), [true, true, false]);
        assert_eq!(told(&versions, second, &anybody), [true, false, false]);
    }

    #[test]
    fn whoever_was_elsewhere_is_told_of_everything() {
        let [here, elsewhere] = [ListVersions::default(), ListVersions::default()];
        let anybody = Caller::anonymous();
        assert_eq!(told(&here, elsewhere.now(), &anybody), [true; 3]);
        assert_eq!(told(&here, ListVersion::default(), &anybody), [true; 3]);
    }

    #[test]
    fn a_count_that_is_full_begins_anew_and_loses_nothing() {
        let mut versions = ListVersions::default();
        versions.now.count = u32::MAX;
        let full = versions.now();
        versions.note(ListKind::Tools, &NotifiedCallers::All);
        assert!(told(&versions, full, &Caller::anonymous())[0]);
    }

    #[test]
    fn changes_that_only_some_see_are_told_to_them() {
        let mut versions = ListVersions::default();
        let first = versions.now();
        versions.note(ListKind::Tools, &users("a"));
        let second = versions.now();
        versions.note(ListKind::Tools, &users("b"));
        assert!(told(&versions, first, &caller("a"))[0]);
        assert!(!told(&versions, second, &caller("a"))[0]);
        assert!(told(&versions, second, &caller("b"))[0]);
        assert!(!told(&versions, first, &caller("c"))[0]);
        // The audience of a change is eventually discarded.
        for _ in 0..ListHistory::MOST {
            versions.note(ListKind::Tools, &users("b"));
        }
        assert_eq!(versions.lists[0].some.len(), ListHistory::MOST);
        assert!(told(&versions, first, &caller("c"))[0]);
        let last = versions.now();
        versions.note(ListKind::Tools, &NotifiedCallers::All);
        assert!(versions.lists[0].some.is_empty());
        assert!(told(&versions, last, &caller("c"))[0]);
    }
}
