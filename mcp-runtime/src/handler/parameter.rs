//! What a parameter of an annotated function may be: an argument from the client, or a value from the context.
//!
//! The compiler decides which, through [`Parameter`]; the macros never look at how a type is spelled. Everything about a
//! parameter is data in a static ([`ParameterMeta`]), whose constructor [`Source::parameter`] is the only place that names the
//! bound, so that a type which is neither gives one error.

use std::any::{Any, TypeId};
use std::borrow::Borrow;
use std::collections::{BTreeMap, HashMap};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::DeserializeOwned;

use crate::context::{Context, FromContext, States};
use crate::handler::constraint::Constraints;
use crate::handler::exact::is_exact;
use crate::handler::tool_error::ToolError;

/// Marks a parameter that comes from the client.
#[derive(Debug)]
pub enum Argument {}

/// Marks a parameter that comes from the [`Context`].
#[derive(Debug)]
pub enum Injected {}

/// Marks a parameter whose type is neither: it is here for what the compiler says then.
#[derive(Debug)]
pub enum Neither {}

/// What may be a parameter of an annotated function.
///
/// Implemented for every `Deserialize` + `JsonSchema` type (an argument, part of the input schema) and for every
/// [`FromContext`] type (injected, invisible to the client). Do not implement it yourself.
///
/// The compiler chooses `Kind` by [`KindOf`], so that a type which lacks half of what an argument needs is told
/// which half.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a parameter here: an argument needs `Deserialize` + `JsonSchema`, an injected value needs `FromContext`",
    label = "neither an argument nor injectable",
    note = "argument: put `#[data]` on the type `{Self}` (or derive `serde::Deserialize` and `schemars::JsonSchema`); a type with `#[data(output)]` is for results only: remove `(output)`",
    note = "shared state: take `State<…>` of a type that is `Send` and `Sync`; anything else: implement `FromContext`"
)]
pub trait Parameter<Kind>: Sized {
    /// Whether it comes from the context.
    const INJECTED: bool = false;

    /// The schema of an argument; `None` for an injected value.
    fn parameter_schema(_: &mut SchemaGenerator) -> Option<Schema> {
        None
    }

    /// At start-up: whether an injected value will be there.
    fn check_parameter(_: &States) -> Result<(), String> {
        Ok(())
    }

    /// Reads an argument from the start of `text`, which runs on beyond it; also says how many bytes it took.
    fn read_argument(_: &str) -> serde_json::Result<(Self, usize)> {
        Err(serde::de::Error::custom(
            "an injected value was asked of the client",
        ))
    }

    /// Takes an injected value.
    fn inject(_: &Context) -> Result<Self, ToolError> {
        Err(ToolError::bug("an argument was asked of the context"))
    }
}

impl<T: DeserializeOwned + JsonSchema> Parameter<Argument> for T {
    fn parameter_schema(generator: &mut SchemaGenerator) -> Option<Schema> {
        Some(generator.subschema_for::<T>())
    }

    fn read_argument(text: &str) -> serde_json::Result<(Self, usize)> {
        let mut values = serde_json::Deserializer::from_str(text).into_iter::<T>();
        match values.next() {
            Some(value) => value.map(|value| (value, values.byte_offset())),
            None => Err(serde::de::Error::custom("empty")),
        }
    }
}

impl<T: FromContext> Parameter<Injected> for T {
    const INJECTED: bool = true;

    fn check_parameter(states: &States) -> Result<(), String> {
        T::check(states)
    }

    fn inject(context: &Context) -> Result<Self, ToolError> {
        T::from_context(context)
    }
}

// What is neither because of what is in it: the compiler then names that.
impl<T: Parameter<Neither>> Parameter<Neither> for Vec<T> {}
impl<T: Parameter<Neither>> Parameter<Neither> for Option<T> {}
impl<T: Parameter<Neither>> Parameter<Neither> for Box<T> {}
impl<T: Parameter<Neither>, const N: usize> Parameter<Neither> for [T; N] {}
impl<K, T: Parameter<Neither>, S> Parameter<Neither> for HashMap<K, T, S> {}
impl<K, T: Parameter<Neither>> Parameter<Neither> for BTreeMap<K, T> {}

/// Yes, as a type.
#[derive(Debug)]
#[must_use]
pub enum Yes {}

/// No, as a type.
#[derive(Debug)]
#[must_use]
pub enum No {}

/// Asks the compiler what `T` implements: inherent functions, which are there if it does, beat those of [`ImplementsFallback`].
///
/// None is ever called; what they return is the answer.
#[derive(Debug)]
pub struct Implements<T>(PhantomData<T>);

/// What holds for types that do not implement it.
pub trait ImplementsFallback {
    /// It is not `FromContext`.
    fn from_context() -> No {
        unreachable!("only its type is asked for")
    }

