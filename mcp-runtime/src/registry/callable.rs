//! A tool, prompt, resource, resource template or completer, ready to be called: data, and one erased call.
//!
//! `declared` makes callables from annotated functions, and `dynamic` from definitions created at run time. Afterwards
//! nothing tells the two apart.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::context::Context;
use crate::handler::access::Access;
use crate::handler::call::CallOutput;
use crate::handler::completion::Candidates;
use crate::handler::decode::strings;
use crate::handler::definition::{ClientFeature, Kind};
use crate::handler::listing::Lister;
use crate::handler::refusal::CallRefusal;
use crate::protocol::ProtocolVersion;
use crate::protocol::encode::CacheHint;
use crate::registry::complete::Completions;
use crate::registry::guards::Guards;
use crate::registry::handler::{Handler, HandlerProgress};
use crate::registry::items::append;
use crate::registry::outputs::Outputs;
use crate::registry::pace::Pace;
use crate::types::{Prompt, Resource, ResourceTemplate, Tool};
use mcp_schema::explain::{Fault, missing};
use mcp_schema::template::UriTemplate;

/// Everything that a request can call, of any kind.
#[derive(Debug)]
pub(crate) struct Callable {
    /// The key under which requests find it: a name, a URI or a URI template.
    pub(crate) name: Arc<str>,
    pub(crate) details: Details,
    pub(crate) handler: Handler,
    pub(crate) guards: Guards,
    pub(crate) access: Access,
    /// The client capabilities that calls need.
    pub(crate) requires: Box<[ClientFeature]>,
    /// The completers of the arguments.
    pub(crate) completions: Completions,
    /// The cache hint for contents.
    pub(crate) cache: CacheHint,
    pub(crate) pace: Arc<Pace>,
}

/// The definition as lists show it, and the data that only its kind has.
#[derive(Debug)]
pub(crate) enum Details {
    Tool {
        tool: Tool,
        outputs: Outputs,
    },
    Prompt(Prompt),
    Resource(Resource),
    Template {
        template: ResourceTemplate,
        pattern: UriTemplate,
        lister: Option<Arc<dyn Lister>>,
    },
    /// A completer, which no list shows.
    Completer,
}

impl Callable {
    /// Decodes the arguments, one JSON object, and starts the call. User code may run inside, even to completion.
    ///
    /// # Errors
    ///
    /// If the arguments are invalid, or an injected value is unavailable.
    pub(crate) fn start(
        &self,
        arguments: &str,
        context: &dyn Fn() -> Context,
    ) -> Result<HandlerProgress, CallRefusal> {
        if let Details::Prompt(prompt) = &self.details {
            let arguments = self.prompt_arguments(prompt, arguments);
            let arguments = arguments.map_err(CallRefusal::Arguments)?;
            return self.handler.start(&arguments, context);
        }
        self.handler.start(arguments, context)
    }

    /// Returns the arguments of a prompt, all strings, in the form that its handler decodes.
    fn prompt_arguments(&self, prompt: &Prompt, arguments: &str) -> Result<String, Vec<Fault>> {
        if let Some(decoder) = self.handler.decoder() {
            return decoder.from_strings(arguments);
        }
        let given = strings(arguments)?;
        let is_given = |name: &str| given.iter().any(|(given, _)| given == name);
        let required = prompt.arguments.iter();
        let text = json!({"type": "string"});
        let faults: Vec<Fault> = required
            .filter(|argument| argument.required == Some(true) && !is_given(&argument.name))
            .map(|argument| Fault::new("", missing("argument", &argument.name, Some(&text))))
            .collect();
        if !faults.is_empty() {
            return Err(faults);
        }
        let given = given.iter().map(|(name, text)| (&**name, &**text));
        Ok(object(given))
    }

    /// Returns the variables of a URI as the arguments of the resource template that it matches.
    pub(crate) fn arguments<'v>(
        &self,
        variables: impl IntoIterator<Item = (&'v str, &'v str)>,
    ) -> String {
        match self.handler.decoder() {
            Some(decoder) => decoder.from_pairs(variables),
            None => object(variables),
        }
    }

    /// Starts a completer, with the partial text and the arguments filled in earlier.
    ///
    /// Earlier arguments that do not fit are omitted. If the completer requires one of them, or the partial text itself does
    /// not fit, there are no candidates.
    ///
    /// # Errors
    ///
    /// If an injected value is unavailable.
    pub(crate) fn complete<'e>(
        &self,
        partial: &'e str,
        earlier: impl IntoIterator<Item = (&'e str, &'e str)>,
        context: &dyn Fn() -> Context,
    ) -> Result<HandlerProgress, CallRefusal> {
        // The partial text gets the empty name, which no argument can have.
        let earlier = earlier.into_iter().filter(|(name, _)| !name.is_empty());
        let pairs = std::iter::once(("", partial)).chain(earlier);
        let decoder = self.handler.decoder();
        let Some(arguments) = decoder.and_then(|decoder| decoder.from_decodable_pairs(pairs))
        else {
            return Ok(candidates(Vec::new()));
        };
        match self.handler.start(&arguments, context) {
            Err(CallRefusal::Arguments(_)) => Ok(candidates(Vec::new())),
            started => started,
        }
    }

    pub(crate) fn kind(&self) -> Kind {
        match self.details {
            Details::Tool { .. } => Kind::Tool,
            Details::Prompt(_) => Kind::Prompt,
            Details::Resource(_) => Kind::Resource,
            Details::Template { .. } => Kind::ResourceTemplate,
            Details::Completer => Kind::Completer,
        }
    }

    /// Returns the media type of contents, if the definition specifies one.
    pub(crate) fn mime_type(&self) -> Option<&str> {
        match &self.details {
            Details::Resource(resource) => resource.mime_type.as_deref(),
            Details::Template { template, .. } => template.mime_type.as_deref(),
            Details::Tool { .. } | Details::Prompt(_) | Details::Completer => None,
        }
    }

    /// Appends the definition to a list under construction, in the shape of `version`.
    pub(super) fn append(&self, text: &mut String, version: ProtocolVersion) {
        match &self.details {
            Details::Tool { tool, .. } => append(text, tool.clone(), version),
            Details::Prompt(prompt) => append(text, prompt.clone(), version),
            Details::Resource(resource) => append(text, resource.clone(), version),
            Details::Template { template, .. } => append(text, template.clone(), version),
            Details::Completer => {}
        }
    }
}

/// Returns the end of a completion with these candidates.
pub(super) fn candidates(values: Vec<String>) -> HandlerProgress {
    HandlerProgress::Done(Ok(CallOutput::Completion(Candidates {
        values,
        ranked: false,
        total: None,
    })))
}

/// Returns a JSON object of strings.
fn object<'a>(members: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let members = members.into_iter();
    let members: Map<String, Value> = members
        .map(|(name, text)| (name.to_owned(), text.into()))
        .collect();
    Value::Object(members).to_string()
}
