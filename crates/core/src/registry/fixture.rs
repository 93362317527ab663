//! Fixtures shared by the registry's tests.

use std::sync::{Arc, Mutex, OnceLock};

use crate::context::client_questions::{ClientQuestions, QuestionDelivery, QuestionSettings};
use crate::context::outbound::{CallLogBudget, CallMessages, CallStream, LogLevel, Sink};
use crate::context::request::CallContext;
use crate::context::{
    CallContinuation, Caller, Capability, ChangeNotification, ClientIdentity, Context,
    DeferredEffects, Edit, EditStep, RequestContext, RequestInfo, RequestSource, ServerControl,
    ServerHandle, States,
};
use crate::error::Error;
use crate::handler::access::NotifiedCallers;
use crate::handler::dynamic::{Arguments, DynamicItem, DynamicPrompt, DynamicResource, ItemKind};
use crate::handler::handler_error::HandlerError;
use crate::handler::output::IntoResourceResult;
use crate::limits::ElicitationLimits;
use crate::protocol::ProtocolVersion;
use crate::registry::cursor::{CursorSeal, TestSeal};
use crate::registry::{ItemDetails, ListPage, Registry, Snapshot, Sources};
use crate::types::{ClientCapabilities, ReadResourceResult};

pub(super) const MODERN: ProtocolVersion = ProtocolVersion::V2026_07_28;

struct ContextStub;

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

impl Sink for ContextStub {
    fn send(&self, _: &[u8]) -> bool {
        false
    }
}

/// Returns the context of a call that does not send notifications or ask questions.
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
    let questions = QuestionSettings {
        limits: ElicitationLimits::default(),
        once_store: None,
        spawn: Box::new(drop),
    };
    let asks = ClientQuestions::new(
        &Arc::new(questions),
        MODERN,
        Arc::clone(&request.capabilities),
        QuestionDelivery::None,
    );
    Context::new(Arc::new(CallContext {
        request,
        messages: CallMessages::Stream(CallStream {
            sink: Arc::new(ContextStub),
            version: MODERN,
            token: None,
            level: LogLevel::Off,
            logs: CallLogBudget::Own(OnceLock::new()),
            log_rate: 1,
            longest: 1,
            rate: 1,
            state: Mutex::default(),
        }),
        asks,
        effects: DeferredEffects::default(),
        continuation: CallContinuation::default(),
    }))
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