    /// It is not `Deserialize`.
    fn deserialize() -> No {
        unreachable!("only its type is asked for")
    }

    /// It is not `JsonSchema`.
    fn json_schema() -> No {
        unreachable!("only its type is asked for")
    }
}

impl<T> ImplementsFallback for Implements<T> {}

impl<T: FromContext> Implements<T> {
    /// It is `FromContext`.
    pub fn from_context() -> Yes {
        unreachable!("only its type is asked for")
    }
}

impl<T: DeserializeOwned> Implements<T> {
    /// It is `Deserialize`.
    pub fn deserialize() -> Yes {
        unreachable!("only its type is asked for")
    }
}

impl<T: JsonSchema> Implements<T> {
    /// It is `JsonSchema`.
    pub fn json_schema() -> Yes {
        unreachable!("only its type is asked for")
    }
}

/// The kind of parameter a type is that implements this much: `FromContext`, `Deserialize`, `JsonSchema`.
///
/// With half of what an argument needs it counts as one, so that the compiler says what the other half is.
#[diagnostic::on_unimplemented(
    message = "a parameter is either an argument or injected, and this type can be both: it is `FromContext`, `Deserialize` and `JsonSchema`",
    label = "an argument, or injected?",
    note = "wrap it in a type of its own for one of them"
)]
pub trait KindOf {
    /// [`Argument`], [`Injected`] or [`Neither`].
    type Kind;
}

impl KindOf for (No, Yes, Yes) {
    type Kind = Argument;
}

impl KindOf for (No, Yes, No) {
    type Kind = Argument;
}

impl KindOf for (No, No, Yes) {
    type Kind = Argument;
}

impl KindOf for (Yes, No, No) {
    type Kind = Injected;
}

impl KindOf for (Yes, No, Yes) {
    type Kind = Injected;
}

impl KindOf for (Yes, Yes, No) {
    type Kind = Injected;
}

impl KindOf for (No, No, No) {
    type Kind = Neither;
}

/// Everything the runtime knows about one parameter, as static data.
#[derive(Debug)]
pub struct ParameterMeta {
    /// The name on the wire.
    pub name: &'static str,
    /// The doc comment; empty if there is none.
    pub doc: &'static str,
    /// What its type can do.
    pub ty: &'static ParameterType,
    /// Whether it takes the whole argument object rather than one property.
    pub flatten: bool,
    /// What `#[arg(…)]` demands.
    pub constraints: &'static Constraints,
    /// What it is when left out.
    pub default: Option<DefaultValue>,
    /// The completer `#[complete(…)]` names, as the type of its function.
    pub completer: Option<fn() -> (TypeId, &'static str)>,
    /// The candidates `#[complete([…])]` lists.
    pub candidates: Option<&'static [&'static str]>,
    /// The header that mirrors it, without the `Mcp-Param-` prefix.
    pub header: Option<&'static str>,
    /// Whether, as a variable of a template, it takes values that lead anywhere.
    pub any_path: bool,
}

/// What the type of a parameter can do: one for all parameters of the type.
#[derive(Debug)]
pub struct ParameterType {
    /// Whether it comes from the context.
    pub injected: bool,
    /// Its schema; `None` if injected.
    pub schema: fn(&mut SchemaGenerator) -> Option<Schema>,
    /// At start-up: whether an injected value will be there.
    pub check: fn(&States) -> Result<(), String>,
    /// Whether it takes exactly what its schema says, which is known of plain types only.
    pub is_exact: fn() -> bool,
    /// Whether this JSON text decodes.
    pub accepts: fn(&str) -> bool,
    /// Why this JSON text does not decode.
    pub refuses: fn(&str) -> Option<serde_json::Error>,
    /// Reads an argument into its slot, an `Option<T>`; says how many bytes it took.
    pub read: fn(&mut dyn Any, &str) -> serde_json::Result<usize>,
    /// Puts an injected value into its slot, an `Option<T>`.
    pub inject: fn(&mut dyn Any, &Context) -> Result<(), ToolError>,
}

