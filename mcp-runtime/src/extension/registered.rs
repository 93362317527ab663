//! A running server's extensions, which never change.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::context::{Caller, ServerHandle};
use crate::handler::extension::{CoreCapability, FilterMember, MethodVersions};
use crate::handler::extension_result::ExtensionVersions;
use crate::protocol::ProtocolVersion;
use crate::protocol::encode::ExtensionFilter;
use crate::registry::Callable;
use crate::types::{ClientCapabilities, Meta};

/// A server's extensions.
#[derive(Default)]
pub(crate) struct Extensions {
    pub(super) all: Vec<RegisteredExtension>,
    pub(super) methods: HashMap<Box<str>, RegisteredMethod>,
    pub(super) notifications: HashMap<Box<str>, RegisteredNotification>,
    pub(super) members: Vec<RegisteredFilterMember>,
    pub(super) core_tasks: Option<CoreTasks>,
}

/// The core protocol's `tasks` capability.
pub(super) struct CoreTasks {
    /// Returns `true` for the versions that have this capability.
    pub(super) is_in: fn(ProtocolVersion) -> bool,
    pub(super) value: CoreCapability,
}

impl fmt::Debug for Extensions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Extensions")
            .field("all", &self.all)
            .finish_non_exhaustive()
    }
}

/// The properties of an extension that are compared with a client's declaration.
#[derive(Clone, Debug)]
pub(crate) struct RegisteredExtension {
    pub(crate) id: Arc<str>,
    pub(super) settings: Map<String, Value>,
    pub(super) versions: ExtensionVersions,
    pub(super) needs_declaration: bool,
}

/// A method of an extension.
#[derive(Debug)]
pub(crate) struct RegisteredMethod {
    pub(crate) extension: RegisteredExtension,
    pub(crate) callable: Arc<Callable>,
    /// The member of `params` that the `Mcp-Name` header mirrors.
    pub(crate) mirrored_name: Option<Box<str>>,
    /// `true` if requests without that header are refused.
    pub(crate) requires_name_header: bool,
    /// The result types that the method may return besides `complete`.
    pub(crate) result_types: Arc<[String]>,
    pub(super) exists_in: MethodVersions,
    /// `true` if the method may forward questions to legacy clients.
    pub(crate) forwards_questions: bool,
    /// `true` if calls bypass middleware.
    pub(crate) is_built_in: bool,
}

/// A notification of an extension.
#[derive(Debug)]
pub(super) struct RegisteredNotification {
    pub(super) extension: RegisteredExtension,
    /// The filter member with which clients request the notification, or `None` if it belongs to a single call.
    pub(super) member: Option<Arc<str>>,
}

/// A filter member in `subscriptions/listen`.
#[derive(Debug)]
pub(super) struct RegisteredFilterMember {
    pub(super) extension: RegisteredExtension,
    pub(super) name: Arc<str>,
    pub(super) member: FilterMember,
}

impl RegisteredExtension {
    /// Returns `true` if the extension is declared in this protocol version.
    fn is_declared_in(&self, version: ProtocolVersion) -> bool {
        self.versions.since <= version
    }

    /// Returns `true` if the extension's additions exist in this protocol version.
    fn is_in(&self, version: ProtocolVersion) -> bool {
        self.versions.contain(version)
    }

    /// Returns `true` if a client with these capabilities may use the extension.
    pub(crate) fn is_open_to(&self, client: &ClientCapabilities, version: ProtocolVersion) -> bool {
        !self.needs_declaration
            || (self.versions.core)(version)
            || self.settings_of(client).is_some()
    }

    /// Returns the settings with which a client declares the extension. Settings that are not an object do not declare
    /// the extension.
    fn settings_of<'c>(&self, client: &'c ClientCapabilities) -> Option<&'c Map<String, Value>> {
        client.extensions.get(&*self.id)?.as_object()
    }
}

