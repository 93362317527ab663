//! Return types of resources and resource templates.
//!
//! Conversions leave the URI empty: the dispatcher knows it from the request, and fills it in with the definition's media
//! type.

use std::borrow::Cow;

use bytes::Bytes;
use serde::Serialize;

use crate::handler::output::Json;
use crate::handler::tool_error::{IntoToolError, ToolError};
use crate::types::{ReadResourceResult, ResourceContents};

/// A type that a resource or a resource template may return.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be returned from a resource",
    label = "not resource contents",
    note = "return a string, bytes (`Vec<u8>`), `Json<T>` (put `#[data]` on the type `T`, or derive `serde::Serialize`), `ResourceContents` or a `Vec` of them, or `Option` (`None`: not found) or `Result` of these"
)]
pub trait IntoResource {
    /// Returns the result, independent of the protocol version. Contents without a URI or a media type receive those of the
    /// request and the definition.
    ///
    /// # Errors
    ///
    /// The handler's error; [`ToolError::resource_not_found`] if there is no resource at the URI.
    fn into_resource(self) -> Result<ReadResourceResult, ToolError>;
}

fn one(contents: ResourceContents) -> Result<ReadResourceResult, ToolError> {
    vec![contents].into_resource()
}

impl IntoResource for ReadResourceResult {
    fn into_resource(self) -> Result<ReadResourceResult, ToolError> {
        Ok(self)
    }
}

impl IntoResource for Vec<ResourceContents> {
    fn into_resource(self) -> Result<ReadResourceResult, ToolError> {
        Ok(ReadResourceResult {
            contents: self,
            ..ReadResourceResult::default()
        })
    }
}

impl<const N: usize> IntoResource for [ResourceContents; N] {
    fn into_resource(self) -> Result<ReadResourceResult, ToolError> {
        Vec::from(self).into_resource()
    }
}

impl IntoResource for ResourceContents {
    fn into_resource(self) -> Result<ReadResourceResult, ToolError> {
        one(self)
    }
}

macro_rules! text {
    ($($type:ty)*) => {$(
        impl IntoResource for $type {
            fn into_resource(self) -> Result<ReadResourceResult, ToolError> {
                one(ResourceContents::text("", self))
            }
        }
    )*};
}

text!(String &str Box<str> Cow<'_, str>);

macro_rules! blob {
    ($($type:ty)*) => {$(
        impl IntoResource for $type {
            fn into_resource(self) -> Result<ReadResourceResult, ToolError> {
                one(ResourceContents::blob("", self))
            }
        }
    )*};
}

blob!(Vec<u8> &[u8] Box<[u8]> Bytes);

/// The media type is `application/json`, unless the definition specifies another.
#[diagnostic::do_not_recommend]
impl<T: Serialize> IntoResource for Json<T> {
    fn into_resource(self) -> Result<ReadResourceResult, ToolError> {
        let text = serde_json::to_string(&self.0).map_err(ToolError::opaque)?;
        Ok(ReadResourceResult {
            contents: vec![ResourceContents::text("", text)],
            mime_type: Some("application/json"),
            ..ReadResourceResult::default()
        })
    }
}

/// `None` means that there is no resource at this URI.
impl<T: IntoResource> IntoResource for Option<T> {
    fn into_resource(self) -> Result<ReadResourceResult, ToolError> {
        self.ok_or_else(ToolError::resource_not_found)?
            .into_resource()
    }
}

impl<T: IntoResource, E: IntoToolError> IntoResource for Result<T, E> {
    fn into_resource(self) -> Result<ReadResourceResult, ToolError> {
        self.map_err(IntoToolError::into_tool_error)?
            .into_resource()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(value: impl IntoResource) -> String {
        serde_json::to_string(&value.into_resource().unwrap().contents).unwrap()
    }

    #[test]
    fn text_bytes_and_json_become_contents() {
        let text = r#"[{"uri":"","text":"a"}]"#;
        assert_eq!(json("a"), text);
        assert_eq!(json(String::from("a")), text);
        assert_eq!(json(Cow::Borrowed("a")), text);
        assert_eq!(json(Ok::<_, String>(Some("a"))), text);
        let blob = r#"[{"uri":"","blob":"AAE="}]"#;
        assert_eq!(json(vec![0_u8, 1]), blob);
        assert_eq!(json(Bytes::from_static(&[0, 1])), blob);
        assert_eq!(json(Json([1])), r#"[{"uri":"","text":"[1]"}]"#);
        let result = Json([1]).into_resource().unwrap();
        assert_eq!(result.mime_type, Some("application/json"));
        assert_eq!(
            json([ResourceContents::text("a:", "a")]),
            r#"[{"uri":"a:","text":"a"}]"#
        );
    }

    #[test]
    fn none_is_not_found() {
        let error = None::<String>.into_resource().unwrap_err();
        assert_eq!(format!("{error:?}"), "ResourceNotFound");
    }
}
