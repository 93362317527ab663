//! The methods of both eras, and those of extensions: lists are answered at once, other requests become calls to user
//! code. What a request may see: the definitions that it selects by tag, the tools of sources, the instructions.

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;
use serde::Deserialize;

use crate::context::{Caller, Capability, RequestInfo, RequestSource};
use crate::dispatch::Dispatcher;
use crate::dispatch::decide::RequestDecision;
use crate::dispatch::finish::WrittenResponse;
use crate::dispatch::prepared::PreparedCall;
use crate::dispatch::request::{Request, RequestOrigin};
use crate::dispatch::sources::{AskedSource, SourcePage, SourcedTarget, listed_items, push_items};
use crate::dispatch::target::{
    CallTarget, CompletionTarget, ListTarget, MethodTarget, ReadTarget, UnfinishedPage,
};
use crate::extension::FilterRefusal;
use crate::handler::definition::ClientFeature;
use crate::handler::tags::TagSelection;
use crate::jsonrpc::{ErrorObject, Member, Params, each_member, read_json, unquote};
use crate::observe::CalledItem;
use crate::protocol::encode::{CacheHint, ExtensionFilter, ResponseContext};
use crate::protocol::negotiation::ModernMeta;
use crate::protocol::{Method, MethodCapability, ProtocolVersion, encode, errors, negotiation};
use crate::registry::{CallerView, ListPage, Snapshot, SourceRequest, ToolPart};
use crate::types::{CacheScope, CompletionReference, Meta};

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
    ) -> Result<RequestDecision<'m>, ErrorObject> {
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
                        return Ok(RequestDecision::Answered(WrittenResponse::with_gap(
                            gap, members,
                        )));
                    }
                    NextPage::Unfinished(page) => {
                        let list = ListTarget { page, cache };
                        (CallTarget::List(Arc::new(list)), "{}".into())
                    }
                }
            }
        };
        let logs = origin.logs.clone();
        Ok(RequestDecision::Call(PreparedCall {
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
            Some(MethodCapability::Logging) | None => true,
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
    ) -> Result<RequestDecision<'m>, ErrorObject> {
        let error = errors::missing_capability(request.version, self.0);
        if request.version.reports_missing_capabilities_as_errors() {
            return Err(error);
        }
        encode::handler_error(out, dispatcher.response_context(request), error.message);
        Ok(RequestDecision::WRITTEN)
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

impl Dispatcher {
    /// Answers a request for a method that is not part of the core protocol in this version.
    ///
    /// A method that the caller cannot see is answered like a method that does not exist. A client that does not
    /// declare the extension is refused before any part of the request other than its method is read.
    pub(super) fn answer_extension<'m>(
        self: &Arc<Self>,
        name: &str,
        request: Request<'m>,
        origin: &RequestOrigin,
    ) -> Result<RequestDecision<'m>, ErrorObject> {
        let method = self.settings.extensions.method(name, request.version);
        let method = method
            .filter(|method| method.callable.access.is_visible_to(&request.caller))
            .ok_or_else(|| errors::method_not_found(name))?;
        let extension = &method.extension;
        if !extension.is_open_to(&request.sender.capabilities(), request.version) {
            let error = errors::undeclared_extension(request.version, name, &extension.id);
            return Err(error);
        }
        method.callable.access.check_scopes(&request.caller)?;
        let target = MethodTarget {
            callable: Arc::clone(&method.callable),
            result_types: Arc::clone(&method.result_types),
            may_ask: method.forwards_questions && !request.version.is_modern(),
            is_built_in: method.is_built_in,
        };
        Ok(RequestDecision::Call(PreparedCall {
            dispatcher: Arc::clone(self),
            logs: origin.logs.clone(),
            channel: origin.channel,
            target: CallTarget::Method(Arc::new(target)),
            arguments: request.params.raw().unwrap_or("{}").into(),
            request,
            source: RequestSource::Message,
        }))
    }

    /// Returns the extension method with this name, as observers see it.
    pub(super) fn called_method(&self, name: &str) -> CalledItem<'_> {
        let method = self
            .settings
            .extensions
            .method(name, ProtocolVersion::LATEST);
        method.map_or(CalledItem::Other, |method| {
            CalledItem::Method(&method.callable.name)
        })
    }

    /// Reads the members that extensions define in a listen filter. User code has not yet checked the keys.
    pub(super) fn extension_filter(
        &self,
        wanted: &str,
        request: &Request<'_>,
    ) -> Result<Vec<ExtensionFilter>, ErrorObject> {
        let extensions = &self.settings.extensions;
        if !extensions.has_filter_members() {
            return Ok(Vec::new());
        }
        let wanted = serde_json::from_str(wanted)
            .map_err(|error| errors::unparsable_member("notifications", &error))?;
        let client = request.sender.capabilities();
        let filters = extensions.read_filter(&wanted, (request.version, &client));
        filters.map_err(|problem| match problem {
            FilterRefusal::NotStrings(name) => errors::invalid_member(name, "an array of strings"),
            FilterRefusal::NotABoolean(name) => errors::invalid_member(name, "a boolean"),
            FilterRefusal::Undeclared(id) => {
                errors::undeclared_extension(request.version, "subscriptions/listen", id)
            }
        })
    }

    /// Returns the part of a request's body that the `Mcp-Name` header mirrors.
    ///
    /// The header is not compared for a method that this caller cannot see or this client cannot use, so the request is
    /// answered as it would be without the header.
    pub fn mirrored_name<'m>(
        &self,
        (method, known): (&str, Option<Method>),
        params: &Params<'m>,
        (modern, caller): (&ModernMeta<'_>, &Caller),
    ) -> MirroredName<'m> {
        if let Some(method) = known {
            return match method.mirrored_member() {
                None => MirroredName::Nothing,
                Some(member) => params.string(member).ok().flatten().into(),
            };
        }
        let method = self.settings.extensions.method(method, modern.version);
        let Some((method, member)) =
            method.and_then(|method| Some((method, method.mirrored_name.as_deref()?)))
        else {
            return MirroredName::Nothing;
        };
        let is_usable = method.callable.access.is_visible_to(caller)
            && method
                .extension
                .is_open_to(&modern.capabilities(), modern.version);
        if !is_usable {
            return MirroredName::Nothing;
        }
        let mut value = None;
        if let Some(params) = params.raw() {
            each_member(params, |key, json| {
                if key == member.as_bytes() {
                    value = Some(json);
                }
            });
        }
        match value.and_then(|json| unquote(json).ok()) {
            Some(name) if !method.requires_name_header => MirroredName::Optional(name),
            name => name.into(),
        }
    }
}

