//! What the macros make of an annotated function: one static [`Definition`], handed in through `inventory`.

use std::any::TypeId;
use std::time::Duration;

use schemars::{Schema, SchemaGenerator};

use crate::context::Caller;
use crate::handler::call::Run;
use crate::handler::listing::Lister;
use crate::handler::parameter::ParameterMeta;
use crate::handler::rules::same;
pub use crate::types::ClientFeature;
use crate::types::{CacheScope, Icon, Role};

/// Which attribute a function carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// `#[tool]`
    Tool,
    /// `#[prompt]`
    Prompt,
    /// `#[resource]`
    Resource,
    /// `#[resource_template]`
    ResourceTemplate,
    /// `#[completer]`
    Completer,
}

/// An annotated function, described. Made by the macros only.
#[derive(Debug)]
pub struct Definition {
    /// Which attribute it carries.
    pub kind: Kind,
    /// The name on the wire; for a completer, the name of the function.
    pub name: &'static str,
    /// The `description` option, or else the doc comment; empty if there is neither.
    pub description: &'static str,
    /// The type of the function item, by which it is selected.
    pub function: TypeId,
    /// What `self` is, for a method.
    pub receiver: Option<Owner>,
    /// Where the function stands.
    pub location: Location,
    /// Its parameters without the receiver. For a completer, the first one takes the partial text, under the name `""`.
    pub parameters: &'static [ParameterMeta],
    /// What the attribute's options say.
    pub options: &'static Options,
    /// The schema of `structuredContent`, from the return type of a tool.
    pub output_schema: Option<fn(&mut SchemaGenerator) -> Option<Schema>>,
    /// Calls it.
    pub run: Run,
}

/// The type whose method a function is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Owner {
    /// The type.
    pub id: TypeId,
    /// As the `impl` block names it, for messages.
    pub name: &'static str,
}

/// A place in the source, as `file!()`, `line!()` and `column!()` give it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Location {
    /// The file.
    pub file: &'static str,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1.
    pub column: u32,
}

impl std::fmt::Display for Location {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// What the options of an attribute say. Options that do not apply to a kind stay at their [`Options::NONE`].
#[derive(Debug)]
pub struct Options {
    /// `title`
    pub title: Option<&'static str>,
    /// `group`
    pub group: Option<&'static str>,
    /// `scopes(…)`
    pub scopes: &'static [&'static str],
    /// `visible_if = …`
    pub visible_if: Option<fn(&Caller) -> bool>,
    /// `icons`
    pub icons: Option<fn() -> Vec<Icon>>,
    /// `meta`; an object
    pub meta: Option<fn() -> serde_json::Value>,
    /// `read_only`
    pub read_only: Option<bool>,
    /// `destructive`
    pub destructive: Option<bool>,
    /// `idempotent`
    pub idempotent: Option<bool>,
    /// `open_world`
    pub open_world: Option<bool>,
    /// `timeout`, `rate`, `concurrency`, `max_output`
    pub guards: GuardOptions<&'static str>,
    /// `requires(…)`
    pub requires: &'static [ClientFeature],
    /// `schema = …`
    pub input_schema: Option<fn() -> Result<Schema, String>>,
    /// `strict`: arguments are not coerced
    pub strict: bool,
    /// The address of a resource, or the template of a family.
    pub uri: &'static str,
    /// `mime_type`
    pub mime_type: Option<&'static str>,
    /// `size`, in bytes
    pub size: Option<u64>,
    /// `audience`
    pub audience: &'static [Role],
    /// `priority`
    pub priority: Option<f64>,
    /// `last_modified`
    pub last_modified: Option<&'static str>,
    /// `ttl`
    pub ttl: Option<Duration>,
    /// `cache`
    pub cache: Option<CacheScope>,
    /// `list = …`
    pub list: Option<fn() -> Box<dyn Lister>>,
    /// `#[completer(prompt = …, argument = …)]`
    pub completes: Option<Completes>,
}

impl Options {
    /// Nothing said.
    pub const NONE: Self = Self {
        title: None,
        group: None,
        scopes: &[],
        visible_if: None,
        icons: None,
        meta: None,
        read_only: None,
        destructive: None,
        idempotent: None,
        open_world: None,
        guards: GuardOptions::NONE,
        requires: &[],
        input_schema: None,
        strict: false,
        uri: "",
        mime_type: None,
        size: None,
        audience: &[],
        priority: None,
        last_modified: None,
        ttl: None,
        cache: None,
        list: None,
        completes: None,
    };
}

/// What keeps a handler within bounds. Nothing said means that of the server.
#[derive(Debug, Default)]
pub struct GuardOptions<T> {
    /// `timeout`
    pub timeout: Option<Duration>,
    /// `rate`, as it is written
    pub rate: Option<T>,
    /// `concurrency`
    pub concurrency: Option<usize>,
    /// `max_output`, in bytes
    pub max_output: Option<usize>,
}