/// What a parameter is when the client leaves it out.
#[derive(Debug)]
pub enum DefaultValue {
    /// The JSON a client could have sent.
    Json(&'static str),
    /// A Rust expression: its value for the slot (an `Option<T>`), and as JSON for the schema.
    Rust {
        /// Puts the value into the slot.
        fill: fn(&mut dyn Any),
        /// The value as JSON.
        json: fn() -> serde_json::Result<serde_json::Value>,
    },
}

/// What a type implements: [`Yes`] or [`No`] for `FromContext`, `Deserialize` and `JsonSchema`.
#[derive(Debug)]
pub struct Source<C, D, J>(PhantomData<Known<C, D, J>>);

/// Of no value of the three is there ever one.
type Known<C, D, J> = fn() -> (C, D, J);

/// What the type implements whose functions of [`Implements`] these are.
#[must_use]
pub const fn source<C, D, J>(_: fn() -> C, _: fn() -> D, _: fn() -> J) -> Source<C, D, J> {
    Source(PhantomData)
}

impl<C, D, J> Source<C, D, J> {
    /// Describes a parameter of the type `T`. Only here is it said that it has to be one: by now the compiler knows of which kind.
    #[must_use]
    #[expect(clippy::unused_self, reason = "its type is what is known")]
    pub const fn parameter<T>(self, name: &'static str, doc: &'static str) -> ParameterMeta
    where
        (C, D, J): KindOf,
        T: Parameter<<(C, D, J) as KindOf>::Kind> + 'static,
    {
        ParameterMeta::of::<T, <(C, D, J) as KindOf>::Kind>(name, doc)
    }
}

impl ParameterMeta {
    /// Of this type, which is this kind of parameter.
    pub(crate) const fn of<T: Parameter<K> + 'static, K>(
        name: &'static str,
        doc: &'static str,
    ) -> Self {
        Self {
            name,
            doc,
            ty: const { &ParameterType::of::<T, K>() },
            flatten: false,
            constraints: &Constraints::NONE,
            default: None,
            completer: None,
            candidates: None,
            header: None,
            any_path: false,
        }
    }

    /// With what `#[arg(…)]` demands.
    #[must_use]
    pub const fn constraints(mut self, constraints: &'static Constraints) -> Self {
        self.constraints = constraints;
        self
    }

    /// With a literal default, as JSON.
    #[must_use]
    pub const fn default_json(mut self, json: &'static str) -> Self {
        self.default = Some(DefaultValue::Json(json));
        self
    }

    /// With a default that is a Rust expression.
    #[must_use]
    pub const fn default_value(mut self, value: DefaultValue) -> Self {
        self.default = Some(value);
        self
    }

    /// With the candidates `#[complete([…])]` lists.
    #[must_use]
    pub const fn candidates(mut self, candidates: &'static [&'static str]) -> Self {
        self.candidates = Some(candidates);
        self
    }

    /// With the completer `#[complete(…)]` names.
    #[must_use]
    pub const fn completer(mut self, completer: fn() -> (TypeId, &'static str)) -> Self {
        self.completer = Some(completer);
        self
    }

    /// Mirrored in the header `Mcp-Param-{header}`.
    #[must_use]
    pub const fn header(mut self, header: &'static str) -> Self {
        self.header = Some(header);
        self
    }

    /// Takes values that lead anywhere, as a variable of a template.
    #[must_use]
    pub const fn any_path(mut self) -> Self {
        self.any_path = true;
        self
    }

    /// Takes the whole argument object.
    #[must_use]
    pub const fn flatten(mut self) -> Self {
        self.flatten = true;
        self
    }
}

impl ParameterType {
    const fn of<T: Parameter<K> + 'static, K>() -> Self {
        Self {
            injected: T::INJECTED,
            schema: |generator| T::parameter_schema(generator),
            check: |states| T::check_parameter(states),
            is_exact: || is_exact(TypeId::of::<T>()),
            accepts: |text| T::read_argument(text).is_ok(),
            refuses: |text| T::read_argument(text).err(),
            read: |slot, text| {
                let (value, length) = T::read_argument(text)?;
                if let Some(slot) = slot.downcast_mut::<Option<T>>() {
                    *slot = Some(value);
                }
                Ok(length)
            },
            inject: |slot, context| {
                let value = T::inject(context)?;
                if let Some(slot) = slot.downcast_mut::<Option<T>>() {
                    *slot = Some(value);
                }
                Ok(())
            },
        }
    }
}

/// What is decoded so that `&Self` can be lent to a function: `String` for `&str`, `T` itself for `&T`.
pub trait Lend {
    /// What is decoded and owned during the call.
    type Owned: Borrow<Self>;
}

impl<T> Lend for T {
    type Owned = T;
}

impl Lend for str {
    type Owned = String;
}

impl<T> Lend for [T] {
    type Owned = Vec<T>;
}

impl Lend for Path {
    type Owned = PathBuf;
}

/// Lends what was decoded.
pub fn referent<T: Lend + ?Sized>(owned: &T::Owned) -> &T {
    owned.borrow()
}

/// Puts a value into a slot, an `Option<T>`.
pub fn fill<T: 'static>(slot: &mut dyn Any, value: T) {
    if let Some(slot) = slot.downcast_mut::<Option<T>>() {
        *slot = Some(value);
    }
}

/// A default as JSON, for the schema.
///
/// # Errors
///
/// If it cannot be written as JSON.
pub fn to_json<T: serde::Serialize>(value: &T) -> serde_json::Result<serde_json::Value> {
    serde_json::to_value(value)
}
