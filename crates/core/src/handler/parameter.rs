//! Parameters of annotated functions: arguments from the client and values from the context.
//!
//! The compiler determines the kind of a parameter through [`Parameter`]; the macros never examine how a type is
//! spelled. All information about a parameter is stored in a static ([`ParameterMeta`]). Only the constructor,
//! `KnownKind::parameter`, has the bound, so that a type of neither kind causes only one error.

use std::any::{Any, TypeId};
use std::borrow::Borrow;
use std::collections::{BTreeMap, HashMap};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use mcp_schema::constraint::Constraints;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::context::{AsyncFromContext, Context, FromContext, Prepare, State, States};
use crate::handler::handler_error::HandlerError;
use crate::handler::rules::{ApplicableConstraints, RuleVerdict};

/// A type that can be a parameter of an annotated function.
///
/// Implemented for every `Deserialize` + `JsonSchema` type (an argument, part of the input schema) and for every
/// [`FromContext`] or [`AsyncFromContext`] type (injected, invisible to the client). Do not implement it yourself.
///
/// The compiler infers `Kind` through [`KindOf`]. If a type implements only one of the two traits required of an
/// argument, the compiler's error therefore names the missing trait.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a parameter here: an argument needs `Deserialize` and `JsonSchema`, and an injected value needs `FromContext`",
    label = "neither an argument nor injectable",
    note = "argument of your own type: put `#[data]` on it (or derive `serde::Deserialize` and `schemars::JsonSchema`); a type with `#[data(output)]` is for results only: remove `(output)`",
    note = "argument of another crate's type: enable the `chrono` (0.4), `decimal` (`rust_decimal` 1), `jiff` (0.2), `url` (2) or `uuid` (1) feature of `mcp-runtime`, for types of that version of the crate, or wrap it: `#[data] #[serde(transparent)] struct Name(#[schemars(with = \"String\")] {Self});`",
    note = "shared state: take `State<…>` of a type that is `Send` and `Sync`; anything else: implement `FromContext`"
)]
pub trait Parameter<Kind>: Sized {
    /// `true` if the value is taken from the context.
    const INJECTED: bool = false;

    /// Creates a value that must be awaited.
    const PREPARE: Option<Prepare> = None;

    /// Returns the schema of an argument, or `None` for an injected value.
    #[must_use]
    fn parameter_schema(_: &mut SchemaGenerator) -> Option<Schema> {
        None
    }

    /// Checks at start-up that an injected value will be available.
    fn check_parameter(_: &States) -> Result<(), String> {
        Ok(())
    }

    /// Reads an argument from the start of a text that may continue after it. Also returns the number of bytes read.
    fn read_argument(_: &str) -> serde_json::Result<(Self, usize)> {
        Err(serde::de::Error::custom(
            "an injected value cannot be read from the client's arguments",
        ))
    }

    /// Takes the value from the context.
    fn inject(_: &Context) -> Result<Self, HandlerError> {
        Err(HandlerError::framework_bug(
            "an argument cannot be taken from the context",
        ))
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

    fn inject(context: &Context) -> Result<Self, HandlerError> {
        T::from_context(context)
    }
}

impl<T: AsyncFromContext> Parameter<Awaited> for T {
    const INJECTED: bool = true;
    const PREPARE: Option<Prepare> = Some(|context| {
        Box::pin(async move {
            let value = T::from_context(&context).await?;
            Ok(Box::new(value) as _)
        })
    });

    fn check_parameter(states: &States) -> Result<(), String> {
        T::check(states)
    }

