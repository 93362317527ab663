//! Reads JSON that is not part of a call by the same rules as arguments.

use std::fmt;
use std::marker::PhantomData;

use mcp_schema::explain::{Fault, describe_faults};
use schemars::JsonSchema;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::Value;

use super::{ArgumentStyle, Decoder};
use crate::error::{Error, ErrorKind};
use crate::handler::parameter::{Argument, ParameterMeta};

/// Reads JSON from files and other services as strictly as arguments, and explains mistakes as precisely.
///
/// serde alone does not enforce bounds such as `#[schemars(range(…))]` on the fields of a `#[data]` type, and reports only
/// the first mistake. Create one reader and use it for all values, because `new` prepares the schema.
///
/// ```
/// use mcp_runtime::prelude::*;
/// use mcp_runtime::values::JsonReader;
///
/// /// A line of a file.
/// #[data]
/// struct Sighting {
///     species: String,
///     #[schemars(range(min = 1, max = 500))]
///     count: u32,
/// }
///
/// let reader = JsonReader::<Sighting>::new()?;
/// assert_eq!(reader.read(r#"{"species": "wren", "count": 3}"#)?.count, 3);
///
/// let error = reader.read(r#"{"species": "wren", "cuont": 3}"#).err().unwrap();
/// let mistakes: Vec<_> = error.to_string().lines().map(str::to_owned).collect();
/// assert_eq!(mistakes, [
///     "unknown property `cuont`; did you mean `count`? (known: `species`, `count`)",
/// ]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct JsonReader<T> {
    decoder: Decoder,
    type_read: PhantomData<fn() -> T>,
}

/// The name under which a decoder, which always reads an object of arguments, finds the value.
const VALUE_NAME: &str = "value";

impl<T: DeserializeOwned + JsonSchema + 'static> JsonReader<T> {
    const PARAMETERS: &'static [ParameterMeta] =
        &[ParameterMeta::of::<T, Argument>(VALUE_NAME, "")];

    /// Creates a reader for the type's schema.
    ///
    /// # Errors
    ///
    /// Fails if the type's schema is not valid, for example because of an invalid pattern.
    pub fn new() -> Result<Self, Error> {
        let style = ArgumentStyle::Tool { strict: true };
        let decoder = Decoder::new(Self::PARAMETERS, style, None);
        let decoder = decoder
            .map_err(|problems| Error::new(ErrorKind::Configuration, problems.join("\n")))?;
        Ok(Self {
            decoder,
            type_read: PhantomData,
        })
    }

    /// Reads one value, which must be the entire text.
    ///
    /// # Errors
    ///
    /// Fails if the text is not JSON or the value does not match the type's schema. The error lists up to 20 mistakes.
    pub fn read(&self, json: &str) -> Result<T, InvalidJson> {
        // Without this check, a text that continues after its value could add other arguments.
        is_json::<IgnoredAny>(json)?;
        let arguments = format!(r#"{{"{VALUE_NAME}":{json}}}"#);
        let mut slot: Option<T> = None;
        if !self.decoder.decode_fast(&arguments, &mut [&mut slot]) {
            // Mistakes are explained with the help of a tree, whose depth is limited.
            is_json::<Value>(json)?;
            self.decoder
                .decode_slowly(&arguments, &mut [&mut slot])
                .map_err(InvalidJson::new)?;
        }
        slot.ok_or_else(|| InvalidJson::of_value("no value".to_owned()))
    }
}

fn is_json<T: DeserializeOwned>(text: &str) -> Result<(), InvalidJson> {
    match serde_json::from_str::<T>(text) {
        Ok(_) => Ok(()),
        Err(error) => Err(InvalidJson::of_value(format!("not valid JSON: {error}"))),
    }
}

impl<T> fmt::Debug for JsonReader<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JsonReader").finish_non_exhaustive()
    }
}

/// The reason why [`JsonReader::read`] refused a text: one line for each mistake, with a JSON pointer to its place.
///
/// The text quotes the values that are wrong. In a handler, `?` therefore hides it from the client, as it hides other
/// errors; `.expose()` ("Errors" in the guide) shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidJson(Vec<Fault>);

impl InvalidJson {
    /// Returns each mistake as a JSON pointer and a message, such as `("/count", "900 is more than 500")`. The pointer is
    /// empty if the mistake concerns the whole value, for example because a property is missing.
    pub fn mistakes(&self) -> impl Iterator<Item = (&str, &str)> {
        let mistakes = self.0.iter();
        mistakes.map(|fault| (&*fault.pointer, &*fault.message))
    }

    /// Creates the error for a mistake that concerns the whole value.
    fn of_value(message: String) -> Self {
        Self(vec![Fault::new("", message)])
    }

    fn new(mut faults: Vec<Fault>) -> Self {
        for fault in &mut faults {
            let inner = fault.pointer.strip_prefix('/');
            if let Some(inner) = inner.and_then(|pointer| pointer.strip_prefix(VALUE_NAME)) {
                fault.pointer = inner.to_owned();
            }
        }
        Self(faults)
    }
}

impl fmt::Display for InvalidJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&describe_faults(&self.0))
    }
}

impl std::error::Error for InvalidJson {}
