//! Methods common to both eras. Most list requests are answered immediately; all other requests become calls to user
//! code.

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;
use serde::Deserialize;

use crate::context::{Capability, RequestSource};
use crate::dispatch::Dispatcher;
use crate::dispatch::job_tools::JobTools;
use crate::dispatch::origin::RequestOrigin;
use crate::dispatch::prepared::PreparedCall;
use crate::dispatch::request::Request;
use crate::dispatch::request_outcome::RequestOutcome;
use crate::dispatch::target::{CallTarget, CompletionTarget, ListTarget, ReadTarget};
use crate::handler::definition::ClientFeature;
use crate::handler::spill::READ_RESULT;
use crate::handler::tool_search::ToolSearch;
use crate::jsonrpc::{ErrorObject, Member, read_json};
use crate::protocol::encode::{self, CacheHint, ResponseContext};
use crate::protocol::{Method, MethodCapability, errors, negotiation};
use crate::registry::{Callable, CallerView, ListPage, Snapshot};
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
                let (callable, arguments) = match (method, &self.settings.search) {
                    (Method::ToolsCall, Some(search)) if ToolSearch::is_name(&name) => {
                        let limits = self.limits().message.parse_limits();
                        search.resolve(&name, request.arguments()?, view, &limits)?
                    }
                    (Method::ToolsCall, _) => {
                        let tool = view
                            .tool(&name)
                            .or_else(|unknown| self.own_tool(&name, &request, view).ok_or(unknown));
                        (Arc::clone(tool?), request.arguments()?.into())
                    }
                    _ => {
                        let prompt = view.prompt(&name)?;
                        (Arc::clone(prompt), request.arguments()?.into())
                    }
                };
                if let Some(refusal) = missing_capabilities(&request, &callable.requires) {
                    return refusal.answer(self, &request, out);
                }
                (CallTarget::Named(callable), arguments)
            }
            Method::ResourcesRead => {
                let uri = request.string(Member::Uri, self.limits().message.max_uri_bytes)?;
                let key = Capability::Resources.lookup_key(&uri);
                let results = self.settings.results.as_ref();
                let kept = results.and_then(|results| results.resource_at(&key));
                let (callable, arguments) = match kept {
                    Some((whole, arguments)) => (whole, arguments.into()),
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
                match self.list_page(&request, list, view)? {
                    ListPage::Ready(members) => {
                        let gap =
                            encode::list_with_gap(out, self.response_context(&request), cache);
                        return Ok(RequestOutcome::Answered(Some(Box::new((gap, members)))));
                    }
                    ListPage::Listing(page) => {
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
    ) -> Result<ListPage, ErrorObject> {
        let cursor = request
            .params
            .string(Member::Cursor)
            .map_err(|_| errors::invalid_cursor())?;
        if let (Capability::Tools, Some(search)) = (list, &self.settings.search)
            && let Some(page) = search.page(view, request.version)
        {
            // The list has only one page, so any cursor belongs to another list.
            return match cursor {
                None => Ok(ListPage::Ready(self.with_own_tools(page, request, view))),
                Some(_) => Err(errors::invalid_cursor()),
            };
        }
        if cursor
            .as_ref()
            .is_some_and(|cursor| cursor.len() > self.limits().message.max_cursor_bytes)
        {
            return Err(errors::invalid_cursor());
        }
        let seal = &self.settings.cursors;
        let page = view.page(list, request.version, cursor.as_deref(), seal);
        let page = page.map_err(|_| errors::invalid_cursor())?;
        Ok(match page {
            ListPage::Ready(page) if list == Capability::Tools && cursor.is_none() => {
                ListPage::Ready(self.with_own_tools(page, request, view))
            }
            page => page,
        })
    }

    /// Returns the server's own tool with this name, if it exists for this request.
    fn own_tool(
        &self,
        name: &str,
        request: &Request<'_>,
        view: CallerView<'_>,
    ) -> Option<&Arc<Callable>> {
        if let (READ_RESULT, Some(results)) = (name, &self.settings.results) {
            return view.has_spilling_tool().then_some(&results.read);
        }
        let tool = self.settings.job_tools.as_ref()?.find(name)?;
        let capabilities = request.sender.capabilities();
        JobTools::are_for(view, request.version, &capabilities).then_some(tool)
    }

    /// Adds the server's own tools to the members of a list's first page, if they exist for this request.
    fn with_own_tools(&self, page: Bytes, request: &Request<'_>, view: CallerView<'_>) -> Bytes {
        let (results, jobs) = (&self.settings.results, &self.settings.job_tools);
        let results = results.as_ref().filter(|_| view.has_spilling_tool());
        let jobs = jobs.as_ref().filter(|_| {
            let capabilities = request.sender.capabilities();
            JobTools::are_for(view, request.version, &capabilities)
        });
        let results = results.map(|results| results.rendered(request.version));
        let jobs = jobs.map(|jobs| jobs.rendered(request.version));
        let own = results.into_iter().chain(jobs);
        own.fold(page, |page, tools| with_last_items(&page, tools))
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

/// Returns the members of a list's page with these items appended to the list.
fn with_last_items(page: &[u8], items: &str) -> Bytes {
    // Cursors contain no brackets, so the last bracket closes the list.
    let end = page.iter().rposition(|byte| *byte == b']');
    let (list, rest) = page.split_at(end.unwrap_or_default());
    let mut members = list.to_vec();
    if !list.ends_with(b"[") {
        members.push(b',');
    }
    members.extend_from_slice(items.as_bytes());
    members.extend_from_slice(rest);
    members.into()
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
