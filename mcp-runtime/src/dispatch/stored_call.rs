//! Calls in their stored form, which contains all the data that another process needs to run a tool call again.
//!
//! A call's journal, which keeps its state between runs, is stored separately because it changes.

use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::context::{CallerRecord, ClientIdentity, RequestContext, RequestInfo, ServerHandle};
use crate::dispatch::Dispatcher;
use crate::dispatch::detached_call::DetachedCall;
use crate::dispatch::target::CallTarget;
use crate::handler::background::BackgroundCall;
use crate::handler::tags::TagSelection;
use crate::protocol::ProtocolVersion;
use crate::types::{ClientCapabilities, Implementation};

/// The format that this build reads and writes.
const FORMAT: u32 = 1;

/// The part of a stored call that all formats have in common.
#[derive(Deserialize)]
struct StoredFormat {
    format: u32,
}

/// A call in its stored form.
#[derive(Serialize, Deserialize)]
struct StoredCall {
    format: u32,
    tool: String,
    arguments: Box<RawValue>,
    protocol_version: String,
    caller: CallerRecord,
    capabilities: ClientCapabilities,
    /// The client's name and version, if they are not in `_meta`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    client: Option<Implementation>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    meta: Option<Box<RawValue>>,
    /// The lists of tags that select the definitions for the request.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    tags: Vec<String>,
}

/// Returns a call with these arguments as text, or `None` if it is not a tool call.
pub(super) fn to_text(
    target: &CallTarget,
    request: &RequestContext,
    arguments: &str,
) -> Option<String> {
    let (tool, _) = target.tool()?;
    let raw = |json: &str| RawValue::from_string(json.to_owned()).ok();
    let client = match &request.client {
        ClientIdentity::Known(client) => client.as_deref().cloned(),
        ClientIdentity::Claimed(_) => None,
    };
    let call = StoredCall {
        format: FORMAT,
        tool: tool.name.clone(),
        arguments: raw(arguments)?,
        protocol_version: request.version.as_str().to_owned(),
        caller: CallerRecord::of(&request.caller),
        capabilities: (*request.capabilities).clone(),
        client,
        meta: request.meta.as_deref().and_then(raw),
        tags: request
            .selection
            .as_ref()
            .map(TagSelection::lists)
            .unwrap_or_default(),
    };
    serde_json::to_string(&call).ok()
}

// This method is defined here, rather than called through the handle's trait, so that programs that restore no calls do
// not contain the code for it.
impl ServerHandle {
    /// Recreates a call from its [text](BackgroundCall::to_text), for as many runs as it needs. Its tool must still
    /// exist, and the caller must be allowed to use it. Its runs pass through all middleware, also through the middleware
    /// that let the call continue in the background.
    ///
    /// # Errors
    ///
    /// Returns a sentence for the client that explains why the call cannot run.
    pub fn restore_call(&self, text: &str) -> Result<BackgroundCall, String> {
        let dispatcher = self.0.dispatcher().ok_or("the server does not serve")?;
        let dispatcher = dispatcher.downcast::<Dispatcher>();
        dispatcher
            .map_err(|_| "the server does not serve")?
            .restore_call(text)
    }
}

impl Dispatcher {
    fn restore_call(self: Arc<Self>, text: &str) -> Result<BackgroundCall, String> {
        let call = read(text)?;
        let version = ProtocolVersion::from_wire(&call.protocol_version).ok_or_else(|| {
            format!(
                "this server no longer speaks protocol version {}",
                call.protocol_version
            )
        })?;
        let selection = call
            .tags
            .iter()
            .try_fold(None, |all: Option<TagSelection>, list| {
                let list = TagSelection::parse(list)?;
                Ok::<_, String>(Some(all.map_or(list.clone(), |all| all.and(&list))))
            });
        let selection = selection?;
        let caller = self.settings.admission.admit(call.caller.into_caller());
        let snapshot = self.registry.snapshot();
        let view = snapshot.seen_by(&caller).narrowed_to(selection.as_ref());
        let callable = view.tool(&call.tool).map_err(|_| {
            format!(
                "the tool `{}` no longer exists, or its caller may no longer use it",
                call.tool
            )
        })?;
        let next = self.settings.middleware.for_runs(callable);
        let target = CallTarget::Named(Arc::clone(callable));
        let name = Arc::clone(&callable.name);
        let meta = call.meta.map(Box::<str>::from);
        let request = RequestContext {
            #[cfg(feature = "telemetry")]
            trace: crate::telemetry::caller_trace(meta.as_deref()),
            client: if version.is_modern() {
                ClientIdentity::Claimed(OnceLock::new())
            } else {
                ClientIdentity::Known(call.client.map(Arc::new))
            },
            info: RequestInfo::new(version, self.message_source(&caller)),
            caller: caller.clone(),
            selection: selection.clone(),
            version,
            capabilities: Arc::new(call.capabilities),
            meta,
            cancelled: OnceLock::new(),
            states: Arc::clone(&self.settings.states),
            server: self.handle(),
        };
        let runner = DetachedCall {
            dispatcher: Arc::clone(&self),
            target,
            request,
        };
        let arguments: Box<str> = call.arguments.into();
        Ok(BackgroundCall {
            name,
            arguments: arguments.into(),
            next,
            journal: "".into(),
            runner: Arc::new(runner),
        })
    }
}

fn read(text: &str) -> Result<StoredCall, String> {
    let format = serde_json::from_str::<StoredFormat>(text);
    match format {
        Ok(StoredFormat { format: FORMAT }) => {}
        Ok(StoredFormat { format }) => {
            return Err(format!(
                "the call was stored in format {format}, which this build of the server cannot read; it reads format {FORMAT}"
            ));
        }
        Err(_) => return Err("the stored call cannot be read".into()),
    }
    serde_json::from_str(text).map_err(|error| {
        tracing::error!(%error, "a stored call cannot be read");
        "the stored call cannot be read".into()
    })
}
