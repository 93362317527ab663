//! Checks all of a server's extensions together and prepares them for requests.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::context::Capability;
use crate::extension::registered::{
    CoreTasks, Extensions, RegisteredExtension, RegisteredFilterMember, RegisteredMethod,
    RegisteredNotification,
};
use crate::handler::call::CallOutput;
use crate::handler::extension::{
    Extension, ExtensionMethod, ExtensionMiddleware, FilterMember, Setup,
};
use crate::handler::extension_result::{ExtensionResult, ExtensionVersions};
use crate::handler::handler_error::HandlerError;
use crate::handler::middleware::{Next, UnlinkedMiddleware};
use crate::protocol::{ProtocolVersion, is_core_meta_key, is_core_name, is_reserved_meta_key};
use crate::registry;

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
pub(crate) fn build(extensions: Vec<Extension>) -> Result<Extensions, Vec<String>> {
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
pub(crate) struct ServerChanges {
    pub(crate) middleware: Vec<UnlinkedMiddleware>,
    pub(crate) capabilities: Vec<Capability>,
}

impl Extension {
    /// Takes the extension's additions to the server's settings.
    pub(crate) fn take_additions(&mut self) -> ServerChanges {
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
    pub(crate) fn take_setup(&mut self) -> Vec<Box<Setup>> {
        std::mem::take(&mut self.setup)
    }

    /// Returns the reserved `_meta` keys that the extension defines.
    pub(crate) fn meta_keys(&self) -> &[String] {
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
