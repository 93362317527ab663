//! The inside, for the targets of `fuzz/`: there with `--cfg fuzzing` only. Promises nothing.
//!
//! What only a neighbour can see is wrapped beside it, in its own `fuzzing` module, and found here all the same.

use std::any::Any;
#[cfg(feature = "sealing")]
use std::time::Duration;

#[cfg(feature = "sealing")]
use crate::dispatch::seal::{Binding, Seal, SealingKey};
use crate::handler::call::CallRefusal;
use crate::handler::check::describe;
use crate::handler::decode::{ArgumentStyle, Decoder};
use crate::handler::parameter::{Parameter, ParameterMeta};
use crate::handler::template::UriTemplate;

#[cfg(feature = "auth")]
pub use crate::auth::fuzzing::let_in;
#[cfg(feature = "http")]
pub use crate::http::fuzzing::{
    accepts, is_allowed_host, is_allowed_origin, mirrors, read_event_id, unwrapped, write_event,
};
pub use crate::registry::fuzzing::{cursor, read_cursor};
pub use crate::transport::fuzzing::lines;

/// Describes a parameter of the type `T`, as an expansion does.
#[must_use]
pub const fn parameter<T: Parameter<K> + 'static, K>(
    name: &'static str,
    doc: &'static str,
) -> ParameterMeta {
    ParameterMeta::of::<T, K>(name, doc)
}

/// Panics if a line is not read as `serde_json` reads it.
pub fn envelope(line: &[u8]) {
    crate::jsonrpc::agreement::agrees(line);
    crate::jsonrpc::agreement::ids_agree(line);
}

/// Decodes the arguments of one function.
#[derive(Debug)]
pub struct Arguments(Decoder);

/// How arguments arrive.
#[derive(Clone, Copy, Debug)]
pub enum Arriving {
    /// As those of a tool that forgives nothing.
    Strict,
    /// As those of a tool.
    Lenient,
    /// As strings.
    Text,
}

impl Arguments {
    /// For these parameters, none of them injected.
    #[must_use]
    pub fn new(parameters: &'static [ParameterMeta], arriving: Arriving) -> Self {
        let style = match arriving {
            Arriving::Strict => ArgumentStyle::Tool { strict: true },
            Arriving::Lenient => ArgumentStyle::Tool { strict: false },
            Arriving::Text => ArgumentStyle::Text,
        };
        Self(Decoder::new(parameters, style, None).expect("the parameters are in order"))
    }

    /// Fills the slots, or says what is wrong.
    pub fn decode(&self, arguments: &str, slots: &mut [&mut dyn Any]) -> Result<(), String> {
        let no_context = || unreachable!("no parameter is injected");
        self.0
            .decode(arguments, slots, &no_context)
            .map_err(|refusal| match refusal {
                CallRefusal::Arguments(faults) => describe(&faults),
                CallRefusal::Error(error) => panic!("{error:?}"),
            })
    }
}

/// A template of addresses.
#[derive(Debug)]
pub struct Template(UriTemplate);

impl Template {
    /// Reads a template.
    pub fn parse(template: &str) -> Result<Self, String> {
        UriTemplate::parse(template).map(Self)
    }

    /// The names of its variables.
    #[must_use]
    pub fn variables(&self) -> &[String] {
        self.0.variables()
    }

    /// The values with which it gives this address.
    #[must_use]
    pub fn matches(&self, uri: &str) -> Option<Vec<(&str, String)>> {
        self.0.matches(uri)
    }

    /// The address these values give.
    pub fn expand<'v>(&self, value: impl Fn(&str) -> Option<&'v str>) -> String {
        self.0.expand(value)
    }
}

/// Seals and opens states.
#[cfg(feature = "sealing")]
#[derive(Debug)]
pub struct States(Seal);

#[cfg(feature = "sealing")]
impl States {
    /// With this key, for ten minutes each.
    #[must_use]
    pub fn new(key: [u8; 32]) -> Self {
        let lifetime = Duration::from_mins(10);
        Self(Seal::new(&[SealingKey::from_bytes(key)], lifetime))
    }

    /// Seals what a call remembers.
    #[must_use]
    pub fn seal(&self, binding: &[u8; 32], plain: &[u8], now: Duration) -> String {
        let sealed = self.0.seal(binding, plain, now);
        sealed.expect("keys and lengths are as they are")
    }

    /// Opens a state; `None` if it is refused.
    #[must_use]
    pub fn open(&self, binding: &[u8; 32], state: &str, now: Duration) -> Option<Vec<u8>> {
        self.0.open(binding, state, now).ok()
    }

    /// What a call of this tool with these arguments is bound to.
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