/// The part of a request's body that the `Mcp-Name` header mirrors.
#[derive(Debug)]
pub enum MirroredName<'m> {
    /// The header is not used for this method.
    Nothing,
    /// The member is missing from the body or is not a string. This is reported later.
    Missing,
    Name(Cow<'m, str>),
    /// The name; the header may be missing.
    Optional(Cow<'m, str>),
}

impl<'m> From<Option<Cow<'m, str>>> for MirroredName<'m> {
    fn from(name: Option<Cow<'m, str>>) -> Self {
        name.map_or(Self::Missing, Self::Name)
    }
}

impl Dispatcher {
    /// Returns the target of a call to a tool that the registry does not show to the request.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no such tool, or if the caller lacks scopes.
    #[inline(never)]
    fn tool_of_source<'m>(
        &self,
        name: &str,
        request: &Request<'m>,
        view: CallerView<'_>,
    ) -> Result<(CallTarget, Cow<'m, str>), ErrorObject> {
        let sources = &self.settings.sources;
        if let Some(cover) = sources
            .cover()
            .filter(|cover| cover.reserves(name).is_some())
        {
            let limits = self.limits().message.parse_limits();
            let (tool, arguments) = cover.target(name, request.arguments()?, view, &limits)?;
            return Ok((CallTarget::Named(tool), arguments));
        }
        let capabilities = || request.sender.capabilities();
        let info = RequestInfo::new(request.version, RequestSource::Message);
        let asked = SourceRequest::new(view, &info, &capabilities);
        if let Some(tool) = sources.built_in_tool(&asked, name) {
            return Ok((CallTarget::Named(tool), request.arguments()?.into()));
        }
        let is_taken = view.has_tool_named(name) || sources.have_built_in(name);
        match sources.of_authors().filter(|_| !is_taken) {
            None => Err(view.unknown_tool(name)),
            Some(authors) => {
                let target = Arc::new(SourcedTarget::new(authors, name));
                Ok((CallTarget::Sourced(target), request.arguments()?.into()))
            }
        }
    }

    /// Returns a page of the list of tools.
    ///
    /// # Errors
    ///
    /// Returns an error if the cursor does not belong to this list.
    fn tool_page(
        &self,
        request: &Request<'_>,
        view: CallerView<'_>,
        cursor: Option<&str>,
    ) -> Result<NextPage, ErrorObject> {
        let sources = &self.settings.sources;
        let (version, seal) = (request.version, &self.settings.cursors);
        let capabilities = || request.sender.capabilities();
        let info = RequestInfo::new(version, RequestSource::Message);
        let asked = SourceRequest::new(view, &info, &capabilities);
        let cover = sources.covering(view);
        let Some(authors) = sources.of_authors() else {
            let page = match (cover, cursor) {
                // The list has only one page, so any cursor belongs to another list.
                (Some(_), Some(_)) => return Err(errors::invalid_cursor()),
                (Some(cover), None) => {
                    let first = listed_items(cover, &asked);
                    view.short_tool_page(&first, |tool| cover.keeps(tool), version)
                }
                (None, cursor) => match view.page(Capability::Tools, version, cursor, seal) {
                    Ok(ListPage::Ready(page)) => page,
                    Ok(ListPage::Listing(_)) | Err(_) => return Err(errors::invalid_cursor()),
                },
            };
            return Ok(NextPage::Ready(match cursor {
                None => with_last_items(page, &sources.last_items(&asked)),
                Some(_) => page,
            }));
        };
        let part = match (cover, cursor) {
            (Some(cover), None) => {
                let first = listed_items(cover, &asked);
                let items = view.tool_items(&first, |tool| cover.keeps(tool), version);
                Ok(ToolPart::Last { items, count: 1 })
            }
            _ => view.tool_part(version, cursor, &**seal),
        };
        let (mut items, count, (start, at)) = match part.map_err(|_| errors::invalid_cursor())? {
            ToolPart::Page(_) if cover.is_some() => return Err(errors::invalid_cursor()),
            ToolPart::Last { .. } if cover.is_some() && cursor.is_some() => {
                return Err(errors::invalid_cursor());
            }
            ToolPart::Page(ListPage::Ready(page)) => {
                return Ok(NextPage::Ready(match cursor {
                    None => with_last_items(page, &sources.last_items(&asked)),
                    Some(_) => page,
                }));
            }
            ToolPart::Page(ListPage::Listing(_)) => return Err(errors::invalid_cursor()),
            ToolPart::Last { items, count } => (items, count, (0, None)),
            ToolPart::Source { source, cursor } => {
                let mut names = authors.sources.iter().map(|named| &*named.name);
                let index = names.position(|name| source.is_of(name));
                let index = index.ok_or_else(errors::invalid_cursor)?;
                (String::new(), 0, (index, cursor))
            }
        };
        if cursor.is_none() {
            push_items(&mut items, &sources.last_items(&asked));
        }
        let page = SourcePage {
            authors: Arc::clone(authors),
            items,
            count,
            start,
            cursor: at,
            size: view.page_size(),
            version,
            asked: AskedSource::default(),
        };
        Ok(NextPage::Unfinished(UnfinishedPage::Tools(Arc::new(page))))
    }
}

