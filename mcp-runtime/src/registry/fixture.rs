//! Fixtures shared by the registry's tests.

use std::sync::{Arc, OnceLock};
use std::task::{Context as Task, Poll};

use crate::context::{
    AskError, CallEnding, CallHandle, CallId, CallQuestion, Caller, Capability, ChangeNotification,
    ClientIdentity, Context, Edit, EditStep, NotificationSender, OnceStore, Progress, QuestionKey,
    QuestionTransport, RequestContext, RequestInfo, RequestSource, ServerControl, ServerHandle,
    States,
};
use crate::error::Error;
use crate::handler::access::NotifiedCallers;
use crate::handler::dynamic::{Arguments, DynamicItem, DynamicPrompt, DynamicResource, ItemKind};
use crate::handler::handler_error::HandlerError;
use crate::handler::output::IntoResourceResult;
use crate::protocol::ProtocolVersion;
use crate::registry::cursor::{CursorSeal, TestSeal};
use crate::registry::{ItemDetails, ListPage, Registry, Snapshot, Sources};
use crate::types::{
    ClientCapabilities, ClientFeature, InputRequest, LoggingLevel, ReadResourceResult,
};

pub(super) const MODERN: ProtocolVersion = ProtocolVersion::V2026_07_28;

struct ContextStub;

impl NotificationSender for ContextStub {
    fn progress(&self, _: &Progress) {}
    fn accepts_level(&self, _: LoggingLevel) -> bool {
        false
    }
    fn log(&self, _: LoggingLevel, _: Option<&str>, _: &str) {}
}

impl ServerControl for ContextStub {
    fn notify(&self, _: ChangeNotification, _: &NotifiedCallers) {}
    fn edit(&self, _: Edit) -> Result<bool, Error> {
        Ok(false)
    }
    fn names(&self, _: Capability) -> Vec<String> {
        Vec::new()
    }
    fn shut_down(&self) {}
}

/// Handlers in these tests do not ask the client any questions.
impl QuestionTransport for ContextStub {
    fn can_ask(&self, _: ClientFeature) -> bool {
        false
    }
    fn check(&self, _: &InputRequest) -> Result<(), AskError> {
        unreachable!()
    }
    fn identify(&self, _: &InputRequest) -> QuestionKey {
        unreachable!()
    }
    fn key(&self, _: &str) -> String {
        unreachable!()
    }
    fn poll(&self, _: &mut CallQuestion, _: &mut Task<'_>) -> Poll<Result<Box<str>, AskError>> {
        unreachable!()
    }
    fn reject(&self, _: &mut CallQuestion, _: String) -> Result<(), AskError> {
        unreachable!()
    }
    fn withdraw(&self, _: &mut CallQuestion) {}
    fn begin_run(&self) {}
    fn end_run(&self) {}
    fn call_id(&self) -> CallId {
        unreachable!()
    }
    fn is_continued(&self) -> bool {
        false
    }
    fn journal(&self) -> String {
        unreachable!()
    }
    fn begin_once(&self, _: &str) -> Result<Option<Box<str>>, AskError> {
        unreachable!()
    }
    fn end_once(&self, _: &str, _: Option<&str>) {}
    fn is_once_under_way(&self) -> bool {
        false
    }
    fn once_store(&self) -> Option<Arc<dyn OnceStore>> {
        None
    }
}

/// A call that does not send notifications or ask questions.
struct Unasked(RequestContext, CallEnding);

impl CallHandle for Unasked {
    fn request(&self) -> &RequestContext {
        &self.0
    }
    fn outbound(&self) -> &dyn NotificationSender {
        &ContextStub
    }
    fn asking(&self) -> &dyn QuestionTransport {
        &ContextStub
    }
    fn ending(&self) -> &CallEnding {
        &self.1
    }
}

pub(crate) fn context() -> Context {
    let request = RequestContext {
        version: MODERN,
        client: ClientIdentity::Known(None),
        info: RequestInfo::new(ProtocolVersion::LATEST, RequestSource::Message),
        caller: Caller::trusted(),
        selection: None,
        capabilities: Arc::new(ClientCapabilities::default()),
        meta: None,
        cancelled: OnceLock::new(),
        states: Arc::new(States::default()),
        server: ServerHandle(Arc::new(ContextStub)),
    };
    Context::new(Arc::new(Unasked(request, CallEnding::default())))
}

/// Creates a prompt that returns its name.
pub(super) fn prompt(name: &str) -> DynamicPrompt {
    let text = name.to_owned();
    DynamicPrompt::new(name, move |_: Arguments, _| {
        let text = text.clone();
        async move { text }
    })
}

/// Creates a resource that cannot be read.
pub(super) fn resource(uri: &str) -> DynamicResource {
    DynamicResource::new(uri, uri, |_| async { Closed })
}

pub(super) struct Closed;

impl IntoResourceResult for Closed {
    fn into_resource_result(self) -> Result<ReadResourceResult, HandlerError> {
        Err(HandlerError::exposed("closed"))
    }
}

/// Builds a registry that contains prompts with these names.
pub(super) fn prompts(names: &[&str], page_size: usize) -> Registry {
    Registry::build(Sources {
        only: Some(Vec::new()),
        early: early(names.iter().map(|name| prompt(name).into_item())),
        page_size,
        ..Sources::default()
    })
    .unwrap()
}

/// Returns edits that insert these items before the server starts.
pub(super) fn early(items: impl IntoIterator<Item = DynamicItem>) -> Vec<Edit> {
    let edit = |item: DynamicItem| Edit {
        list: item.list(),
        steps: vec![EditStep::Insert(item)],
    };
    items.into_iter().map(edit).collect()
}

/// Returns the title of a prompt.
pub(super) fn title<'a>(snapshot: &'a Snapshot, name: &str) -> Option<&'a str> {
    match &snapshot.prompts.get(name)?.details {
        ItemDetails::Prompt(prompt) => prompt.title.as_deref(),
        _ => None,
    }
}

/// Applies edits that must succeed. Returns `true` if they changed the list.
pub(super) fn change(registry: &Registry, list: Capability, steps: Vec<EditStep>) -> bool {
    registry.edit(Edit { list, steps }).unwrap().changed
}

/// Seals cursors without a key.
pub(super) fn test_seal() -> Arc<dyn CursorSeal> {
    Arc::new(TestSeal)
}

/// Returns the items of a page and the cursor for the next page.
pub(super) fn page(
    snapshot: &Snapshot,
    list: Capability,
    cursor: Option<&str>,
) -> (Vec<String>, Option<String>) {
    let text = match snapshot
        .seen_by(&Caller::trusted())
        .page(list, MODERN, cursor, &test_seal())
        .unwrap()
    {
        ListPage::Ready(text) => String::from_utf8(text.into()).unwrap(),
        ListPage::Listing(listing) => {
            futures_util::FutureExt::now_or_never(listing.start_composing(context()))
                .expect("test listers do not wait")
                .unwrap()
        }
    };
    let mut page: serde_json::Map<String, serde_json::Value> =
        serde_json::from_str(&format!("{{{text}}}")).unwrap();
    let next = page
        .remove("nextCursor")
        .map(|next| next.as_str().unwrap().to_owned());
    let items = page
        .values()
        .flat_map(|items| items.as_array().unwrap())
        .map(|item| {
            ["uri", "uriTemplate", "name"]
                .iter()
                .find_map(|key| item.get(key)?.as_str())
                .unwrap()
                .to_owned()
        })
        .collect();
    (items, next)
}
