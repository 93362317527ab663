//! Options of tools that add-ons define.
//!
//! An attribute attaches a value of the option's type to its definition. The value leads to the add-on that serves the
//! option, so a program contains an add-on only if something in the program refers to it.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::context::{ChangeLog, OnceStore, RequestInfo, RequestSource};
use crate::handler::dynamic::{DynamicTemplate, DynamicTool};
use crate::handler::extension::Extension;
use crate::handler::middleware::{Rewrites, UnlinkedMiddleware};
use crate::jsonrpc::Member;
use crate::limits::Limits;
use crate::protocol::encode::Identity;
use crate::rate::RateCounter;
use crate::types::{ClientCapabilities, ToolExecution};

/// An option of a tool, defined by an add-on.
pub trait ToolOption: Any + fmt::Debug + Send + Sync {
    /// Returns the name of the option in an attribute.
    fn name(&self) -> &'static str;

    /// Adapts a tool that has the option, before its definition is complete.
    fn adapt(&self, tool: &mut AdaptedTool);

    /// Returns the add-on that serves the option.
    fn add_on(&self) -> AddOn;

    /// Returns `true` if the add-on puts something around calls of the tool.
    fn wraps_calls(&self) -> bool {
        true
    }
}

/// An option that is attached to a definition.
#[derive(Clone, Debug)]
pub enum AttachedOption {
    /// By an attribute.
    Declared(&'static dyn ToolOption),
    /// At run time.
    Inserted(Arc<dyn ToolOption>),
}

impl AttachedOption {
    /// Returns `true` if the option is of this type.
    pub(crate) fn is(&self, option: TypeId) -> bool {
        (**self).type_id() == option
    }
}

impl Deref for AttachedOption {
    type Target = dyn ToolOption;

    fn deref(&self) -> &Self::Target {
        match self {
            Self::Declared(option) => *option,
            Self::Inserted(option) => &**option,
        }
    }
}

/// Returns the option of this type.
#[must_use]
pub fn find_option<T: ToolOption>(options: &[AttachedOption]) -> Option<&T> {
    options.iter().find_map(|option| {
        let option: &dyn Any = &**option;
        option.downcast_ref()
    })
}

/// A tool whose options still have to be taken into account.
#[derive(Debug, Default)]
pub struct AdaptedTool {
    /// The `max_output` option, in bytes.
    pub max_output: Option<usize>,
    /// Set to the reason if the tool can have no output schema.
    pub no_output_schema: Option<&'static str>,
    /// Set if results fit, because those that are too large are replaced before their response is written.
    pub fits_output: bool,
    /// Set if repeating a call has no further effect.
    pub is_idempotent: bool,
    /// How calls can be run, for clients.
    pub execution: Option<ToolExecution>,
    /// What is wrong with the definition.
    pub problems: Vec<String>,
}

impl AdaptedTool {
    /// Adapts a tool to all of its options. `max_output` is another of them.
    pub(crate) fn new(max_output: Option<usize>, options: &[AttachedOption]) -> Self {
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

/// What the `_meta` of a tool tells the server.
#[derive(Clone, Copy, Debug, Default)]
pub struct ToolUse<'m> {
    /// The URI of a resource that belongs to the tool: a request that selects the tool by a tag selects the
    /// resource, too.
    pub companion: Option<&'m str>,
    /// `true` if models do not call the tool.
    pub is_hidden_from_models: bool,
}

/// How an add-on, which hands this in through `inventory`, writes in the `_meta` of a tool what the tool is for. Authors can
/// write it by hand.
pub struct ToolUseFormat {
    /// Reads the members of `_meta` that say how a tool is used.
    pub read: for<'m> fn(&'m Map<String, Value>) -> ToolUse<'m>,
    /// Writes that only models call the tool.
    pub write_for_models: fn(&mut Map<String, Value>),
}

inventory::collect!(ToolUseFormat);

impl<'m> ToolUse<'m> {
    /// Returns what the add-ons in the program read from a tool's `_meta`.
    pub(crate) fn of_meta(meta: &'m Map<String, Value>) -> Self {
        let read = inventory::iter::<ToolUseFormat>().map(|format| (format.read)(meta));
        read.fold(Self::default(), |all, one| Self {
            companion: all.companion.or(one.companion),
            is_hidden_from_models: all.is_hidden_from_models || one.is_hidden_from_models,
        })
    }
}

/// The code that serves an option, or a setting of a server.
#[derive(Clone, Copy)]
pub struct AddOn {
    /// Add-ons with the same name are one, and the first of them is started.
    pub name: &'static str,
    /// Set if the add-on adds an extension of the protocol. Such add-ons start before the others.
    pub adds_extension: bool,
    /// Adds to a server what the add-on needs.
    pub start: fn(&mut StartingServer<'_>),
}

impl fmt::Debug for AddOn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AddOn").field(&self.name).finish()
    }
}

