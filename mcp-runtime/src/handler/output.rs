//! Return types for tools.
//!
//! | returned | the model reads | structured |
//! |---|---|---|
//! | a string, a number, `bool`, `char` | the value, as text | – |
//! | `()` | nothing | – |
//! | content, or a `Vec`, array or tuple of it | one block for each item | – |
//! | [`Json<T>`] | its JSON | its JSON, with the schema of `T` |
//! | one to four blocks of content and [`Json<T>`], a tuple | the content | as `Json<T>` |
//! | `Option<T>` | as `T`; for `None`: "no result", or `null` if `T` is structured | as `T`, or `null` |
//! | `Result<T, E>` | as `T`, or the error | as `T` |
//! | [`CallToolResult`] | its content | its structured content |
//!
//! `protocol` adapts results to each protocol version.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

use crate::handler::handler_error::{HandlerError, HandlerErrorRepr, IntoHandlerError};
use crate::types::{
    AudioContent, CallToolResult, ContentBlock, EmbeddedResource, ImageContent, ResourceContents,
    ResourceLink, TextContent,
};

/// Structured output, sent as `structuredContent` with an output schema, and as text for older clients.
///
/// Numbers that JSON cannot represent, such as infinity, are written as `null`. If the schema of `T` requires a number,
/// this makes the call fail with an internal error; for `Option<f64>`, the result is `null`. The call also fails with
/// an internal error if `T` cannot be serialized.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Json<T>(pub T);

/// A type that a tool can return.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be returned from a tool",
    label = "not a tool result",
    note = "return text, a number, `bool`, `()`, content blocks, a `Vec` or tuple of strings or content blocks, `Json<T>`, a tuple of content and `Json<T>` such as `(text, Json<T>)`, an `Option` or `Result` of these, or `CallToolResult`",
    note = "for `Json<T>`, put `#[data]` on the type `T` (or derive `serde::Serialize` and `schemars::JsonSchema`)"
)]
pub trait IntoToolResult {
    /// `true` if every successful result has `structuredContent`.
    const STRUCTURED: bool = false;

    /// `true` if structured content matches the [`output_schema`](Self::output_schema) by construction, because both
    /// are derived from the same type. In that case, it is validated only if it may have been modified or may contain a
    /// number that JSON cannot represent.
    const CONFORMS: bool = false;

    /// Converts the value into a result that is independent of the protocol version.
    ///
    /// # Errors
    ///
    /// Returns the handler's error.
    fn into_tool_result(self) -> Result<CallToolResult, HandlerError>;

    /// Returns the schema of `structuredContent`, if any.
    fn output_schema(generator: &mut SchemaGenerator) -> Option<Schema> {
        let _ = generator;
        None
    }
}

impl IntoToolResult for CallToolResult {
    fn into_tool_result(self) -> Result<CallToolResult, HandlerError> {
        Ok(self)
    }
}

impl IntoToolResult for () {
    fn into_tool_result(self) -> Result<CallToolResult, HandlerError> {
        Ok(CallToolResult::default())
    }
}

impl IntoToolResult for &str {
    fn into_tool_result(self) -> Result<CallToolResult, HandlerError> {
        Ok(CallToolResult::text(self))
    }
}

impl IntoToolResult for Cow<'_, str> {
    fn into_tool_result(self) -> Result<CallToolResult, HandlerError> {
        Ok(CallToolResult::text(self))
    }
}

macro_rules! as_text {
    ($($type:ty)*) => {$(
        impl IntoToolResult for $type {
            #[inline]
            fn into_tool_result(self) -> Result<CallToolResult, HandlerError> {
                Ok(CallToolResult::text(self))
            }
        }
    )*};
}

as_text!(String Box<str> char);

macro_rules! displayed {
    ($($type:ty)*) => {$(
        impl IntoToolResult for $type {
            #[inline]
            fn into_tool_result(self) -> Result<CallToolResult, HandlerError> {
                Ok(CallToolResult::text(self.to_string()))
            }
        }
    )*};
}

