//! Checks all of a server's extensions together and prepares them for requests.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::context::{Caller, Capability, ServerHandle};
use crate::handler::extension::{
    CoreCapability, Extension, ExtensionMethod, ExtensionMiddleware, FilterMember, MethodVersions,
    Setup,
};
use crate::handler::handler_error::HandlerError;
use crate::handler::middleware::{Next, UnlinkedMiddleware};
use crate::handler::run::{CallOutput, ExtensionResult, ExtensionVersions};
use crate::protocol::encode::ExtensionFilter;
use crate::protocol::{ProtocolVersion, is_core_meta_key, is_core_name, is_reserved_meta_key};
use crate::registry;
use crate::registry::Callable;
use crate::types::{ClientCapabilities, Meta};

/// The prefix of official extensions.
const OFFICIAL: &str = "io.modelcontextprotocol";

/// The listen filter members that the core protocol defines.
const CORE_MEMBERS: [&str; 4] = [
    "toolsListChanged",
    "promptsListChanged",
    "resourcesListChanged",
    "resourceSubscriptions",
];

/// The core protocol methods to which an extension may respond with its own results.
const ANSWERABLE: [&str; 3] = ["tools/call", "prompts/get", "resources/read"];

/// The result types that the core protocol defines.
const CORE_RESULT_TYPES: [&str; 2] = [ExtensionResult::COMPLETE, "input_required"];

/// Checks all extensions together.
///
/// # Errors
///
/// Returns all problems, each on one line.
pub fn build(extensions: Vec<Extension>) -> Result<Extensions, Vec<String>> {
    let mut build = ExtensionsBuilder {
        ids: extensions
            .iter()
            .map(|extension| extension.id.clone())
            .collect(),
        built: Extensions::default(),
        result_types: HashMap::new(),
        meta_keys: HashMap::new(),
        problems: Vec::new(),
    };
    for extension in extensions {
        build.add(extension);
    }
    if build.problems.is_empty() {
        Ok(build.built)
    } else {
        Err(build.problems)
    }
}

struct ExtensionsBuilder {
    /// The identifiers of all extensions, including those that have not been added yet.
    ids: Vec<String>,
    built: Extensions,
    /// The extension that declares each result type for each method.
    result_types: HashMap<(String, String), Arc<str>>,
    /// The extension that declares each key.
    meta_keys: HashMap<String, Arc<str>>,
    problems: Vec<String>,
}

impl ExtensionsBuilder {
    fn problem(&mut self, id: &str, what: impl std::fmt::Display) {
        self.problems.push(format!("extension `{id}`: {what}"));
    }

    fn add(&mut self, extension: Extension) {
        let id: Arc<str> = extension.id.as_str().into();
        if let Some(problem) = id_problem(&id) {
            self.problem(&id, problem);
        }
        if self.built.all.iter().any(|other| other.id == id) {
            self.problem(
                &id,
                "the server already has an extension with this identifier",
            );
        }
        for needed in &extension.dependencies {
            if !self.ids.contains(needed) {
                let what = format_args!(
                    "it requires the extension `{needed}`, which the server does not have"
                );
                self.problem(&id, what);
            }
        }
        let settings = match extension.settings {
            Value::Object(settings) => settings,
            other => {
                self.problem(
                    &id,
                    format_args!("settings must be an object, not `{other}`"),
                );
                Map::new()
            }
        };
        if let Some((name, value)) = extension.core_capability {
            if name == "tasks" {
                self.built.core_tasks = Some(CoreTasks {
                    is_in: extension.versions.core,
                    value,
                });
            } else {
                let what = format_args!(
                    "the core protocol has no capability `{name}` that an extension could provide"
                );
                self.problem(&id, what);
            }
        }
        let registered = RegisteredExtension {
            id,
            settings,
            versions: extension.versions,
            needs_declaration: extension.needs_declaration,
        };
        for key in extension.meta_keys {
            self.add_meta_key(&registered, &key);
        }
        for method in extension.methods {
            self.add_method(&registered, method, &extension.result_types);
        }
        for result_type in extension.result_types {
            self.add_result_type(&registered, result_type);
        }
        for (name, member) in extension.notifications {
            self.add_notification(&registered, name, member);
        }
        self.built.all.push(registered);
    }

