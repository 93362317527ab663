//! The extensions of a running server, which never change.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::context::Caller;
use crate::extension::filter::FilterMember;
use crate::protocol::ProtocolVersion;
use crate::protocol::encode::ExtensionFilter;
use crate::registry::Callable;
use crate::types::{ClientCapabilities, Meta};

/// The extensions of a server.
#[derive(Debug, Default)]
pub(crate) struct Extensions {
    pub(super) all: Vec<RegisteredExtension>,
    pub(super) methods: HashMap<Box<str>, RegisteredMethod>,
    pub(super) notifications: HashMap<Box<str>, RegisteredNotification>,
    pub(super) members: Vec<RegisteredMember>,
}

/// The facts about an extension that are compared with what a client declares.
#[derive(Clone, Debug)]
pub(crate) struct RegisteredExtension {
    pub(crate) id: Arc<str>,
    pub(super) settings: Map<String, Value>,
    pub(super) since: ProtocolVersion,
    pub(super) needs_declaration: bool,
}

/// A method of an extension.
#[derive(Debug)]
pub(crate) struct RegisteredMethod {
    pub(crate) extension: RegisteredExtension,
    pub(crate) callable: Arc<Callable>,
    /// The member of `params` that the header `Mcp-Name` mirrors.
    #[cfg_attr(
        not(feature = "http"),
        expect(dead_code, reason = "only HTTP has headers")
    )]
    pub(crate) mirrored_name: Option<Box<str>>,
    /// The types of its results, besides `complete`.
    pub(crate) result_types: Arc<[String]>,
}

/// A notification of an extension.
#[derive(Debug)]
pub(super) struct RegisteredNotification {
    pub(super) extension: RegisteredExtension,
    /// The member of the filter with which clients ask for it, or `None` if it belongs to one call.
    pub(super) member: Option<Arc<str>>,
}

/// A member of the filter of `subscriptions/listen`.
#[derive(Debug)]
pub(super) struct RegisteredMember {
    pub(super) extension: RegisteredExtension,
    pub(super) name: Arc<str>,
    pub(super) member: FilterMember,
}

impl RegisteredExtension {
    /// Returns `true` if the extension exists in this protocol version.
    fn is_in(&self, version: ProtocolVersion) -> bool {
        self.since <= version
    }

    /// Returns `true` if a client with these capabilities may use the extension.
    pub(crate) fn is_open_to(&self, client: &ClientCapabilities) -> bool {
        !self.needs_declaration || self.settings_of(client).is_some()
    }

    /// Returns the settings with which a client declares the extension. Settings that are not an object declare nothing.
    fn settings_of<'c>(&self, client: &'c ClientCapabilities) -> Option<&'c Map<String, Value>> {
        client.extensions.get(&*self.id)?.as_object()
    }
}

impl Extensions {
    /// Returns the member of `capabilities` that declares the extensions in this protocol version.
    pub(crate) fn declared(&self, version: ProtocolVersion) -> Meta {
        let present = self.all.iter().filter(|extension| extension.is_in(version));
        present
            .map(|extension| {
                let settings = Value::Object(extension.settings.clone());
                ((*extension.id).to_owned(), settings)
            })
            .collect()
    }

    /// Returns the extensions in this protocol version by identifier, each with its settings and the names of its methods.
    #[cfg(any(feature = "cli", feature = "testing"))]
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

    /// Returns `true` if the server has this extension in this protocol version.
    pub(crate) fn has(&self, id: &str, version: ProtocolVersion) -> bool {
        let mut all = self.all.iter();
        all.any(|extension| *extension.id == *id && extension.is_in(version))
    }

    /// Returns `true` if any extension has methods.
    pub(crate) fn has_methods(&self) -> bool {
        !self.methods.is_empty()
    }

    /// Returns a method of an extension that exists in this protocol version.
    pub(crate) fn method(&self, name: &str, version: ProtocolVersion) -> Option<&RegisteredMethod> {
        let method = self.methods.get(name)?;
        method.extension.is_in(version).then_some(method)
    }

    /// Returns the callables of all methods.
    #[cfg(feature = "http")]
    pub(crate) fn callables(&self) -> impl Iterator<Item = &Callable> {
        self.methods.values().map(|method| &*method.callable)
    }

    /// Returns `true` if a call of this client may send the notification. A notification that clients ask for with the
    /// filter does not belong to a call.
    pub(crate) fn may_notify(
        &self,
        notification: &str,
        version: ProtocolVersion,
        client: &ClientCapabilities,
    ) -> bool {
        let Some(known) = self.notifications.get(notification) else {
            tracing::error!(
                notification,
                "no extension of this server has this notification"
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
        known.extension.is_in(version) && known.extension.is_open_to(client)
    }

    /// Returns the member of the filter with which clients ask for a notification, or logs an error if there is none, or
    /// if the notification has a key and the member is a flag, or the other way round.
    pub(crate) fn member_of(&self, notification: &str, has_key: bool) -> Option<&str> {
        let known = self.notifications.get(notification);
        let name = known.and_then(|known| known.member.as_ref());
        let member = name.and_then(|name| self.members.iter().find(|known| known.name == *name));
        let problem = match member {
            None => "no extension of this server has this notification with a member of the filter",
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

    /// Reads the members of a filter that extensions have added. User code has not yet decided about the keys.
    ///
    /// # Errors
    ///
    /// Fails if a member has the wrong type or its extension is not open to the client.
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
            if !known.extension.is_open_to(client) {
                return Err(FilterProblem::Undeclared(&known.extension.id));
            }
            filters.push(ExtensionFilter {
                member: Arc::clone(&known.name),
                keys: keys.map(|keys| keys.into_iter().map(Into::into).collect()),
            });
        }
        Ok(filters)
    }

    /// Removes the keys that the caller may not be notified about.
    pub(crate) fn hide_keys(&self, filters: &mut [ExtensionFilter], caller: &Caller) {
        for filter in filters {
            let mut members = self.members.iter();
            let known = members.find(|known| known.name == filter.member);
            if let (Some(keys), Some(known)) = (&mut filter.keys, known) {
                keys.retain(|key| known.member.visible_if.is_visible_to(caller, key));
            }
        }
    }

    /// Returns the members that a legacy client receives without asking: the flags of the extensions that it declares.
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
