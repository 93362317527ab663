//! The output of the macros for an annotated function: a static [`Definition`] that is registered through `inventory`.

use std::any::TypeId;
use std::sync::Arc;

use mcp_schema::suggest::same;
use schemars::{Schema, SchemaGenerator};

use crate::handler::item_option::{Completes, ItemOption};
use crate::handler::listing::Lister;
use crate::handler::parameter::ParameterMeta;
use crate::handler::run::Run;
pub use crate::types::ClientFeature;

/// The kind of a handler, as determined by its attribute.
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
    /// A method of an extension
    ExtensionMethod,
}

impl Kind {
    /// Returns the kind as it is written in logs, such as `tool` or `resource_template`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Prompt => "prompt",
            Self::Resource => "resource",
            Self::ResourceTemplate => "resource_template",
            Self::Completer => "completer",
            Self::ExtensionMethod => "extension_method",
        }
    }
}

/// Describes an annotated function. Created only by the macros.
#[derive(Debug)]
pub struct Definition {
    /// The kind, as determined by the attribute.
    pub kind: Kind,
    /// The name used in the protocol. For a completer, the name of the function.
    pub name: &'static str,
    /// The type of the function item, which is used to select the function.
    pub function: TypeId,
    /// The type of `self` if the function is a method.
    pub receiver: Option<Owner>,
    /// The location of the function in the source code.
    pub location: Location,
    /// The parameters, excluding the receiver. A completer's first parameter takes the partial text and is named `""`.
    pub parameters: &'static [ParameterMeta],
    /// The attribute's options. The doc comment is one of them.
    pub options: &'static [ItemOption],
    /// Returns the schema of `structuredContent`, derived from the tool's return type.
    pub output_schema: Option<fn(&mut SchemaGenerator) -> Option<Schema>>,
    /// `true` if every value of the return type matches that schema, in which case results do not need to be validated.
    pub conforms: bool,
    /// Starts a call.
    pub run: Run,
}

impl Definition {
    /// Returns the key by which requests look up the definition: the URI for a resource or template, and the name for
    /// all other kinds.
    #[doc(hidden)]
    #[must_use]
    pub fn lookup_key(&self) -> &'static str {
        match self.kind {
            Kind::Tool | Kind::Prompt | Kind::Completer | Kind::ExtensionMethod => self.name,
            Kind::Resource | Kind::ResourceTemplate => self.uri(),
        }
    }

    /// Returns the URI of a resource, or the URI template of a resource template.
    pub(crate) fn uri(&self) -> &'static str {
        let uri = self.options.iter().find_map(|option| match option {
            ItemOption::Uri(uri) => Some(*uri),
            _ => None,
        });
        uri.unwrap_or_default()
    }

    /// Returns the function that creates the lister of a template.
    pub(crate) fn list(&self) -> Option<fn() -> Box<dyn Lister>> {
        self.options.iter().find_map(|option| match option {
            ItemOption::List(list) => Some(*list),
            _ => None,
        })
    }

    /// Returns the argument that a completer specifies as its target.
    pub(crate) fn completes(&self) -> Option<Completes> {
        self.options.iter().find_map(|option| match option {
            ItemOption::Completes(completes) => Some(*completes),
            _ => None,
        })
    }

    /// Returns the author's `_meta`.
    pub(crate) fn meta(&self) -> Option<serde_json::Value> {
        self.options.iter().find_map(|option| match option {
            ItemOption::Meta(meta) => Some(meta.clone().make()),
            _ => None,
        })
    }

    /// Returns the kind and the key, for use in messages.
    pub(crate) fn describe(&self) -> String {
        format!("{} `{}`", self.kind.noun(), self.lookup_key())
    }
}

/// The type to which a method belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Owner {
    /// The type.
    pub id: TypeId,
    /// The type of an [`Arc`] that holds it, which can be given instead.
    pub shared: TypeId,
    /// The name as written in the `impl` block, for use in messages.
    pub name: &'static str,
}

impl Owner {
    /// Returns the owner of this type.
    #[must_use]
    pub const fn of<T: 'static>(name: &'static str) -> Self {
        Self {
            id: TypeId::of::<T>(),
            shared: TypeId::of::<Arc<T>>(),
            name,
        }
    }
}

/// A position in the source code, as returned by `file!()`, `line!()` and `column!()`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Location {
    /// The file.
    pub file: &'static str,
    /// The line number, starting at 1.
    pub line: u32,
    /// The column number, starting at 1.
    pub column: u32,
}

