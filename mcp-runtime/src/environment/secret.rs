//! A value that is hidden from logs, messages and help.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, de};

/// A value that must not be exposed, such as a password or an API key.
///
/// Its `Debug` output is `Secret(***)`, it does not implement `Display` or serialization, and errors never repeat it.
/// In a struct for [`Server::env`](crate::Server::env), it marks the variable as secret, so that the help and the log
/// show that the variable is set but not its value. The memory is not wiped, because the process's environment contains
/// another copy.
///
/// ```
/// use mcp_runtime::env::Secret;
///
/// let key = Secret::new("s3cr3t".to_owned());
/// assert_eq!(format!("{key:?}"), "Secret(***)");
/// assert_eq!(key.expose_secret(), "s3cr3t");
/// ```
#[derive(Clone, Default)]
pub struct Secret<T>(T);

impl<T> Secret<T> {
    /// Creates a secret from its value.
    pub const fn new(value: T) -> Self {
        Self(value)
    }

    /// Returns the value. The caller is then responsible for keeping it out of logs and messages.
    #[must_use]
    pub const fn expose_secret(&self) -> &T {
        &self.0
    }
}

impl<T> fmt::Debug for Secret<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(***)")
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Secret<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // The error is discarded because it may contain the value.
        let read = T::deserialize(deserializer).map(Self);
        read.map_err(|_| de::Error::custom("the value, which is secret, is not valid"))
    }
}

impl<T: JsonSchema> JsonSchema for Secret<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = T::json_schema(generator);
        schema.insert("writeOnly".to_owned(), true.into());
        schema
    }
}