    fn add_method(
        &mut self,
        extension: &RegisteredExtension,
        method: ExtensionMethod,
        result_types: &[(String, String)],
    ) {
        let name = method.name;
        if !is_method_name(&name) || name.starts_with("notifications/") {
            let what = format!(
                "method `{name}`: a name consists of parts separated by `/`, such as `garden/water`, contains only letters, \
                 digits, `_`, `-` and `.`, and does not start with `notifications/`"
            );
            self.problem(&extension.id, what);
        } else if is_core_name(&name) {
            let what = format_args!("method `{name}` belongs to the core protocol");
            self.problem(&extension.id, what);
        } else if let Some(other) = self.built.methods.get(&*name) {
            let what = format!(
                "method `{name}` belongs to the extension `{}`",
                other.extension.id
            );
            self.problem(&extension.id, what);
        }
        let of_method = result_types.iter().filter(|(of, _)| *of == name);
        let result_types = of_method.map(|(_, result_type)| result_type.clone());
        match registry::method_callable(&name, method.handler) {
            Ok(callable) => {
                let registered = RegisteredMethod {
                    extension: extension.clone(),
                    callable: Arc::new(callable),
                    mirrored_name: method.mirrored_name.map(Into::into),
                    requires_name_header: method.requires_name_header,
                    exists_in: method.exists_in,
                    forwards_questions: method.forwards_questions,
                    is_built_in: method.is_built_in,
                    result_types: result_types.collect(),
                };
                self.built.methods.insert(name.into(), registered);
            }
            Err(problems) => {
                for problem in problems {
                    self.problem(&extension.id, format_args!("method `{name}`: {problem}"));
                }
            }
        }
    }

    /// Checks a result type. The extension's methods must already have been added.
    fn add_result_type(
        &mut self,
        extension: &RegisteredExtension,
        (method, result_type): (String, String),
    ) {
        let owner = self.built.methods.get(&*method);
        let is_own = owner.is_some_and(|owner| owner.extension.id == extension.id);
        let describe = || format!("result type `{result_type}` of `{method}`");
        if !is_own && !ANSWERABLE.contains(&&*method) {
            let what = format!(
                "{}: an extension can use its own result types only for its own methods, `tools/call`, `prompts/get` and \
                 `resources/read`",
                describe()
            );
            self.problem(&extension.id, what);
        }
        if result_type.is_empty() || CORE_RESULT_TYPES.contains(&&*result_type) {
            let what = format!("{}: the type belongs to the core protocol", describe());
            self.problem(&extension.id, what);
        }
        let key = (method.clone(), result_type.clone());
        let id = Arc::clone(&extension.id);
        if let Some(other) = self.result_types.insert(key, id) {
            let what = format!(
                "{}: the extension `{other}` already declares it",
                describe()
            );
            self.problem(&extension.id, what);
        }
    }

    fn add_notification(
        &mut self,
        extension: &RegisteredExtension,
        name: String,
        member: Option<FilterMember>,
    ) {
        if !is_method_name(&name) || !name.starts_with("notifications/") {
            let what = format!(
                "notification `{name}`: a name starts with `notifications/`, followed by parts that consist of letters, \
                 digits, `_`, `-` and `.` and are separated by `/`"
            );
            self.problem(&extension.id, what);
        } else if is_core_name(&name) {
            let what = format_args!("notification `{name}` belongs to the core protocol");
            self.problem(&extension.id, what);
        } else if let Some(other) = self.built.notifications.get(&*name) {
            let what = format!(
                "notification `{name}` belongs to the extension `{}`",
                other.extension.id
            );
            self.problem(&extension.id, what);
        }
        let member = member.map(|member| self.add_member(extension, member));
        let registered = RegisteredNotification {
            extension: extension.clone(),
            member,
        };
        self.built.notifications.insert(name.into(), registered);
    }

