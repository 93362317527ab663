//! List items as elements of a JSON array.

use crate::protocol::ProtocolVersion;
use crate::protocol::encode::one_line;
use crate::protocol::shape::ShapeForVersion;

/// Appends an item to a JSON array under construction, in the form that `version` requires.
pub(crate) fn append_item<T: ShapeForVersion + serde::Serialize>(
    text: &mut String,
    mut item: T,
    version: ProtocolVersion,
) {
    item.shape(version);
    match serde_json::to_string(&item) {
        Ok(item) => push_item(text, &one_line(&item)),
        // Serialization cannot fail for a type whose keys are all strings. If it did, dropping one item would be better
        // than losing the whole list.
        Err(error) => tracing::error!(%error, "a definition cannot be serialized as JSON"),
    }
}

/// Appends an item that is already JSON.
pub(super) fn push_item(text: &mut String, item: &str) {
    if !text.is_empty() && !item.is_empty() {
        text.push(',');
    }
    text.push_str(item);
}
