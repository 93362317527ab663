//! A server's definitions as its author sees them, whether or not a client is served them now.

use std::sync::Arc;

use crate::context::{Caller, Capability, RequestInfo, RequestSource};
use crate::dispatch::Dispatcher;
use crate::dispatch::sources::listed_items;
use crate::protocol::ProtocolVersion;
use crate::registry::{CallerView, SourceRequest};
use crate::types::Meta;

impl Dispatcher {
    /// Returns `true` if the author's sources have tools that are not in the registry.
    #[cfg(feature = "cli")]
    pub(crate) fn has_tool_sources(&self) -> bool {
        self.settings.sources.of_authors().is_some()
    }

    /// Returns the definitions in a list to which this caller has access, including disabled ones, as comma-separated
    /// JSON objects. The search tools are included if clients receive them.
    pub(crate) fn declared_items(
        &self,
        list: Capability,
        caller: &Caller,
        version: ProtocolVersion,
    ) -> String {
        let caller = self.settings.admission.admit(caller.clone());
        let snapshot = self.registry.snapshot();
        let view = snapshot.seen_by(&caller);
        let first = match list {
            Capability::Tools => self.covering_items(view, version),
            _ => String::new(),
        };
        view.declared_items(list, &first, version)
    }

    /// Returns the list entries that stand for the tools of the registry, if there are any, for a client that declares
    /// no capabilities.
    fn covering_items(&self, view: CallerView<'_>, version: ProtocolVersion) -> String {
        let info = RequestInfo::new(version, RequestSource::Message);
        let request = SourceRequest::new(view, &info, &Arc::default);
        let cover = self.settings.sources.covering(view);
        cover.map_or_else(String::new, |cover| listed_items(cover, &request))
    }

    /// Returns the extensions in this protocol version, keyed by identifier, each with its settings and the names of
    /// its methods.
    pub(crate) fn described_extensions(&self, version: ProtocolVersion) -> Meta {
        self.settings.extensions.described(version)
    }

    /// Returns the tools that this caller may use, whether or not they are listed, as comma-separated JSON objects. The
    /// search tools are included if clients receive them.
    #[cfg(feature = "cli")]
    pub(crate) fn all_tools(&self, caller: &Caller, version: ProtocolVersion) -> String {
        let caller = self.settings.admission.admit(caller.clone());
        let snapshot = self.registry.snapshot();
        let view = snapshot.seen_by(&caller);
        let first = self.covering_items(view, version);
        view.tool_items(&first, |_| true, version)
    }
}
