//! Decodes the argument object of a call into the slots of a function, in one scan.

use std::any::Any;

use crate::context::Context;
use crate::handler::call::Refusal;

/// What is needed to decode the arguments of one function; made once, at start-up.
#[derive(Debug)]
pub(crate) struct Decoder {}

impl Decoder {
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