displayed!(bool i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize f32 f64);

macro_rules! blocks {
    ($($type:ty)*) => {$(
        impl IntoToolResult for $type {
            fn into_tool_result(self) -> Result<CallToolResult, HandlerError> {
                Ok(CallToolResult::new(vec![self.into()]))
            }
        }
    )*};
}

blocks!(ContentBlock TextContent ImageContent AudioContent ResourceLink EmbeddedResource ResourceContents);

#[diagnostic::do_not_recommend]
impl<T: Into<ContentBlock>> IntoToolResult for Vec<T> {
    fn into_tool_result(self) -> Result<CallToolResult, HandlerError> {
        let blocks: Vec<ContentBlock> = self.into_iter().map(Into::into).collect();
        Ok(CallToolResult::new(blocks))
    }
}

#[diagnostic::do_not_recommend]
impl<T: Into<ContentBlock>, const N: usize> IntoToolResult for [T; N] {
    fn into_tool_result(self) -> Result<CallToolResult, HandlerError> {
        let blocks: Vec<ContentBlock> = self.into_iter().map(Into::into).collect();
        Ok(CallToolResult::new(blocks))
    }
}

macro_rules! tuples {
    ($($($part:ident)+;)+) => {$(
        #[diagnostic::do_not_recommend]
        impl<$($part: Into<ContentBlock>),+> IntoToolResult for ($($part,)+) {
            fn into_tool_result(self) -> Result<CallToolResult, HandlerError> {
                #[allow(non_snake_case, reason = "each part is named after its type parameter")]
                let ($($part,)+) = self;
                Ok(CallToolResult::new(vec![$($part.into()),+]))
            }
        }
    )+};
}

tuples! { A; A B; A B C; A B C D; A B C D E; A B C D E F; }

/// Converts `None` into a short message for the model, or into `null` if results are structured, because a missing
/// result does not mean that the tool failed.
impl<T: IntoToolResult> IntoToolResult for Option<T> {
    const STRUCTURED: bool = T::STRUCTURED;
    const CONFORMS: bool = T::CONFORMS;

    fn into_tool_result(self) -> Result<CallToolResult, HandlerError> {
        match self {
            Some(value) => value.into_tool_result(),
            None if T::STRUCTURED => Ok(structured(RawValue::NULL.to_owned())),
            None => Ok(CallToolResult::text("no result")),
        }
    }

    fn output_schema(generator: &mut SchemaGenerator) -> Option<Schema> {
        let schema = T::output_schema(generator)?;
        Some(json_schema!({ "anyOf": [schema, { "type": "null" }] }))
    }
}

impl<T: IntoToolResult, E: IntoHandlerError> IntoToolResult for Result<T, E> {
    const STRUCTURED: bool = T::STRUCTURED;
    const CONFORMS: bool = T::CONFORMS;

    fn into_tool_result(self) -> Result<CallToolResult, HandlerError> {
        self.map_err(IntoHandlerError::into_handler_error)?
            .into_tool_result()
    }

    fn output_schema(generator: &mut SchemaGenerator) -> Option<Schema> {
        T::output_schema(generator)
    }
}

#[diagnostic::do_not_recommend]
impl<T: Serialize + JsonSchema> IntoToolResult for Json<T> {
    const STRUCTURED: bool = true;
    const CONFORMS: bool = true;

    fn into_tool_result(self) -> Result<CallToolResult, HandlerError> {
        Ok(structured(self.into_raw()?))
    }

    fn output_schema(generator: &mut SchemaGenerator) -> Option<Schema> {
        Some(generator.subschema_for::<T>())
    }
}