/// A server that is starting, as its add-ons see it.
pub struct StartingServer<'a> {
    /// The server's name.
    pub name: &'a str,
    /// What results say of the server. Add-ons that add an extension start before its `_meta` keys are known.
    pub identity: &'a Identity,
    /// The server's limits.
    pub limits: &'a Limits,
    /// What changes everything that models read.
    pub rewrites: &'a Rewrites,
    /// The store for `once`, if the server has one.
    pub once_store: Option<&'a Arc<dyn OnceStore>>,
    /// The stores that the server was given.
    pub stores: &'a StoresByType,
    /// The types of the options that tools have.
    pub options: &'a [TypeId],
    /// What the add-ons add.
    pub added: Additions,
}

impl StartingServer<'_> {
    /// Starts add-ons and returns what they add.
    pub fn start<'o>(mut self, add_ons: impl Iterator<Item = &'o AddOn>) -> Additions {
        for add_on in add_ons {
            (add_on.start)(&mut self);
        }
        self.added
    }
}

/// What add-ons add to a server.
#[derive(Default)]
pub struct Additions {
    /// Extensions of the protocol.
    pub extensions: Vec<Extension>,
    /// Tools that come with options.
    pub tools: Vec<OptionTools>,
    /// Resources that no list contains.
    pub templates: Vec<DynamicTemplate>,
    /// What is wrapped around calls to tools with options.
    pub wrappings: Vec<OptionWrapping>,
    /// The log in which this process announces changes to others.
    pub changes: Option<Arc<dyn ChangeLog>>,
    /// Counts calls that have a rate, besides this process.
    pub rates: Option<Arc<dyn RateCounter>>,
}

/// Tools that exist for requests that may use a tool with an option.
pub struct OptionTools {
    /// The name of the source of these tools, in messages.
    pub name: &'static str,
    /// Tells whether a tool has the option.
    pub is_option: fn(&[AttachedOption]) -> bool,
    /// Tells whether the tools exist for such a request.
    pub is_for: fn(&RequestInfo, &ClientCapabilities) -> bool,
    /// The tools.
    pub tools: Vec<DynamicTool>,
    /// Explains to an author why no other tool can have one of their names.
    pub reason: &'static str,
}

/// What an add-on puts around calls of tools.
pub struct OptionWrapping {
    /// The type of the option that such tools have.
    pub option: TypeId,
    /// Tells whether a call of a tool without the option may need the wrapping.
    pub is_requested: Option<IsRequested>,
    /// The member of the request that the link reads, with [`Call::member`](crate::handler::middleware::Call::member).
    pub reads: Option<Member>,
    /// Where it stands in the chain.
    pub place: WrappingPlace,
    /// Makes the middleware, given the next one.
    pub link: UnlinkedMiddleware,
}

/// Returns the raw JSON of a member of a request's `params`.
pub type ReadMember<'m> = dyn Fn(Member) -> Option<&'m str> + 'm;

/// Returns `true` if a request with these members, from this source, may need a wrapping.
pub type IsRequested = for<'m> fn(&ReadMember<'m>, &RequestSource) -> bool;

/// Where a wrapping is put, from the outermost place to the innermost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WrappingPlace {
    /// Around everything, also around calls that continue in the background.
    Outermost,
    /// Around all that continues if a call continues in the background.
    Request,
    /// Around the middleware of the author.
    Results,
}

/// Stores, of which a server has at most one of each type.
#[derive(Default)]
pub struct StoresByType(HashMap<TypeId, Box<dyn Any + Send + Sync>>);

impl StoresByType {
    /// Keeps a store under its type.
    pub fn set<S: Send + Sync + 'static>(&mut self, store: S) {
        self.0.insert(TypeId::of::<S>(), Box::new(store));
    }

    /// Returns the store of this type.
    #[must_use]
    pub fn get<S: Clone + 'static>(&self) -> Option<S> {
        let store = self.0.get(&TypeId::of::<S>())?;
        store.downcast_ref().cloned()
    }
}
