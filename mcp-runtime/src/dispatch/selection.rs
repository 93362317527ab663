//! The definitions that a request selects by tag, from those that the server itself selects.

use crate::context::Caller;
use crate::dispatch::Dispatcher;
use crate::dispatch::request::Request;
use crate::handler::tags::TagSelection;
use crate::registry::{CallerView, Snapshot};

impl Request<'_> {
    /// Returns this request's view: the selected definitions that its caller may see.
    pub(super) fn view<'a>(&'a self, snapshot: &'a Snapshot) -> CallerView<'a> {
        let view = snapshot.seen_by(&self.caller);
        view.narrowed_to(self.selection.as_ref())
    }
}

impl Dispatcher {
    /// Parses the lists of tags that are sent with a request. A definition must be selected by all of the lists.
    ///
    /// # Errors
    ///
    /// Returns the reason why a list is malformed or names a tag that does not exist.
    pub(crate) fn read_selection<'t>(
        &self,
        lists: impl IntoIterator<Item = &'t str>,
        caller: impl Into<Caller>,
    ) -> Result<Option<TagSelection>, String> {
        let mut all: Option<TagSelection> = None;
        for list in lists {
            let list = TagSelection::parse(list)?;
            all = Some(all.map_or_else(|| list.clone(), |all| all.and(&list)));
        }
        if let Some(selection) = &all {
            let caller = self.settings.admission.admit(caller.into());
            let checked = self.registry.check_tags(selection, &caller);
            checked.map_err(|unknown| unknown.to_string())?;
        }
        Ok(all)
    }
}