    fn inject(context: &Context) -> Result<Self, HandlerError> {
        let value = context.take_prepared();
        value.ok_or_else(|| HandlerError::framework_bug("a parameter was not awaited"))
    }
}

// Implemented for containers whose contents are of neither kind, so that the compiler's error names those contents.
impl<T: Parameter<Neither>> Parameter<Neither> for Vec<T> {}

impl<T: Parameter<Neither>> Parameter<Neither> for Option<T> {}

impl<T: Parameter<Neither>> Parameter<Neither> for Box<T> {}

impl<T: Parameter<Neither>, const N: usize> Parameter<Neither> for [T; N] {}

impl<K, T: Parameter<Neither>, S> Parameter<Neither> for HashMap<K, T, S> {}

impl<K, T: Parameter<Neither>> Parameter<Neither> for BTreeMap<K, T> {}

// Never used, because such a state can be injected: with it, the compiler's error names what threads cannot share.
impl<T: Send + Sync + 'static> Parameter<Neither> for State<T> {}

/// Static data that contains everything the runtime knows about a parameter.
#[derive(Debug)]
pub struct ParameterMeta {
    /// The name on the wire.
    pub name: &'static str,
    /// The description, or an empty string if there is none.
    pub doc: &'static str,
    /// The functions for the parameter's type.
    pub ty: &'static ParameterType,
    /// `true` if the parameter takes the entire argument object rather than a single property.
    pub flatten: bool,
    /// The constraints from `#[arg(…)]`.
    pub constraints: &'static Constraints,
    /// The value to use if the argument is omitted.
    pub default: Option<DefaultValue>,
    /// The completer named by `#[complete(…)]`, as the type and name of its function.
    pub completer: Option<fn() -> (TypeId, &'static str)>,
    /// The candidates listed by `#[complete([…])]`.
    pub candidates: Option<&'static [&'static str]>,
    /// The HTTP header that mirrors the argument, without the `Mcp-Param-` prefix.
    pub header: Option<&'static str>,
    /// `true` if the parameter is a template variable that accepts values leading out of a directory.
    pub any_path: bool,
    /// Reads a value that the type accepts, and returns it as the type writes it. `None` if the type cannot be written, or
    /// if nothing depends on it.
    pub identity: Option<ValueIdentity>,
}

/// Reads a value from JSON and writes it. Returns `None` if this fails.
pub type ValueIdentity = fn(&str) -> Option<serde_json::Value>;

/// The functions for a parameter's type, shared by all parameters of that type.
#[derive(Debug)]
pub struct ParameterType {
    /// `true` if the value is taken from the context.
    pub injected: bool,
    /// Returns the schema, or `None` for an injected value.
    pub schema: fn(&mut SchemaGenerator) -> Option<Schema>,
    /// Returns the name of the type, for messages to the author.
    pub name: fn() -> &'static str,
    /// Checks at start-up that an injected value will be available.
    pub check: fn(&States) -> Result<(), String>,
    /// Returns `true` if the type is known to accept exactly the values that its schema allows.
    pub is_exact: fn() -> bool,
    /// Returns `true` if this JSON text can be decoded.
    pub accepts: fn(&str) -> bool,
    /// Returns the error if this JSON text cannot be decoded.
    pub refuses: fn(&str) -> Option<serde_json::Error>,
    /// Reads an argument into its slot, which is an `Option<T>`. Returns the number of bytes read.
    pub read: fn(&mut dyn Any, &str) -> serde_json::Result<usize>,
    /// Creates an injected value that must be awaited.
    pub prepare: Option<Prepare>,
    /// Puts an injected value into its slot, which is an `Option<T>`.
    pub inject: fn(&mut dyn Any, &Context) -> Result<(), HandlerError>,
}

/// The value to use if the client omits an argument.
#[derive(Debug)]
pub enum DefaultValue {
    /// The JSON that a client could have sent.
    Json(&'static str),
    /// A Rust expression, available both as a value for the slot (an `Option<T>`) and as JSON for the schema.
    Rust {
        /// Puts the value into the slot.
        fill: fn(&mut dyn Any),
        /// Returns the value as JSON.
        json: fn() -> serde_json::Result<serde_json::Value>,
    },
}

/// The traits that a type implements: [`Yes`] or [`No`] for each of `FromContext`, `AsyncFromContext`, `Deserialize`
/// and `JsonSchema`.
#[derive(Debug)]
pub struct ImplementedTraits<C, A, D, J>(PhantomData<TraitAnswers<C, A, D, J>>);

/// This is a function type because the four types do not have values.
type TraitAnswers<C, A, D, J> = fn() -> (C, A, D, J);

/// Returns the traits that a type implements, given the four functions of its [`Probe`].
#[must_use]
pub const fn source<C, A, D, J>(
    _: fn() -> C,
    _: fn() -> A,
    _: fn() -> D,
    _: fn() -> J,
) -> ImplementedTraits<C, A, D, J> {
    ImplementedTraits(PhantomData)
}

impl<C, A, D, J> ImplementedTraits<C, A, D, J> {
    /// Returns the kind of the type's parameters.
    ///
    /// This is the only place that requires a single kind. Its return type does not name [`KindOf`], because the compiler
    /// would then report a missing method.
    #[must_use]
    pub const fn kind<K>(self) -> KnownKind<K>
    where
        (C, A, D, J): KindOf<Kind = K>,
    {
        KnownKind(PhantomData)
    }
}

/// The kind of a parameter.
#[derive(Debug)]
pub struct KnownKind<K>(PhantomData<fn() -> K>);

impl<K> KnownKind<K> {
    /// Describes a parameter of the type `T`.
    ///
    /// This is the only place that requires `T: Parameter`.
    #[must_use]
    pub const fn parameter<T>(self, name: &'static str, doc: &'static str) -> ParameterMeta
    where
        T: Parameter<K> + 'static,
    {
        ParameterMeta::of::<T, K>(name, doc)
    }
}

impl ParameterMeta {
    /// Describes a parameter of the type `T` and the kind `K`.
    #[must_use]
    pub const fn of<T: Parameter<K> + 'static, K>(name: &'static str, doc: &'static str) -> Self {
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
            identity: None,
        }
    }