impl Extensions {
    /// Returns the member of `capabilities` that declares the extensions in this protocol version.
    pub(crate) fn declared(&self, version: ProtocolVersion) -> Meta {
        let all = self.all.iter();
        all.filter(|extension| extension.is_declared_in(version))
            .map(|extension| {
                let settings = Value::Object(extension.settings.clone());
                ((*extension.id).to_owned(), settings)
            })
            .collect()
    }

    /// Returns the extensions in this protocol version, keyed by identifier, each with its settings and the names of
    /// its methods.
    pub(crate) fn described(&self, version: ProtocolVersion) -> Meta {
        let mut all = self.declared(version);
        all.sort_keys();
        for (id, extension) in &mut all {
            let methods = self.methods.iter();
            let own = methods.filter(|(_, method)| *method.extension.id == **id);
            let mut own: Vec<&str> = own.map(|(name, _)| &**name).collect();
            own.sort_unstable();
            let settings = extension.take();
            *extension = serde_json::json!({ "settings": settings, "methods": own });
        }
        all
    }

    /// Returns the core protocol's `tasks` capability in this version, for this caller.
    pub(crate) fn core_tasks(&self, version: ProtocolVersion, caller: &Caller) -> Option<Meta> {
        let tasks = self.core_tasks.as_ref()?;
        match (tasks.is_in)(version).then(|| (tasks.value)(caller)) {
            Some(Value::Object(members)) => Some(members),
            _ => None,
        }
    }

    /// Returns `true` if the server has this extension in this protocol version.
    pub(crate) fn has(&self, id: &str, version: ProtocolVersion) -> bool {
        let mut all = self.all.iter();
        all.any(|extension| *extension.id == *id && extension.is_declared_in(version))
    }

    /// Returns `true` if any extension has methods.
    pub(crate) fn has_methods(&self) -> bool {
        !self.methods.is_empty()
    }

    /// Returns a method of an extension that exists in this protocol version.
    pub(crate) fn method(&self, name: &str, version: ProtocolVersion) -> Option<&RegisteredMethod> {
        let method = self.methods.get(name)?;
        let versions = method.extension.versions;
        let is_in = match method.exists_in {
            MethodVersions::All => versions.contain(version),
            MethodVersions::Core => (versions.core)(version),
            MethodVersions::Extension => versions.since <= version,
        };
        is_in.then_some(method)
    }

    /// Returns the callables for all methods.
    pub(crate) fn callables(&self) -> impl Iterator<Item = &Callable> {
        self.methods.values().map(|method| &*method.callable)
    }

    /// Returns `true` if a call from this client may send the notification. A notification that clients request with
    /// the filter does not belong to a call.
    pub(crate) fn may_notify(
        &self,
        notification: &str,
        version: ProtocolVersion,
        client: &ClientCapabilities,
    ) -> bool {
        let Some(known) = self.notifications.get(notification) else {
            tracing::error!(
                notification,
                "no extension of this server declares this notification"
            );
            return false;
        };
        if known.member.is_some() {
            tracing::error!(
                notification,
                "clients ask for this notification in `subscriptions/listen`, so a call cannot send it; use `Notifier`"
            );
            return false;
        }
        known.extension.is_in(version) && known.extension.is_open_to(client, version)
    }

    /// Returns the filter member with which clients request a notification. Logs an error if there is no such member,
    /// or if the notification has a key but the member is a flag, or vice versa.
    pub(crate) fn member_of(&self, notification: &str, has_key: bool) -> Option<&str> {
        let known = self.notifications.get(notification);
        let name = known.and_then(|known| known.member.as_ref());
        let member = name.and_then(|name| self.members.iter().find(|known| known.name == *name));
        let problem = match member {
            None => "no extension of this server declares this notification with a filter member",
            Some(known) if known.member.is_keyed == has_key => return Some(&known.name),
            Some(_) if has_key => {
                "clients ask for this notification with a flag; send it with `Notifier::extension`"
            }
            Some(_) => {
                "clients ask for this notification with keys; send it with `Notifier::extension_key`"
            }
        };
        tracing::error!(notification, "{problem}");
        None
    }

