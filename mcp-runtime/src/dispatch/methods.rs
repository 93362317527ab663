//! Methods common to both eras. Most list requests are answered immediately; all other requests become calls to user
//! code.

use std::borrow::Cow;
use std::sync::Arc;

use serde::Deserialize;

use crate::context::{Capability, RequestSource};
use crate::dispatch::Dispatcher;
use crate::dispatch::origin::RequestOrigin;
use crate::dispatch::prepared::PreparedCall;
use crate::dispatch::request::Request;
use crate::dispatch::request_outcome::RequestOutcome;
use crate::dispatch::target::{CallTarget, CompletionTarget, ListTarget, ReadTarget};
use crate::dispatch::tools::NextPage;
use crate::handler::definition::ClientFeature;
use crate::jsonrpc::{ErrorObject, Member, read_json};
use crate::protocol::encode::{self, CacheHint, ResponseContext};
use crate::protocol::{Method, MethodCapability, errors, negotiation};
use crate::registry::{CallerView, Snapshot};
use crate::types::{CacheScope, CompletionReference};

impl Dispatcher {
    pub(super) fn response_context<'a>(&'a self, request: &'a Request<'_>) -> ResponseContext<'a> {
        ResponseContext {
            id: Some(&request.id),
            version: request.version,
            identity: self.identity(),
        }
    }

    /// Answers a request for one of the methods common to both eras.
    pub(super) fn answer_common<'m>(
        self: &Arc<Self>,
        method: Method,
        request: Request<'m>,
        origin: &RequestOrigin,
        out: &mut Vec<u8>,
    ) -> Result<RequestOutcome<'m>, ErrorObject> {
        let snapshot = self.registry.snapshot();
        if !self.offers(method, &snapshot) {
            return Err(errors::method_not_found(method.as_str()));
        }
        let view = request.view(&snapshot);
        let (target, arguments) = match method {
            Method::ToolsCall | Method::PromptsGet => {
                let name = request.string(Member::Name, self.limits().message.max_name_bytes)?;
                let (target, arguments) = if method == Method::PromptsGet {
                    let prompt = Arc::clone(view.prompt(&name)?);
                    (CallTarget::Named(prompt), request.arguments()?.into())
                } else if let Some(tool) = view.visible_tool(&name)? {
                    let tool = CallTarget::Named(Arc::clone(tool));
                    (tool, request.arguments()?.into())
                } else {
                    self.tool_of_source(&name, &request, view)?
                };
                if let CallTarget::Named(callable) = &target
                    && let Some(refusal) = missing_capabilities(&request, &callable.requires)
                {
                    return refusal.answer(self, &request, out);
                }
                (target, arguments)
            }
            Method::ResourcesRead => {
                let uri = request.string(Member::Uri, self.limits().message.max_uri_bytes)?;
                let key = Capability::Resources.lookup_key(&uri);
                let (callable, arguments) = match self.settings.sources.resource_at(&key) {
                    Some((resource, arguments)) => (resource, arguments.into()),
                    None => view.resource_at(&uri, request.version)?,
                };
                let read = ReadTarget {
                    callable: Arc::clone(callable),
                    uri: key.as_ref().into(),
                    requested: matches!(key, Cow::Owned(_)).then(|| uri.as_ref().into()),
                };
                (CallTarget::Read(Arc::new(read)), arguments)
            }
            Method::CompletionComplete => self.completion_target(&request, view)?,
            method => {
                let (list, mut cache) = self
                    .list_of_method(method)
                    .ok_or_else(|| errors::method_not_found(method.as_str()))?;
                if view.is_filtered(list) {
                    cache.scope = CacheScope::Private;
                }
                let has_sources = self.settings.sources.of_authors().is_some();
                if list == Capability::Tools && has_sources {
                    cache.scope = CacheScope::Private;
                }
                match self.list_page(&request, list, view)? {
                    NextPage::Ready(members) => {
                        let gap =
                            encode::list_with_gap(out, self.response_context(&request), cache);
                        return Ok(RequestOutcome::Answered(Some(Box::new((gap, members)))));
                    }
                    NextPage::Unfinished(page) => {
                        let list = ListTarget { page, cache };
                        (CallTarget::List(Arc::new(list)), "{}".into())
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
            source: RequestSource::Message,
        }))
    }

    /// Returns `true` if the server declares the capability to which a method belongs.
    pub(super) fn offers(&self, method: Method, snapshot: &Snapshot) -> bool {
        match method.capability() {
            Some(MethodCapability::Tools) => snapshot.has_tools(),
            Some(MethodCapability::Prompts) => snapshot.has_prompts(),
            Some(MethodCapability::Resources | MethodCapability::Subscribe) => {
                self.has_resources(snapshot)
            }
            Some(MethodCapability::Completions) => snapshot.has_completers(),
            Some(MethodCapability::Logging) => self.settings.logging,
            None => true,
        }
    }

    fn list_of_method(&self, method: Method) -> Option<(Capability, CacheHint)> {
        let cache = &self.settings.cache;
        match method {
            Method::ToolsList => Some((Capability::Tools, cache.tools)),
            Method::PromptsList => Some((Capability::Prompts, cache.prompts)),
            Method::ResourcesList => Some((Capability::Resources, cache.resources)),
            Method::ResourceTemplatesList => Some((Capability::Templates, cache.templates)),
            _ => None,
        }
    }

    fn list_page(
        &self,
        request: &Request<'_>,
        list: Capability,
        view: CallerView<'_>,
    ) -> Result<NextPage, ErrorObject> {
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
        let cursor = cursor.as_deref();
        if list == Capability::Tools && !self.settings.sources.have_no_tools() {
            return self.tool_page(request, view, cursor);
        }
        let seal = &self.settings.cursors;
        let page = view.page(list, request.version, cursor, seal);
        page.map(NextPage::from)
            .map_err(|_| errors::invalid_cursor())
    }

    fn completion_target<'m>(
        &self,
        request: &Request<'m>,
        view: CallerView<'_>,
    ) -> Result<(CallTarget, Cow<'m, str>), ErrorObject> {
        let reference = parse_member::<CompletionReference>(request, Member::Ref)?;
        let argument = parse_member::<CompletionArgument>(request, Member::Argument)?;
        if argument.value.len() > self.limits().calls.max_completion_bytes {
            let max = self.limits().calls.max_completion_bytes;
            return Err(ErrorObject::invalid_params(format!(
                "`argument.value` is longer than {max} bytes"
            )));
        }
        let completer = view.completer(&reference, &argument.name)?;
        let earlier = match request.params.get(Member::Context) {
            None => None,
            Some(_) => parse_member::<CompletionContext>(request, Member::Context)?.arguments,
        };
        let list = if reference.is_prompt() {
            Capability::Prompts
        } else {
            Capability::Templates
        };
        let target = CompletionTarget {
            completer,
            of: list.lookup_key(reference.target()).into(),
            argument: argument.name,
            partial: argument.value,
        };
        let arguments = target.arguments(earlier.as_ref().map(|earlier| earlier.get()));
        Ok((CallTarget::Completion(Arc::new(target)), arguments.into()))
    }
}

