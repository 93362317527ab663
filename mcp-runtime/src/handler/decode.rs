//! Decodes the argument object of a call into the slots of a function, in one scan.

use std::any::{Any, TypeId};

use schemars::Schema;

use crate::context::Context;
use crate::handler::call::Refusal;
use crate::handler::check::Fault;
use crate::handler::parameter::ParameterMeta;

/// How the arguments of a kind of function arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    Tool { strict: bool },
    Text,
}

/// One argument, as completion and prompt lists need it.
#[derive(Clone, Debug)]
pub(crate) struct ArgumentInfo {
    pub(crate) name: &'static str,
    pub(crate) required: bool,
    pub(crate) description: Option<String>,
    pub(crate) schema: serde_json::Value,
    pub(crate) candidates: Vec<String>,
    pub(crate) completer: Option<(TypeId, &'static str)>,
}

/// What is needed to decode the arguments of one function; made once, at start-up.
#[derive(Debug)]
pub(crate) struct Decoder {}

impl Decoder {
    pub(crate) fn new(
        parameters: &'static [ParameterMeta],
        style: Style,
        raw_schema: Option<Schema>,
    ) -> Result<Self, Vec<String>> {
        let _ = (parameters, style, raw_schema);
        todo!()
    }
    pub(crate) fn schema(&self) -> &serde_json::Value {
        todo!()
    }
    pub(crate) fn arguments(&self) -> &[ArgumentInfo] {
        todo!()
    }
    pub(crate) fn from_strings(&self, arguments: &str) -> Result<String, Vec<Fault>> {
        let _ = arguments;
        todo!()
    }
    pub(crate) fn from_pairs<'a>(
        &self,
        pairs: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> String {
        let _ = pairs.into_iter();
        todo!()
    }
    pub(crate) fn decode(
        &self,
        arguments: &str,
        slots: &mut [&mut dyn Any],
        context: &dyn Fn() -> Context,
    ) -> Result<(), Refusal> {
        let _ = (arguments, slots, context);
        todo!()
    }
}