    /// Adds a filter member. Several notifications of the same extension can share a member.
    fn add_member(&mut self, extension: &RegisteredExtension, member: FilterMember) -> Arc<str> {
        let name: Arc<str> = member.name.as_str().into();
        if name.is_empty() || CORE_MEMBERS.contains(&&*name) {
            let what = format_args!("the filter member `{name}` belongs to the core protocol");
            self.problem(&extension.id, what);
        }
        if !member.is_keyed && member.visible_if.is_restricted() {
            let what = format_args!(
                "the filter member `{name}` is a flag, so its `visible_if` function has no keys to check"
            );
            self.problem(&extension.id, what);
        }
        let known = self.built.members.iter().find(|known| known.name == name);
        let problem = match known {
            None => None,
            Some(known) if known.extension.id != extension.id => Some(format!(
                "the filter member `{name}` belongs to the extension `{}`",
                known.extension.id
            )),
            Some(known) if known.member.is_keyed != member.is_keyed => Some(format!(
                "the filter member `{name}` is used both as a flag and with keys"
            )),
            Some(known) if !known.member.visible_if.is_same(&member.visible_if) => Some(format!(
                "the filter member `{name}` has two different `visible_if` functions; use a clone of one member"
            )),
            Some(_) => return name,
        };
        match problem {
            Some(problem) => self.problem(&extension.id, problem),
            None => self.built.members.push(RegisteredFilterMember {
                extension: extension.clone(),
                name: Arc::clone(&name),
                member,
            }),
        }
        name
    }

    fn add_meta_key(&mut self, extension: &RegisteredExtension, key: &str) {
        let (prefix, name) = extension.id.split_once('/').unwrap_or_default();
        let rest = key.strip_prefix(prefix);
        let is_own = rest.is_some_and(|rest| {
            let rest = rest
                .strip_prefix('.')
                .map_or(Some(rest), |rest| rest.strip_prefix(name));
            rest.is_some_and(|rest| rest.starts_with('/'))
        });
        if !is_own || registry::meta_key_problem(key).is_some() || is_core_meta_key(key) {
            let what = format!(
                "the `_meta` key `{key}` does not belong to the extension; its own keys start with `{prefix}/` or \
                 `{prefix}.{name}/` and are not defined by the core protocol"
            );
            self.problem(&extension.id, what);
        }
        let id = Arc::clone(&extension.id);
        if let Some(other) = self.meta_keys.insert(key.to_owned(), id) {
            let what = format!("the `_meta` key `{key}` belongs to the extension `{other}`");
            self.problem(&extension.id, what);
        }
    }
}

/// Returns the reason why an identifier is invalid, or `None` if it is valid.
fn id_problem(id: &str) -> Option<String> {
    let Some((prefix, name)) = id.split_once('/') else {
        return Some(
            "an identifier consists of a prefix and a name, as in `com.example/garden`".into(),
        );
    };
    if name.is_empty() {
        return Some("the identifier has no name after `/`".into());
    }
    if let Some(problem) = registry::meta_key_problem(id) {
        return Some(problem.replace("meta key", "identifier"));
    }
    (is_reserved_meta_key(id) && prefix != OFFICIAL).then(|| {
        "the prefix is reserved for the protocol; use your own domain, such as `com.example`".into()
    })
}

/// Returns `true` if a name consists of at least two non-empty parts separated by `/`.
fn is_method_name(name: &str) -> bool {
    let is_inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    name.contains('/')
        && name
            .split('/')
            .all(|part| !part.is_empty() && part.chars().all(is_inner))
}

