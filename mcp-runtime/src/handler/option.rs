//! Options of tools that add-ons define.
//!
//! An attribute attaches a value of the option's type to its definition. The value leads to the add-on that serves the
//! option, so a program contains an add-on only if something in the program refers to it.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use crate::context::{OnceStore, RequestSource};
use crate::handler::dynamic::{DynamicTemplate, DynamicTool};
use crate::handler::middleware::UnlinkedMiddleware;
use crate::handler::sanitize::Sanitizer;
use crate::limits::Limits;
use crate::protocol::encode::Identity;

/// An option of a tool, defined by an add-on.
pub trait ToolOption: Any + fmt::Debug + Send + Sync {
    /// Returns the name of the option in an attribute.
    fn name(&self) -> &'static str;

    /// Adapts a tool that has the option, before its definition is complete.
    fn adapt(&self, tool: &mut AdaptedTool);

    /// Returns the add-on that serves the option.
    fn add_on(&self) -> AddOn;
}

/// The options that are attached to a definition.
pub(crate) type AttachedOptions = [&'static dyn ToolOption];

/// Returns the option of this type.
pub(crate) fn find_option<T: ToolOption>(options: &AttachedOptions) -> Option<&'static T> {
    options.iter().find_map(|option| {
        let option: &'static dyn Any = *option;
        option.downcast_ref()
    })
}

/// A tool whose options still have to be taken into account.
#[derive(Debug, Default)]
pub struct AdaptedTool {
    /// The `max_output` option, in bytes.
    pub(crate) max_output: Option<usize>,
    /// Set to the reason if the tool can have no output schema.
    pub(crate) no_output_schema: Option<&'static str>,
    /// Set if results fit, because those that are too large are replaced before their response is written.
    pub(crate) fits_output: bool,
    /// Set if repeating a call has no further effect.
    pub(crate) is_idempotent: bool,
    /// What is wrong with the definition.
    pub(crate) problems: Vec<String>,
}

impl AdaptedTool {
    /// Adapts a tool to all of its options. `max_output` is another of them.
    pub(crate) fn new(max_output: Option<usize>, options: &AttachedOptions) -> Self {
        let mut tool = Self {
            max_output,
            ..Self::default()
        };
        for option in options {
            option.adapt(&mut tool);
        }
        tool
    }
}

/// The code that serves an option, or a setting of a server.
#[derive(Clone, Copy)]
pub struct AddOn {
    /// Add-ons with the same name are one, and the first of them is started.
    pub(crate) name: &'static str,
    /// Adds to a server what the add-on needs.
    pub(crate) start: fn(&mut StartingServer<'_>),
}

impl fmt::Debug for AddOn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AddOn").field(&self.name).finish()
    }
}

/// A server that is starting, as its add-ons see it.
pub(crate) struct StartingServer<'a> {
    pub(crate) name: &'a str,
    pub(crate) identity: &'a Identity,
    pub(crate) limits: &'a Limits,
    pub(crate) sanitizer: Option<&'a Sanitizer>,
    pub(crate) once_store: Option<&'a Arc<dyn OnceStore>>,
    pub(crate) stores: &'a StoresByType,
    /// What the add-ons add.
    pub(crate) added: Additions,
}

impl StartingServer<'_> {
    /// Starts add-ons and returns what they add.
    pub(crate) fn start(mut self, add_ons: Vec<AddOn>) -> Additions {
        for add_on in add_ons {
            (add_on.start)(&mut self);
        }
        self.added
    }
}

/// What add-ons add to a server.
#[derive(Default)]
pub(crate) struct Additions {
    pub(crate) tools: Vec<OptionTools>,
    /// Resources that no list contains.
    pub(crate) templates: Vec<DynamicTemplate>,
    pub(crate) wrappings: Vec<OptionWrapping>,
}

/// Tools that exist for requests that may use a tool with an option.
pub(crate) struct OptionTools {
    /// The name of the source of these tools, in messages.
    pub(crate) name: &'static str,
    /// The type of the option.
    pub(crate) option: TypeId,
    pub(crate) tools: Vec<DynamicTool>,
    /// Explains to an author why no other tool can have one of their names.
    pub(crate) reason: &'static str,
}

/// What an add-on puts around calls of tools.
pub(crate) struct OptionWrapping {
    /// The type of the option that such tools have.
    pub(crate) option: TypeId,
    /// Tells whether a call of a tool without the option may need the wrapping.
    pub(crate) is_requested: Option<IsRequested>,
    pub(crate) place: WrappingPlace,
    pub(crate) link: UnlinkedMiddleware,
}

/// Returns `true` if a request with this `_meta`, as raw JSON, from this source, may need a wrapping.
pub(crate) type IsRequested = fn(Option<&str>, &RequestSource) -> bool;

/// Where a wrapping is put, from the outermost place to the innermost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum WrappingPlace {
    /// Around everything, also around calls that continue apart from their request.
    Outermost,
    /// Around the middleware of the author.
    Results,
}

/// Stores, of which a server has at most one of each type.
#[derive(Default)]
pub(crate) struct StoresByType(HashMap<TypeId, Box<dyn Any + Send + Sync>>);

impl StoresByType {
    pub(crate) fn with<S: Send + Sync + 'static>(mut self, store: Option<S>) -> Self {
        if let Some(store) = store {
            self.0.insert(TypeId::of::<S>(), Box::new(store));
        }
        self
    }

    pub(crate) fn get<S: Clone + 'static>(&self) -> Option<S> {
        let store = self.0.get(&TypeId::of::<S>())?;
        store.downcast_ref().cloned()
    }
}
