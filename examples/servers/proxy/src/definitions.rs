//! The definitions of all servers in the lists of the gateway.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use mcp_runtime::Error;
use mcp_runtime::dynamic::{Arguments, DynamicPrompt, DynamicResource, DynamicTool};
use mcp_runtime::http::HttpService;
use mcp_runtime::prelude::*;
use mcp_runtime::serde_json::{self, Value};
use mcp_runtime::server::ServerHandle;
use mcp_runtime::types::{PromptArgument, ToolAnnotations};
use rmcp::model;

use crate::forward;
use crate::upstream::Upstream;

/// A definition as a server lists it.
pub enum Definition {
    Tool(model::Tool),
    Prompt(model::Prompt),
    Resource(model::Resource),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Tool,
    Prompt,
    Resource,
}

/// The kind, and the name in the gateway or the URI.
type Key = (Kind, String);

/// The prefix of the server, and the definition as it lists it.
type Listed = (String, String);

/// The lists of the gateway.
pub struct Registry {
    server: ServerHandle,
    /// A server on which definitions are tried. The gateway checks those from before its start only when it starts, and
    /// one mistake would keep it from starting.
    trial: ServerHandle,
    _trial: HttpService,
    listed: Mutex<BTreeMap<Key, Listed>>,
}

impl Registry {
    pub fn new(server: ServerHandle) -> Result<Self, Error> {
        let trial = Server::new("trial", "1").only([]);
        let handle = trial.handle();
        Ok(Self {
            server,
            trial: handle,
            _trial: trial.into_http_service()?,
            listed: Mutex::default(),
        })
    }

    pub fn server(&self) -> &ServerHandle {
        &self.server
    }

    /// Makes the definitions of a server those that it lists now. Those that have not changed are not touched, so that
    /// clients are only notified of changes.
    pub fn update(&self, upstream: &Arc<Upstream>, found: Vec<Definition>) {
        let mut listed = self.listed.lock().unwrap_or_else(PoisonError::into_inner);
        let prefix = &upstream.prefix;
        let mut keys = Vec::new();
        for definition in found {
            let (key, text) = (definition.key(prefix), definition.text());
            match listed.get(&key) {
                Some((owner, _)) if owner != prefix || keys.contains(&key) => {
                    tracing::warn!(
                        server = prefix,
                        name = key.1,
                        owner,
                        "left out: the name is taken"
                    );
                    continue;
                }
                Some((_, known)) if *known == text => {}
                _ => match self.put(upstream, &definition) {
                    Ok(()) => drop(listed.insert(key.clone(), (prefix.clone(), text))),
                    Err(error) => {
                        tracing::warn!(server = prefix, name = key.1, %error, "left out");
                        continue;
                    }
                },
            }
            keys.push(key);
        }
        listed.retain(|key, (owner, _)| {
            let stays = owner != prefix || keys.contains(key);
            if !stays {
                remove(&self.server, key);
            }
            stays
        });
    }

    fn put(&self, upstream: &Arc<Upstream>, definition: &Definition) -> Result<(), Error> {
        for server in [&self.trial, &self.server] {
            match definition {
                Definition::Tool(listed) => server.tools().replace(tool(upstream, listed)),
                Definition::Prompt(listed) => server.prompts().replace(prompt(upstream, listed)),
                Definition::Resource(listed) => {
                    server.resources().replace(resource(upstream, listed))
                }
            }?;
        }
        remove(&self.trial, &definition.key(&upstream.prefix));
        Ok(())
    }
}

fn remove(server: &ServerHandle, (kind, name): &Key) {
    match kind {
        Kind::Tool => server.tools().remove(name),
        Kind::Prompt => server.prompts().remove(name),
        Kind::Resource => server.resources().remove(name),
    };
}

impl Definition {
    fn key(&self, prefix: &str) -> Key {
        match self {
            Self::Tool(tool) => (Kind::Tool, format!("{prefix}_{}", tool.name)),
            Self::Prompt(prompt) => (Kind::Prompt, format!("{prefix}_{}", prompt.name)),
            Self::Resource(resource) => (Kind::Resource, resource.uri.clone()),
        }
    }

    /// The definition as text, to notice that it has changed.
    fn text(&self) -> String {
        let text = match self {
            Self::Tool(tool) => serde_json::to_string(tool),
            Self::Prompt(prompt) => serde_json::to_string(prompt),
            Self::Resource(resource) => serde_json::to_string(resource),
        };
        text.unwrap_or_default()
    }
}

fn tool(upstream: &Arc<Upstream>, listed: &model::Tool) -> DynamicTool {
    let mut schema = Value::Object((*listed.input_schema).clone());
    if let Value::Object(members) = &mut schema {
        // Many servers name an older dialect, whose keywords mean the same in the schemas of tools.
        members.remove("$schema");
    }
    let (upstream, name) = (Arc::clone(upstream), listed.name.to_string());
    let mut tool = DynamicTool::new(format!("{}_{name}", upstream.prefix), schema, {
        move |arguments: Arguments, _: Context| {
            let (upstream, name) = (Arc::clone(&upstream), name.clone());
            async move { forward::call(&upstream, name, arguments.0).await }
        }
    });
    if let Some(schema) = &listed.output_schema {
        let mut schema = (**schema).clone();
        schema.remove("$schema");
        tool = tool.output_schema(Value::Object(schema));
    }
    if let Some(hints) = convert::<ToolAnnotations>(&listed.annotations) {
        tool = tool.annotations(hints);
    }
    if let Some(title) = &listed.title {
        tool = tool.title(title);
    }
    match &listed.description {
        Some(text) => tool.description(text.to_string()),
        None => tool,
    }
}

fn prompt(upstream: &Arc<Upstream>, listed: &model::Prompt) -> DynamicPrompt {
    let (upstream, name) = (Arc::clone(upstream), listed.name.clone());
    let mut prompt = DynamicPrompt::new(format!("{}_{name}", upstream.prefix), {
        move |arguments: Arguments, _: Context| {
            let (upstream, name) = (Arc::clone(&upstream), name.clone());
            async move { forward::prompt(&upstream, name, arguments.0).await }
        }
    });
    for argument in listed.arguments.iter().flatten() {
        if let Some(argument) = convert::<PromptArgument>(argument) {
            prompt = prompt.argument(argument);
        }
    }
    if let Some(title) = &listed.title {
        prompt = prompt.title(title);
    }
    match &listed.description {
        Some(text) => prompt.description(text),
        None => prompt,
    }
}

fn resource(upstream: &Arc<Upstream>, listed: &model::Resource) -> DynamicResource {
    let (upstream, uri) = (Arc::clone(upstream), listed.uri.clone());
    let name = format!("{}_{}", upstream.prefix, listed.name);
    let mut resource = DynamicResource::new(uri.clone(), name, move |_: Context| {
        let (upstream, uri) = (Arc::clone(&upstream), uri.clone());
        async move { forward::read(&upstream, uri).await }
    });
    if let Some(mime_type) = &listed.mime_type {
        resource = resource.mime_type(mime_type);
    }
    if let Some(size) = listed.size {
        resource = resource.size(size);
    }
    if let Some(title) = &listed.title {
        resource = resource.title(title);
    }
    match &listed.description {
        Some(text) => resource.description(text),
        None => resource,
    }
}

/// Converts a value of the SDK to the runtime's type, which has the same form in JSON.
fn convert<T: serde::de::DeserializeOwned>(value: &impl serde::Serialize) -> Option<T> {
    serde_json::from_value(serde_json::to_value(value).ok()?).ok()
}