    /// Returns `true` if any extension has added a member to the filter.
    pub(crate) fn has_filter_members(&self) -> bool {
        !self.members.is_empty()
    }

    /// Reads the filter members that extensions have added. User code has not yet checked the keys.
    ///
    /// # Errors
    ///
    /// Fails if a member has the wrong type or if the client may not use its extension.
    pub(crate) fn read_filter(
        &self,
        wanted: &Map<String, Value>,
        (version, client): (ProtocolVersion, &ClientCapabilities),
    ) -> Result<Vec<ExtensionFilter>, FilterProblem<'_>> {
        let mut filters = Vec::new();
        for known in &self.members {
            let value = wanted.get(&*known.name).filter(|value| !value.is_null());
            let Some(value) = value.filter(|_| known.extension.is_in(version)) else {
                continue;
            };
            let keys = match (value, known.member.is_keyed) {
                (Value::Bool(false), false) => continue,
                (Value::Bool(true), false) => None,
                (Value::Array(keys), true) => {
                    let keys: Option<Vec<&str>> = keys.iter().map(Value::as_str).collect();
                    let mut keys = keys.ok_or(FilterProblem::NotStrings(&known.name))?;
                    keys.sort_unstable();
                    keys.dedup();
                    Some(keys)
                }
                (_, false) => return Err(FilterProblem::NotABoolean(&known.name)),
                (_, true) => return Err(FilterProblem::NotStrings(&known.name)),
            };
            if !known.extension.is_open_to(client, version) {
                return Err(FilterProblem::Undeclared(&known.extension.id));
            }
            filters.push(ExtensionFilter {
                member: Arc::clone(&known.name),
                keys: keys.map(|keys| keys.into_iter().map(Into::into).collect()),
            });
        }
        Ok(filters)
    }

    /// Removes the keys about which the caller may not be notified.
    pub(crate) fn hide_keys(&self, filters: &mut [ExtensionFilter], caller: &Caller) {
        for filter in filters {
            let mut members = self.members.iter();
            let known = members.find(|known| known.name == filter.member);
            if let (Some(keys), Some(known)) = (&mut filter.keys, known) {
                keys.retain(|key| known.member.visible_if.is_visible_to(caller, key));
            }
        }
    }

    /// Reports that a caller has begun to listen to these keys.
    pub(crate) fn report_listener(
        &self,
        filters: &[ExtensionFilter],
        (server, caller): (&ServerHandle, &Caller),
    ) {
        for filter in filters {
            let mut members = self.members.iter();
            let known = members.find(|known| known.name == filter.member);
            if let (Some(keys), Some(on_listen)) = (
                &filter.keys,
                known.and_then(|known| known.member.on_listen.as_ref()),
            ) {
                for key in keys {
                    on_listen.0(server, caller, key);
                }
            }
        }
    }

    /// Returns the members that apply to a legacy client without a request: the flags in the extensions that it
    /// declares.
    pub(crate) fn unsolicited(
        &self,
        version: ProtocolVersion,
        client: &ClientCapabilities,
    ) -> Vec<ExtensionFilter> {
        let known = self.members.iter().filter(|known| {
            let is_declared = known.extension.settings_of(client).is_some();
            !known.member.is_keyed && known.extension.is_in(version) && is_declared
        });
        known
            .map(|known| ExtensionFilter {
                member: Arc::clone(&known.name),
                keys: None,
            })
            .collect()
    }
}

/// The reason why a filter is refused.
#[derive(Debug)]
pub(crate) enum FilterProblem<'a> {
    /// The member with this name must be an array of strings.
    NotStrings(&'a str),
    /// The member with this name must be a boolean.
    NotABoolean(&'a str),
    /// The client does not declare the extension with this identifier.
    Undeclared(&'a str),
}
