//! Internals for the fuzz targets in `fuzz/`. This module exists only with `--cfg fuzzing` and does not offer stability
//! guarantees.
//!
//! Items that are private to a module are wrapped in that module's `fuzzing` module and re-exported here.

use std::any::Any;
use std::time::Duration;

use mcp_core::handler::decode::{ArgumentStyle, Decoder};
use mcp_core::handler::handler_error::CallRefusal;
use mcp_core::handler::parameter::{Parameter, ParameterMeta};
#[cfg(feature = "auth")]
pub use mcp_http::auth::fuzzing::let_in;
#[cfg(feature = "http")]
pub use mcp_http::fuzzing::{
    accepts, is_allowed_host, is_allowed_origin, mirrors, read_event_id, unwrapped, write_event,
};
use mcp_schema::explain::describe_faults;
pub use mcp_schema::template::UriTemplate as Template;
pub use mcp_transport::fuzzing::lines;

pub use crate::registry::fuzzing::{cursor, read_cursor};
use crate::seal::{Binding, Seal, SealingKey, SealingKeys};

/// Describes a parameter of type `T`, as a macro expansion would.
#[must_use]
pub const fn parameter<T: Parameter<K> + 'static, K>(
    name: &'static str,
    doc: &'static str,
) -> ParameterMeta {
    ParameterMeta::of::<T, K>(name, doc)
}

/// Panics if the parser disagrees with `serde_json` about a line.
pub fn envelope(line: &[u8]) {
    mcp_protocol::jsonrpc::agreement::assert_readers_agree(line);
    mcp_protocol::jsonrpc::agreement::assert_ids_agree(line);
}

/// Panics if strings are not read or written in the same way as by `serde_json`.
pub fn string(inside: &[u8]) {
    mcp_protocol::jsonrpc::agreement::assert_strings_agree(inside);
}

/// Decodes the arguments of a function.
#[derive(Debug)]
pub struct ArgumentDecoder(Decoder);

/// The mode for decoding arguments.
#[derive(Clone, Copy, Debug)]
pub enum Arriving {
    /// As arguments for a tool with strict decoding.
    Strict,
    /// As arguments for a tool.
    Lenient,
    /// As strings.
    Text,
}

impl ArgumentDecoder {
    /// Creates a decoder for these parameters, none of which may be injected.
    #[must_use]
    pub fn new(parameters: &'static [ParameterMeta], arriving: Arriving) -> Self {
        let style = match arriving {
            Arriving::Strict => ArgumentStyle::Tool { strict: true },
            Arriving::Lenient => ArgumentStyle::Tool { strict: false },
            Arriving::Text => ArgumentStyle::Text,
        };
        Self(Decoder::new(parameters, style, None).expect("the parameters are in order"))
    }

    /// Fills the slots or returns a description of the errors.
    pub fn decode(&self, arguments: &str, slots: &mut [&mut dyn Any]) -> Result<(), String> {
        let no_context = || unreachable!("no parameter is injected");
        self.0
            .decode(arguments, slots, &no_context)
            .map_err(|refusal| match refusal {
                CallRefusal::Arguments(faults) => describe_faults(&faults),
                CallRefusal::Error(error) => panic!("{error:?}"),
            })
    }
}

/// Seals and opens states.
#[derive(Debug)]
pub struct States(Seal);

impl States {
    /// Creates a seal with this key. Sealed states are valid for ten minutes.
    #[must_use]
    pub fn new(key: [u8; 32]) -> Self {
        let lifetime = Duration::from_mins(10);
        Self(Seal::new(
            SealingKeys::new(&[SealingKey::from_bytes(key)]),
            lifetime,
        ))
    }

    /// Seals the state of a call.
    #[must_use]
    pub fn seal(&self, binding: &[u8; 32], plain: &[u8], now: Duration) -> String {
        let sealed = self.0.seal(binding, plain, now);
        sealed.expect("keys and lengths are used unchanged")
    }

    /// Opens a sealed state. Returns `None` if it is rejected.
    #[must_use]
    pub fn open(&self, binding: &[u8; 32], state: &str, now: Duration) -> Option<Vec<u8>> {
        self.0.open(binding, state, now).ok()
    }

    /// Returns the binding for a call to this tool with these arguments.
    #[must_use]
    pub fn bind(name: &str, arguments: &str) -> [u8; 32] {
        let binding = Binding {
            server: "server",
            principal: "",
            method: "tools/call",
            name,
            arguments,
        };
        binding.digest()
    }
}
