//! Methods common to both eras. Most list requests are answered immediately; all other requests become calls to user
//! code.

use std::borrow::Cow;
use std::sync::Arc;

use serde::Deserialize;

use crate::context::Capability;
use crate::dispatch::Dispatcher;
use crate::dispatch::decide::RequestOutcome;
use crate::dispatch::origin::RequestOrigin;
use crate::dispatch::prepared::PreparedCall;
use crate::dispatch::request::Request;
use crate::dispatch::target::{CompletionTarget, ListTarget, ReadTarget, Target};
use crate::handler::definition::ClientFeature;
use crate::jsonrpc::{ErrorObject, Member};
use crate::protocol::encode::{self, CacheHint, ResponseContext};
use crate::protocol::{Method, MethodCapability, errors, negotiation};
use crate::registry::{ListPage, Snapshot, View};
use crate::types::{CacheScope, CompletionReference};

impl Dispatcher {
    pub(super) fn reply<'a>(&'a self, request: &'a Request<'_>) -> ResponseContext<'a> {
        ResponseContext {
            id: &request.id,
            version: request.version,
            identity: self.identity(),
        }
    }

    /// Answers a request for one of the methods common to both eras.
    pub(super) fn answer_common<'m>(
        self: &Arc<Self>,
        request: Request<'m>,
        origin: &RequestOrigin,
        out: &mut Vec<u8>,
    ) -> Result<RequestOutcome<'m>, ErrorObject> {
        let snapshot = self.registry.snapshot();
        if !self.offers(request.method, &snapshot) {
            return Err(errors::method_not_found(request.method.as_str()));
        }
        let view = snapshot.seen_by(&request.caller);
        let (target, arguments) = match request.method {
            Method::ToolsCall | Method::PromptsGet => {
                let name = request.string(Member::Name, self.limits().message.max_name_bytes)?;
                let callable = match request.method {
                    Method::ToolsCall => view.tool(&name)?,
                    _ => view.prompt(&name)?,
                };
                let arguments = request.arguments()?;
                if let Some(refusal) = lacking(&request, &callable.requires) {
                    return refusal.answer(self, &request, out);
                }
                (Target::Named(Arc::clone(callable)), arguments.into())
            }
            Method::ResourcesRead => {
                let uri = request.string(Member::Uri, self.limits().message.max_uri_bytes)?;
                let (callable, arguments) = view.read(&uri, request.version)?;
                let read = ReadTarget {
                    callable: Arc::clone(callable),
                    uri: uri.into(),
                };
                (Target::Read(Arc::new(read)), arguments)
            }
            Method::CompletionComplete => self.completion(&request, view)?,
            method => {
                let (list, mut cache) = self
                    .list(method)
                    .ok_or_else(|| errors::method_not_found(method.as_str()))?;
                if snapshot.is_filtered(list) {
                    cache.scope = CacheScope::Private;
                }
                match self.page(&request, list, view)? {
                    ListPage::Ready(members) => {
                        let gap = encode::list_around(out, self.reply(&request), cache);
                        return Ok(RequestOutcome::Around(gap, members));
                    }
                    ListPage::Listing(page) => {
                        let list = ListTarget { page, cache };
                        (Target::List(Arc::new(list)), "{}".into())
                    }
                }
            }
        };
        let logs = origin.logs.clone();
        Ok(RequestOutcome::Call(PreparedCall {
            dispatcher: Arc::clone(self),
            request,
            logs,
            channel: origin.channel,
            target,
            arguments,
        }))
    }

    /// Returns `true` if the server declares the capability that a method belongs to.
    pub(super) fn offers(&self, method: Method, snapshot: &Snapshot) -> bool {
        match method.capability() {
            Some(MethodCapability::Tools) => snapshot.has_tools(),
            Some(MethodCapability::Prompts) => snapshot.has_prompts(),
            Some(MethodCapability::Resources | MethodCapability::Subscribe) => {
                snapshot.has_resources()
            }
            Some(MethodCapability::Completions) => snapshot.has_completers(),
            Some(MethodCapability::Logging) => self.settings.logging,
            None => true,
        }
    }

    fn list(&self, method: Method) -> Option<(Capability, CacheHint)> {
        let cache = &self.settings.cache;
        match method {
            Method::ToolsList => Some((Capability::Tools, cache.tools)),
            Method::PromptsList => Some((Capability::Prompts, cache.prompts)),
            Method::ResourcesList => Some((Capability::Resources, cache.resources)),
            Method::ResourceTemplatesList => Some((Capability::Templates, cache.templates)),
            _ => None,
        }
    }

    fn page(
        &self,
        request: &Request<'_>,
        list: Capability,
        view: View<'_>,
    ) -> Result<ListPage, ErrorObject> {
        let cursor = request
            .params
            .string(Member::Cursor)
            .map_err(|_| errors::invalid_cursor())?;
        if cursor
            .as_ref()
            .is_some_and(|cursor| cursor.len() > self.limits().message.max_cursor_bytes)
        {
            return Err(errors::invalid_cursor());
        }
        view.page(list, request.version, cursor.as_deref())
            .map_err(|_| errors::invalid_cursor())
    }

    fn completion<'m>(
        &self,
        request: &Request<'m>,
        view: View<'_>,
    ) -> Result<(Target, Cow<'m, str>), ErrorObject> {
        let reference = member::<CompletionReference>(request, Member::Ref)?;
        let argument = member::<CompletionArgument>(request, Member::Argument)?;
        if argument.value.len() > self.limits().calls.max_completion_bytes {
            let max = self.limits().calls.max_completion_bytes;
            return Err(ErrorObject::invalid_params(format!(
                "`argument.value` is longer than {max} bytes"
            )));
        }
        let completer = view.completer(&reference, &argument.name)?;
        let earlier = match request.params.get(Member::Context) {
            None => None,
            Some(_) => member::<Earlier>(request, Member::Context)?.arguments,
        };
        let target = CompletionTarget {
            completer,
            of: reference.into_target().into(),
            argument: argument.name,
            partial: argument.value,
        };
        let arguments = target.arguments(earlier.as_ref().map(|earlier| earlier.get()));
        Ok((Target::Completion(Arc::new(target)), arguments.into()))
    }
}