// --- An extension's non-protocol additions to a server: middleware, lists and definitions.

/// An extension's additions to a server's settings.
pub struct ServerChanges {
    /// Middleware around all calls.
    pub middleware: Vec<UnlinkedMiddleware>,
    /// Lists that the server declares because of the extension.
    pub capabilities: Vec<Capability>,
}

impl Extension {
    /// Takes the extension's additions to the server's settings.
    #[doc(hidden)]
    pub fn take_additions(&mut self) -> ServerChanges {
        let id: Arc<str> = self.id.as_str().into();
        let types: Arc<[(String, String)]> = self.result_types.clone().into();
        let versions = self.versions;
        let check = |functions: Vec<ExtensionMiddleware>| {
            let functions = functions.into_iter();
            functions
                .map(|function| checked(function, Arc::clone(&id), Arc::clone(&types), versions))
                .collect()
        };
        ServerChanges {
            middleware: check(std::mem::take(&mut self.middleware)),
            capabilities: std::mem::take(&mut self.capabilities),
        }
    }

    /// Takes the functions that prepare the server for the extension.
    #[doc(hidden)]
    pub fn take_setup(&mut self) -> Vec<Box<Setup>> {
        std::mem::take(&mut self.setup)
    }

    /// Returns the reserved `_meta` keys that the extension defines.
    #[doc(hidden)]
    #[must_use]
    pub fn meta_keys(&self) -> &[String] {
        &self.meta_keys
    }
}

/// Converts an extension's middleware into a link that passes on only declared results.
fn checked(
    function: ExtensionMiddleware,
    id: Arc<str>,
    types: Arc<[(String, String)]>,
    versions: ExtensionVersions,
) -> UnlinkedMiddleware {
    let function = Arc::new(function);
    Box::new(move |next: Next| {
        let (function, id, types) = (Arc::clone(&function), Arc::clone(&id), Arc::clone(&types));
        Next::link(move |call| {
            let Some(method) = call.kind().method() else {
                return function(call, next.clone());
            };
            let version = call.context().request().protocol_version();
            let is_declared = call.context().extension(&id).is_some() || (versions.core)(version);
            let (id, types) = (Arc::clone(&id), Arc::clone(&types));
            let output = function(call, next.clone());
            Box::pin(async move {
                let mut output = output.await?;
                if let CallOutput::Extension(result) = &mut output
                    && !result.is_admitted(ProtocolVersion::LATEST)
                {
                    let name = result.type_name();
                    let mut types = types.iter();
                    if !is_declared || !types.any(|(of, known)| of == method && known == name) {
                        return Err(HandlerError::opaque(format!(
                            "the extension `{id}` answered `{method}` with a result of type `{name}`, which the extension \
                             does not declare or the client does not know"
                        )));
                    }
                    result.admit(versions);
                }
                Ok(output)
            })
        })
    })
}

// --- A running server's extensions, which never change.

/// A server's extensions.
#[derive(Default)]
pub struct Extensions {
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
    #[must_use]
    pub fn has_methods(&self) -> bool {
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
    ) -> Result<Vec<ExtensionFilter>, FilterRefusal<'_>> {
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
                    let mut keys = keys.ok_or(FilterRefusal::NotStrings(&known.name))?;
                    keys.sort_unstable();
                    keys.dedup();
                    Some(keys)
                }
                (_, false) => return Err(FilterRefusal::NotABoolean(&known.name)),
                (_, true) => return Err(FilterRefusal::NotStrings(&known.name)),
            };
            if !known.extension.is_open_to(client, version) {
                return Err(FilterRefusal::Undeclared(&known.extension.id));
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
pub enum FilterRefusal<'a> {
    /// The member with this name must be an array of strings.
    NotStrings(&'a str),
    /// The member with this name must be a boolean.
    NotABoolean(&'a str),
    /// The client does not declare the extension with this identifier.
    Undeclared(&'a str),
}
