//! A server's surface, which is everything that the server declares. Its text form changes only when the declarations
//! change.

pub(crate) mod compare;
mod extensions;
mod schema;
#[cfg(test)]
mod tests;

use serde_json::{Map, Value};

use crate::client::InProcessClient;
use crate::client::message::Failure;
use crate::context::Capability;

/// Everything that a server declares: instructions, extensions, tools, prompts, resources and resource templates, each
/// list sorted by name. Includes disabled definitions, because a server can enable them at any time.
///
/// Excludes details that can change while the program remains the same: the server's version, the order of definitions,
/// and the resources returned by the listing functions of templates. Such resources are data, possibly belonging to a
/// single user, and listing them may require a database.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Surface(Map<String, Value>);

impl Surface {
    pub(crate) fn of(client: &InProcessClient) -> Result<Self, Failure> {
        let mut members = Map::new();
        if let Some(text) = &client.server.instructions {
            members.insert("instructions".into(), text.as_str().into());
        }
        let extensions = client.extensions();
        if !extensions.is_empty() {
            members.insert("extensions".into(), extensions.into());
        }
        for list in Capability::ALL {
            let mut items = client.definitions(list)?;
            items.sort_by(|a, b| {
                a[list.item_key()]
                    .as_str()
                    .cmp(&b[list.item_key()].as_str())
            });
            members.insert(list.member().into(), items.into());
        }
        Ok(Self(members))
    }

    /// Parses the output of [`to_text`](Self::to_text).
    pub(crate) fn parse(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text).map(Self)
    }

    pub(crate) fn to_text(&self) -> String {
        format!("{:#}\n", Value::Object(self.0.clone()))
    }

    pub(crate) fn instructions(&self) -> Option<&str> {
        self.0.get("instructions").and_then(Value::as_str)
    }

    /// Returns the extensions, keyed by identifier, each with its settings and the names of its methods.
    pub(crate) fn extensions(&self) -> impl Iterator<Item = (&str, &Value)> {
        let extensions = self.0.get("extensions").and_then(Value::as_object);
        let members = extensions.into_iter().flatten();
        members.map(|(id, extension)| (id.as_str(), extension))
    }

    pub(crate) fn items(&self, list: Capability) -> &[Value] {
        let items = self.0.get(list.member()).and_then(Value::as_array);
        items.map_or(&[], Vec::as_slice)
    }
}