impl<T> GuardOptions<T> {
    /// Nothing said.
    pub const NONE: Self = Self {
        timeout: None,
        rate: None,
        concurrency: None,
        max_output: None,
    };
}

/// What stands beside a prompt or template, so that a completer can refer to it: what `#[completer(prompt = …)]` reads.
#[derive(Clone, Copy, Debug)]
pub struct Reference {
    /// The type of the function item.
    pub function: TypeId,
    /// Its parameters.
    pub parameters: &'static [ParameterMeta],
}

/// What a completer says it completes.
#[derive(Debug)]
pub struct Completes {
    /// The type of the prompt's or template's function.
    pub target: fn() -> TypeId,
    /// Which argument of it.
    pub argument: &'static str,
}

/// A definition on its way to the registry.
#[derive(Debug)]
pub struct Submitted(pub &'static Definition);

inventory::collect!(Submitted);

/// The type of a function item.
#[must_use]
pub const fn type_id_of<F: 'static>(_: &F) -> TypeId {
    TypeId::of::<F>()
}

/// The type and name of a function item that is named as a completer.
#[must_use]
pub fn named<F: 'static>(_: &F) -> (TypeId, &'static str) {
    (TypeId::of::<F>(), std::any::type_name::<F>())
}

/// A function chosen by [`tool(path)`](fn@tool), [`prompt(path)`](fn@prompt) and the like, for [`Server::only`](crate::Server::only).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Selected {
    /// What the selecting function takes it for.
    pub(crate) kind: Kind,
    /// The type of the function item.
    pub(crate) function: TypeId,
    /// Its path, for messages.
    pub(crate) path: &'static str,
}

/// One function is a choice as well: `only(tool(add))`.
impl IntoIterator for Selected {
    type Item = Self;
    type IntoIter = std::iter::Once<Self>;

    fn into_iter(self) -> Self::IntoIter {
        std::iter::once(self)
    }
}

impl Kind {
    /// The name of the attribute, and of the function that selects what carries it.
    pub(crate) fn attribute(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Prompt => "prompt",
            Self::Resource => "resource",
            Self::ResourceTemplate => "resource_template",
            Self::Completer => "completer",
        }
    }
}

/// Whether these parameters hold an argument of that name.
#[must_use]
pub(crate) const fn has_argument(parameters: &[ParameterMeta], name: &str) -> bool {
    let mut index = 0;
    while index < parameters.len() {
        if !parameters[index].ty.injected && same(parameters[index].name, name) {
            return true;
        }
        index += 1;
    }
    false
}

/// Chooses a function item.
fn selected<F: 'static>(kind: Kind, _: F) -> Selected {
    Selected {
        kind,
        function: TypeId::of::<F>(),
        path: std::any::type_name::<F>(),
    }
}

/// Makes a function that shares its name with an attribute: one is a value, the other a macro, so both come with one import.
macro_rules! selectors {
    ($($(#[$doc:meta])* $name:ident $kind:ident)*) => {$(
        $(#[$doc])*
        #[must_use]
        pub fn $name<F: 'static>(function: F) -> Selected {
            selected(Kind::$kind, function)
        }
    )*};
}

selectors! {
    /// Chooses a tool by its function, as in `tool(add)` or `tool(Notes::delete)`.
    ///
    /// Imports and renames make no difference, for it goes by the function itself. That the function carries `#[tool]` is
    /// checked when the server starts.
    tool Tool
    /// Chooses a prompt by its function, as [`tool`](fn@tool) does.
    prompt Prompt
    /// Chooses a resource by its function, as [`tool`](fn@tool) does.
    resource Resource
    /// Chooses a resource template by its function, as [`tool`](fn@tool) does.
    resource_template ResourceTemplate
    /// Chooses a completer by its function, as [`tool`](fn@tool) does.
    completer Completer
}

/// What `schema = …` takes: a [`Schema`], a JSON value, or JSON text.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a JSON Schema",
    label = "not a schema",
    note = "give a `schemars::Schema`, a `serde_json::Value` such as one of `json!`, or JSON text such as `include_str!(\"schema.json\")`"
)]
pub trait IntoSchema {
    /// The schema.
    ///
    /// # Errors
    ///
    /// Why it is not one.
    fn into_schema(self) -> Result<Schema, String>;
}

impl IntoSchema for Schema {
    fn into_schema(self) -> Result<Schema, String> {
        Ok(self)
    }
}

impl IntoSchema for serde_json::Value {
    fn into_schema(self) -> Result<Schema, String> {
        Schema::try_from(self).map_err(|error| error.to_string())
    }
}

impl IntoSchema for &str {
    fn into_schema(self) -> Result<Schema, String> {
        serde_json::from_str::<serde_json::Value>(self)
            .map_err(|error| error.to_string())?
            .into_schema()
    }
}