    /// Sets the function that returns the identity of a value: `IDENTITY` of the type's
    /// [`Probe`].
    #[must_use]
    pub const fn identity(mut self, identity: Option<ValueIdentity>) -> Self {
        self.identity = identity;
        self
    }

    /// Sets the constraints from `#[arg(…)]`.
    #[must_use]
    pub const fn constraints(mut self, constraints: &'static Constraints) -> Self {
        self.constraints = constraints;
        self
    }

    /// Sets a literal default, as JSON.
    #[must_use]
    pub const fn default_json(mut self, json: &'static str) -> Self {
        self.default = Some(DefaultValue::Json(json));
        self
    }

    /// Sets a default that is a Rust expression.
    #[must_use]
    pub const fn default_value(mut self, value: DefaultValue) -> Self {
        self.default = Some(value);
        self
    }

    /// Sets the candidates listed by `#[complete([…])]`.
    #[must_use]
    pub const fn candidates(mut self, candidates: &'static [&'static str]) -> Self {
        self.candidates = Some(candidates);
        self
    }

    /// Sets the completer named by `#[complete(…)]`.
    #[must_use]
    pub const fn completer(mut self, completer: fn() -> (TypeId, &'static str)) -> Self {
        self.completer = Some(completer);
        self
    }

    /// Mirrors the argument in the `Mcp-Param-{header}` HTTP header.
    #[must_use]
    pub const fn header(mut self, header: &'static str) -> Self {
        self.header = Some(header);
        self
    }

    /// Allows values that lead out of a directory. The parameter must be a template variable.
    #[must_use]
    pub const fn any_path(mut self) -> Self {
        self.any_path = true;
        self
    }

    /// Makes the parameter take the entire argument object.
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
            name: std::any::type_name::<T>,
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
            prepare: T::PREPARE,
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

/// A type that a function can take as `&Self`. The decoded value is a `String` for `&str` and a `T` for `&T`.
pub trait Lend {
    /// The type of the decoded value, owned during the call.
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

/// Borrows the decoded value.
pub fn referent<T: Lend + ?Sized>(owned: &T::Owned) -> &T {
    owned.borrow()
}

/// Puts a value into a slot, which is an `Option<T>`.
pub fn fill<T: 'static>(slot: &mut dyn Any, value: T) {
    if let Some(slot) = slot.downcast_mut::<Option<T>>() {
        *slot = Some(value);
    }
}

/// Returns a default as JSON for the schema.
///
/// # Errors
///
/// Returns an error if the value cannot be serialized.
pub fn to_json<T: serde::Serialize>(value: &T) -> serde_json::Result<serde_json::Value> {
    serde_json::to_value(value)
}

// The Rust types that are known to accept exactly what their schema allows.

/// Returns `true` if every value that a type decodes from JSON matches its schema, so that no further checks are
/// needed. This is the case for numbers, strings and similar types, and for options, lists and maps of these.
///
/// This is called once for each parameter at start-up. For all other types, the result is `false`, because the values
/// that they accept depend on their implementations of the serde and schemars traits.
pub(crate) fn is_exact(id: TypeId) -> bool {
    macro_rules! any {
        ($($type:ty)*) => { false $(|| among::<$type>(id))* };
    }
    any!(
        bool char String PathBuf i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize f32 f64
    )
}

fn among<T: 'static>(id: TypeId) -> bool {
    [
        TypeId::of::<T>(),
        TypeId::of::<Option<T>>(),
        TypeId::of::<Vec<T>>(),
        TypeId::of::<Option<Vec<T>>>(),
        TypeId::of::<HashMap<String, T>>(),
        TypeId::of::<Option<HashMap<String, T>>>(),
        TypeId::of::<BTreeMap<String, T>>(),
        TypeId::of::<Option<BTreeMap<String, T>>>(),
    ]
    .contains(&id)
}