/// A page of a list, as far as it is known when the request is decided.
pub(super) enum NextPage {
    /// The JSON text of the page's members.
    Ready(Bytes),
    Unfinished(UnfinishedPage),
}

impl From<ListPage> for NextPage {
    fn from(page: ListPage) -> Self {
        match page {
            ListPage::Ready(members) => Self::Ready(members),
            ListPage::Listing(page) => Self::Unfinished(UnfinishedPage::Resources(page)),
        }
    }
}

/// Returns the members of a list's page with these items appended to the list.
fn with_last_items(page: Bytes, items: &str) -> Bytes {
    if items.is_empty() {
        return page;
    }
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
    pub fn read_selection<'t>(
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

impl Dispatcher {
    /// Returns the cache hint for `server/discover`. Some instructions depend on the request.
    pub(super) fn discover_cache(&self) -> CacheHint {
        let mut cache = self.settings.cache.discover;
        if self.settings.request_instructions.is_some() {
            cache.scope = CacheScope::Private;
        }
        cache
    }

    /// Returns the instructions for a request with this origin.
    pub(super) fn instructions(&self, origin: &RequestOrigin) -> Option<Cow<'_, str>> {
        let written = self.settings.instructions.as_deref();
        let added = self.settings.request_instructions.as_ref().and_then(|add| {
            let snapshot = self.registry.snapshot();
            let view = snapshot.seen_by(&origin.caller);
            add(view.narrowed_to(origin.selection.as_ref()))
        });
        match (written, added) {
            (written, None) => written.map(Cow::Borrowed),
            (None, Some(added)) => Some(added.into()),
            (Some(written), Some(added)) => Some(format!("{written}\n\n{added}").into()),
        }
    }
}

impl Dispatcher {
    /// Returns `true` if the author's sources have tools that are not in the registry.
    pub fn has_tool_sources(&self) -> bool {
        self.settings.sources.of_authors().is_some()
    }

    /// Returns the definitions in a list to which this caller has access, including disabled ones, as comma-separated
    /// JSON objects. The search tools are included if clients receive them.
    pub fn declared_items(
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
    pub fn described_extensions(&self, version: ProtocolVersion) -> Meta {
        self.settings.extensions.described(version)
    }

    /// Returns the tools that this caller may use, whether or not they are listed, as comma-separated JSON objects. The
    /// search tools are included if clients receive them.
    pub fn all_tools(&self, caller: &Caller, version: ProtocolVersion) -> String {
        let caller = self.settings.admission.admit(caller.clone());
        let snapshot = self.registry.snapshot();
        let view = snapshot.seen_by(&caller);
        let first = self.covering_items(view, version);
        view.tool_items(&first, |_| true, version)
    }
}