macro_rules! content_and_json {
    ($($($part:ident)+;)+) => {$(
        /// Structured output accompanied by separate content, such as a summary, a table or a link.
        #[diagnostic::do_not_recommend]
        impl<$($part: Into<ContentBlock>,)+ T: Serialize + JsonSchema> IntoToolResult for ($($part,)+ Json<T>) {
            const STRUCTURED: bool = true;
            const CONFORMS: bool = true;

            fn into_tool_result(self) -> Result<CallToolResult, HandlerError> {
                #[allow(non_snake_case, reason = "each part is named after its type parameter")]
                let ($($part,)+ json) = self;
                let mut result = CallToolResult::new(vec![$($part.into()),+]);
                result.structured_content = Some(json.into_raw()?);
                Ok(result)
            }

            fn output_schema(generator: &mut SchemaGenerator) -> Option<Schema> {
                <Json<T>>::output_schema(generator)
            }
        }
    )+};
}

content_and_json! { A; A B; A B C; A B C D; }

impl<T: Serialize> Json<T> {
    pub(super) fn into_raw(self) -> Result<Box<RawValue>, HandlerError> {
        to_raw_value(&self.0).map_err(|error| HandlerError(HandlerErrorRepr::Unwritable(error)))
    }
}

/// Returns a result whose text is its JSON.
pub(super) fn structured(value: Box<RawValue>) -> CallToolResult {
    let mut result = CallToolResult::text(value.get());
    result.structured_content = Some(value);
    result
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use mcp_schema::generate::output_schema;

    fn json(value: impl IntoToolResult) -> String {
        serde_json::to_string(&value.into_tool_result().unwrap()).unwrap()
    }

    #[test]
    fn everything_becomes_content() {
        let text = |text: &str| format!(r#"{{"content":[{{"type":"text","text":"{text}"}}]}}"#);
        assert_eq!(json("a"), text("a"));
        assert_eq!(json(String::from("a")), text("a"));
        assert_eq!(json(Cow::Borrowed("a")), text("a"));
        assert_eq!(json(Box::<str>::from("a")), text("a"));
        assert_eq!(json('a'), text("a"));
        assert_eq!(json(true), text("true"));
        assert_eq!(json(-1_i8), text("-1"));
        assert_eq!(
            json(u128::MAX),
            text("340282366920938463463374607431768211455")
        );
        assert_eq!(json(1.5_f32), text("1.5"));
        assert_eq!(json(f64::NAN), text("NaN"));
        assert_eq!(json(()), r#"{"content":[]}"#);
        assert_eq!(json(None::<String>), text("no result"));
        assert_eq!(json(Some("a")), text("a"));
        assert_eq!(json(Ok::<_, HandlerError>("a")), text("a"));
        let two = r#"{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}"#;
        assert_eq!(json(vec!["a", "b"]), two);
        assert_eq!(json(["a", "b"]), two);
        assert_eq!(json(("a", TextContent::new("b"))), two);
    }

    #[test]
    fn structured_output_is_sent_twice() {
        assert_eq!(
            json(Json(vec![1, 2])),
            r#"{"content":[{"type":"text","text":"[1,2]"}],"structuredContent":[1,2]}"#
        );
        assert_eq!(
            json(("a", TextContent::new("b"), Json(7))),
            r#"{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}],"structuredContent":7}"#
        );
        assert_eq!(
            json(None::<Json<u8>>),
            r#"{"content":[{"type":"text","text":"null"}],"structuredContent":null}"#
        );
    }

    #[test]
    fn numbers_json_lacks_become_null() {
        assert!(json(Json([f64::NAN, f64::INFINITY])).contains("[null,null]"));
    }

    #[test]
    fn what_cannot_be_written_is_an_error_of_its_own() {
        let error = Json(BTreeMap::from([(vec![1_u8], 1_u8)]))
            .into_tool_result()
            .unwrap_err();
        assert!(format!("{error:?}").starts_with("Unwritable"));
    }

    #[test]
    fn an_optional_structured_result_may_be_null() {
        let schema = output_schema(<Option<Json<u64>>>::output_schema).unwrap();
        assert_eq!(
            schema.to_string(),
            r#"{"anyOf":[{"type":"integer","minimum":0},{"type":"null"}]}"#
        );
        assert_eq!(output_schema(<Option<String>>::output_schema), None);
    }
}