// --- The kinds of parameters, and how the compiler determines the kind from the traits that a type implements.

/// Marks a parameter whose value is sent by the client.
#[derive(Debug)]
pub enum Argument {}

/// Marks a parameter whose value is taken from the [`Context`].
#[derive(Debug)]
pub enum Injected {}

/// Marks a parameter whose value is taken from the [`Context`] once it is available.
#[derive(Debug)]
pub enum Awaited {}

/// Marks a parameter whose type is of neither kind. This type exists only for the compiler's error message.
#[derive(Debug)]
pub enum Neither {}

/// Maps the traits that a type implements (`FromContext`, `AsyncFromContext`, `Deserialize`, `JsonSchema`) to the kind
/// of its parameters ([`Parameter`]).
///
/// A type that implements only one of the two traits required of an argument counts as an argument, so that the
/// compiler names the missing trait.
#[diagnostic::on_unimplemented(
    message = "the type of this parameter is ambiguous: with `FromContext` it is injected, and with `Deserialize` and `JsonSchema` it is an argument",
    label = "argument or injected value?",
    note = "wrap it in a newtype that implements the traits of only one of them",
    note = "a type that implements both `FromContext` and `AsyncFromContext` needs only the first"
)]
pub trait KindOf {
    /// [`Argument`], [`Injected`], [`Awaited`] or [`Neither`].
    type Kind;
}

/// Maps the answers for `FromContext`, `AsyncFromContext`, `Deserialize` and `JsonSchema`.
macro_rules! kinds {
    ($($kind:ident: $(($($answer:ident),+))+;)+) => {
        $($(
            #[diagnostic::do_not_recommend]
            impl KindOf for ($($answer),+) {
                type Kind = $kind;
            }
        )+)+
    };
}

kinds! {
    Argument: (No, No, Yes, Yes) (No, No, Yes, No) (No, No, No, Yes);
    Injected: (Yes, No, No, No) (Yes, No, No, Yes) (Yes, No, Yes, No);
    Awaited: (No, Yes, No, No) (No, Yes, No, Yes) (No, Yes, Yes, No);
    Neither: (No, No, No, No);
}