impl std::fmt::Display for Location {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// A definition submitted to the registry.
#[derive(Debug)]
pub struct Submitted(pub &'static Definition);

inventory::collect!(Submitted);

/// Returns the type of a function item.
#[must_use]
pub const fn type_id_of<F: 'static>(_: &F) -> TypeId {
    TypeId::of::<F>()
}

/// Returns the type and the name of a function item that is used as a completer.
#[must_use]
pub fn named<F: 'static>(_: &F) -> (TypeId, &'static str) {
    (TypeId::of::<F>(), std::any::type_name::<F>())
}

/// What a server serves, for `Server::only`: a function, selected by [`tool(path)`](fn@tool), [`prompt(path)`](fn@prompt)
/// and so on, or all functions that have a [tag](Self::tag).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Selected(Selection);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Selection {
    Function(SelectedFunction),
    Tag(String),
}

impl Selected {
    /// Selects all functions that have this tag. The start of the server fails if there are none.
    #[must_use]
    pub fn tag(tag: impl Into<String>) -> Self {
        Self(Selection::Tag(tag.into()))
    }

    /// Returns the function, or the tag.
    #[doc(hidden)]
    pub fn into_function(self) -> std::result::Result<SelectedFunction, String> {
        match self.0 {
            Selection::Function(function) => Ok(function),
            Selection::Tag(tag) => Err(tag),
        }
    }
}

/// A function that an author has selected.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SelectedFunction {
    /// The kind, as determined by the selecting function.
    pub(crate) kind: Kind,
    /// The type of the function item.
    pub function: TypeId,
    /// The path of the function, for use in messages.
    pub(crate) path: &'static str,
}

/// Allows a single function as a selection, as in `only(tool(add))`.
impl IntoIterator for Selected {
    type Item = Self;
    type IntoIter = std::iter::Once<Self>;

    fn into_iter(self) -> Self::IntoIter {
        std::iter::once(self)
    }
}

impl Kind {
    /// Returns the name of the attribute, which is also the name of the selecting function.
    pub(crate) fn attribute(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Prompt => "prompt",
            Self::Resource => "resource",
            Self::ResourceTemplate => "resource_template",
            Self::Completer => "completer",
            Self::ExtensionMethod => "method",
        }
    }

    /// Returns the noun that messages use for this kind.
    pub(crate) fn noun(self) -> &'static str {
        match self {
            Self::ResourceTemplate => "resource template",
            _ => self.attribute(),
        }
    }

    /// Returns the core protocol method that runs definitions of this kind, except for completions.
    pub(crate) const fn method(self) -> Option<&'static str> {
        match self {
            Self::Tool => Some("tools/call"),
            Self::Prompt => Some("prompts/get"),
            Self::Resource | Self::ResourceTemplate => Some("resources/read"),
            Self::Completer | Self::ExtensionMethod => None,
        }
    }

    /// Returns `true` if clients refer to the definition by its name.
    pub(crate) fn has_name_for_clients(self) -> bool {
        matches!(self, Self::Tool | Self::Prompt)
    }

    /// Returns `true` if clients can request completions for the arguments.
    pub(crate) fn has_completions(self) -> bool {
        matches!(self, Self::Prompt | Self::ResourceTemplate)
    }
}

/// Returns `true` if these parameters include an argument with this name.
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

/// Selects a function item.
fn selected<F: 'static>(kind: Kind, _: F) -> Selected {
    Selected(Selection::Function(SelectedFunction {
        kind,
        function: TypeId::of::<F>(),
        path: std::any::type_name::<F>(),
    }))
}

/// Defines functions that share their names with attributes. Because functions and macros are in different namespaces,
/// a single import brings both into scope.
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
    /// Selects a tool by its function, as in `tool(add)` or `tool(Notes::delete)`.
    ///
    /// The selection identifies the function itself rather than its path, so imports and renames do not matter. The
    /// server checks at start-up that the function has the `#[tool]` attribute.
    tool Tool
    /// Selects a prompt by its function. See [`tool`](fn@tool).
    prompt Prompt
    /// Selects a resource by its function. See [`tool`](fn@tool).
    resource Resource
    /// Selects a resource template by its function. See [`tool`](fn@tool).
    resource_template ResourceTemplate
    /// Selects a completer by its function. See [`tool`](fn@tool).
    completer Completer
}

/// A value that can be used for `schema = …`: a [`Schema`], a JSON value, or a JSON string.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a JSON Schema",
    label = "not a schema",
    note = "use a `schemars::Schema`, a `serde_json::Value` such as the result of `json!`, or a JSON string such as `include_str!(\"schema.json\")`"
)]
pub trait IntoSchema {
    /// Converts the value into a schema.
    ///
    /// # Errors
    ///
    /// If the value is not a schema, returns the reason.
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
