//! The kinds of parameters, and how the compiler determines the kind from the traits that a type implements.

use crate::handler::probe::{No, Yes};

/// Marks a parameter whose value is sent by the client.
#[derive(Debug)]
pub enum Argument {}

/// Marks a parameter whose value is taken from the [`Context`](crate::context::Context).
#[derive(Debug)]
pub enum Injected {}

/// Marks a parameter whose value is taken from the [`Context`](crate::context::Context) once it is available.
#[derive(Debug)]
pub enum Awaited {}

/// Marks a parameter whose type is of neither kind. This type exists only for the compiler's error message.
#[derive(Debug)]
pub enum Neither {}

/// Maps the traits that a type implements (`FromContext`, `AsyncFromContext`, `Deserialize`, `JsonSchema`) to the kind
/// of its parameters ([`Parameter`](crate::handler::parameter::Parameter)).
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