// --- Compile-time queries about a parameter's type: which traits it implements and which constraints apply to it.

/// A type that represents the answer "yes".
#[derive(Debug)]
#[must_use]
pub enum Yes {}

/// A type that represents the answer "no".
#[derive(Debug)]
#[must_use]
pub enum No {}

/// Answers queries about `T`. Inherent items, which exist only for some types, take precedence over the items of
/// [`ProbeFallback`].
///
/// The functions are never called; their return types indicate whether `T` implements a trait.
#[derive(Debug)]
pub struct Probe<T>(PhantomData<T>);

/// The items for types that do not implement the trait in question and for types unknown to this module.
pub trait ProbeFallback {
    /// The constraints that apply to `T`. All constraints are accepted here because they are checked against the schema
    /// of `T` at start-up.
    const CONSTRAINTS: ApplicableConstraints = ApplicableConstraints::ALL;

    /// The reason, if any, why a model cannot write values of `T`.
    const SUITABILITY: RuleVerdict = RuleVerdict::HOLDS;

    /// `T` cannot be both read and written.
    const IDENTITY: Option<ValueIdentity> = None;

    /// `T` does not implement `FromContext`.
    fn from_context() -> No {
        unreachable!("only its return type is used")
    }

    /// `T` does not implement `AsyncFromContext`.
    fn async_from_context() -> No {
        unreachable!("only its return type is used")
    }

    /// `T` does not implement `Deserialize`.
    fn deserialize() -> No {
        unreachable!("only its return type is used")
    }

    /// `T` does not implement `JsonSchema`.
    fn json_schema() -> No {
        unreachable!("only its return type is used")
    }
}

impl<T> ProbeFallback for Probe<T> {}

impl<T: DeserializeOwned + Serialize> Probe<T> {
    /// Reads a value and writes it.
    pub const IDENTITY: Option<ValueIdentity> = Some(|text| {
        let value: T = serde_json::from_str(text).ok()?;
        serde_json::to_value(value).ok()
    });
}

impl<T: FromContext> Probe<T> {
    /// `T` implements `FromContext`.
    pub fn from_context() -> Yes {
        unreachable!("only its return type is used")
    }
}

impl<T: AsyncFromContext> Probe<T> {
    /// `T` implements `AsyncFromContext`.
    pub fn async_from_context() -> Yes {
        unreachable!("only its return type is used")
    }
}

impl<T: DeserializeOwned> Probe<T> {
    /// `T` implements `Deserialize`.
    pub fn deserialize() -> Yes {
        unreachable!("only its return type is used")
    }
}

impl<T: JsonSchema> Probe<T> {
    /// `T` implements `JsonSchema`.
    pub fn json_schema() -> Yes {
        unreachable!("only its return type is used")
    }
}

/// Defines the constraints that apply to a type and to an `Option` of that type.
macro_rules! constraints {
    ($($type:ty)* => $constraints:expr) => {$(
        impl Probe<$type> {
            /// The constraints that apply to this type.
            pub const CONSTRAINTS: ApplicableConstraints = $constraints;
        }
        impl Probe<Option<$type>> {
            /// The constraints that apply to this type.
            pub const CONSTRAINTS: ApplicableConstraints = <Probe<$type>>::CONSTRAINTS;
        }
    )*};
}

/// Defines the constraints that apply to integers.
macro_rules! integers {
    ($($type:ty)*) => {$(
        constraints!($type => {
            #[allow(clippy::cast_possible_wrap, clippy::cast_lossless, reason = "every type listed fits into i128")]
            ApplicableConstraints {
                min: <$type>::MIN as i128,
                max: <$type>::MAX as i128,
                ..NUMBER
            }
        });
    )*};
}