/// Returns the capabilities that a tool requires but the client lacks.
fn lacking(request: &Request<'_>, requires: &[ClientFeature]) -> Option<Lacking> {
    if requires.is_empty() {
        return None;
    }
    let capabilities = request.sender.capabilities();
    negotiation::missing_capabilities(&capabilities, requires, request.version).map(Lacking)
}

/// Capabilities that a client lacks, in the form of a JSON capabilities object.
struct Lacking(serde_json::Value);

impl Lacking {
    /// Answers with an error in modern protocol versions and with a message for the model in legacy ones.
    fn answer<'m>(
        self,
        dispatcher: &Dispatcher,
        request: &Request<'_>,
        out: &mut Vec<u8>,
    ) -> Result<RequestOutcome<'m>, ErrorObject> {
        let error = errors::missing_capability(request.version, self.0);
        if request.version.reports_missing_capabilities_as_errors() {
            return Err(error);
        }
        encode::handler_error(out, dispatcher.reply(request), error.message);
        Ok(RequestOutcome::Written)
    }
}

#[derive(Deserialize)]
struct CompletionArgument {
    name: String,
    value: String,
}

#[derive(Deserialize)]
struct Earlier {
    #[serde(default)]
    arguments: Option<Box<serde_json::value::RawValue>>,
}

/// Parses a member that must be a JSON object representing a `T`.
fn member<T: serde::de::DeserializeOwned>(
    request: &Request<'_>,
    member: Member,
) -> Result<T, ErrorObject> {
    let name = member.as_str();
    let json = request
        .params
        .get(member)
        .filter(|json| json.starts_with('{'));
    let json = json.ok_or_else(|| errors::invalid_member(name, "an object"))?;
    serde_json::from_str(json).map_err(|error| errors::invalid(name, &error))
}