/// Returns the capabilities that a tool requires but the client lacks.
fn missing_capabilities(
    request: &Request<'_>,
    requires: &[ClientFeature],
) -> Option<MissingCapabilities> {
    if requires.is_empty() {
        return None;
    }
    let capabilities = request.sender.capabilities();
    negotiation::missing_capabilities(&capabilities, requires, request.version)
        .map(MissingCapabilities)
}

/// Capabilities that a client lacks, in the form of a JSON capabilities object.
struct MissingCapabilities(serde_json::Value);

impl MissingCapabilities {
    /// Answers with an error in modern protocol versions and with a message for the model in legacy versions.
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
        encode::handler_error(out, dispatcher.response_context(request), error.message);
        Ok(RequestOutcome::Answered(None))
    }
}

#[derive(Deserialize)]
struct CompletionArgument {
    name: String,
    value: String,
}

#[derive(Deserialize)]
struct CompletionContext {
    #[serde(default)]
    arguments: Option<Box<serde_json::value::RawValue>>,
}

/// Parses a member, which must be a JSON object that represents a `T`.
fn parse_member<T: serde::de::DeserializeOwned>(
    request: &Request<'_>,
    member: Member,
) -> Result<T, ErrorObject> {
    let name = member.as_str();
    let json = request
        .params
        .get(member)
        .filter(|json| json.starts_with('{'));
    let json = json.ok_or_else(|| errors::invalid_member(name, "an object"))?;
    read_json(json).map_err(|error| errors::unparsable_member(name, &error))
}