const NUMBER: ApplicableConstraints = ApplicableConstraints {
    length: false,
    text: false,
    items: false,
    ..ApplicableConstraints::ALL
};

integers!(i8 i16 i32 i64 isize u8 u16 u32 u64 usize);

constraints!(f32 f64 => ApplicableConstraints { header: false, ..NUMBER });

constraints!(bool => ApplicableConstraints { range: false, ..NUMBER });

constraints!(String => ApplicableConstraints {
    range: false,
    items: false,
    ..ApplicableConstraints::ALL
});

constraints!(char => ApplicableConstraints {
    length: false,
    ..<Probe<String>>::CONSTRAINTS
});

/// Defines the reason why a type, an `Option` of it, and a list of it are unsuitable as parameters.
macro_rules! unsuitable {
    ($type:ty: $reason:literal) => {
        unsuitable!(each $reason: $type, Option<$type>, Vec<$type>, Option<Vec<$type>>);
    };
    (each $reason:literal: $($type:ty),*) => {$(
        impl Probe<$type> {
            /// The reason why a model cannot write values of this type.
            pub const SUITABILITY: RuleVerdict = RuleVerdict::wrong(&[$reason]);
        }
    )*};
}

unsuitable!(Duration: "a model would have to write this `Duration` as an object of seconds and nanoseconds; take \
    `mcp_runtime::values::HumanDuration` (feature `duration`) for `90s` or `1h 30m`, or `jiff::SignedDuration` (feature `jiff`)");

unsuitable!(SystemTime: "a model would have to write this `SystemTime` as an object of seconds and nanoseconds; take \
    `jiff::Timestamp` (feature `jiff`) or `chrono::DateTime<chrono::Utc>` (feature `chrono`)");

// --- The types of fields in `#[data]` types. Used only for the compiler's error message.
//
// The derives of serde and schemars have further requirements, but their errors tell authors to derive traits from
// crates on which they may not depend.

/// A type that is allowed for fields of a `#[data]` type.
///
/// `HasSchema` is [`Yes`] or [`No`], as determined by a [`Probe`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be used in a field of a `#[data]` type",
    label = "has no schema",
    note = "your own type: put `#[data]` on it (or derive the serde and schemars traits)",
    note = "another crate's type: enable the `chrono` (0.4), `decimal` (`rust_decimal` 1), `jiff` (0.2), `url` (2) or `uuid` (1) feature of `mcp-runtime`, for types of that version of the crate, or put `#[schemars(with = \"String\")]` on the field if the type implements the serde traits"
)]
pub trait DataField<HasSchema> {}

impl<T: JsonSchema + ?Sized> DataField<Yes> for T {}

// Implemented for containers whose contents have no schema, so that the compiler's error names the contents.
impl<T: DataField<No>> DataField<No> for Vec<T> {}

impl<T: DataField<No>> DataField<No> for Option<T> {}

impl<T: DataField<No>> DataField<No> for Box<T> {}

impl<T: DataField<No>, const N: usize> DataField<No> for [T; N] {}

impl<K, T: DataField<No>, S> DataField<No> for HashMap<K, T, S> {}

impl<K, T: DataField<No>> DataField<No> for BTreeMap<K, T> {}

/// The compiler's answer for the type of a field: [`Yes`] if it has a schema, otherwise [`No`].
#[derive(Debug)]
pub struct FieldSchema<HasSchema>(PhantomData<fn() -> HasSchema>);

/// Determines whether a field's type has a schema, given the function of the type's
/// [`Probe`].
#[must_use]
pub const fn data_field<HasSchema>(_: fn() -> HasSchema) -> FieldSchema<HasSchema> {
    FieldSchema(PhantomData)
}

impl<HasSchema> FieldSchema<HasSchema> {
    /// Requires the type to be suitable. At this point, the compiler knows whether the type has a schema.
    pub const fn check<T: DataField<HasSchema>>(self) {
        let _ = self.0;
    }
}
