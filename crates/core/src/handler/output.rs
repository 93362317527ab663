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

use bytes::Bytes;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};

use crate::handler::handler_error::{HandlerError, HandlerErrorRepr, IntoHandlerError};
use crate::types::{
    AudioContent, CallToolResult, ContentBlock, EmbeddedResource, GetPromptResult, ImageContent,
    PromptMessage, ReadResourceResult, ResourceContents, ResourceLink, TextContent,
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
    note = "wrap other values in `Json<…>`, such as `Json<Vec<u32>>`, with `#[data]` on types of your own (or derive `serde::Serialize` and `schemars::JsonSchema`)",
    note = "another crate's type: enable the `chrono` (0.4), `decimal` (`rust_decimal` 1), `jiff` (0.2), `url` (2) or `uuid` (1) feature of `mcp-runtime`, for types of that version of the crate"
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
    fn into_raw(self) -> Result<Box<RawValue>, HandlerError> {
        to_raw_value(&self.0).map_err(|error| HandlerError(HandlerErrorRepr::Unwritable(error)))
    }
}

/// Returns a result whose text is its JSON.
pub(super) fn structured(value: Box<RawValue>) -> CallToolResult {
    let mut result = CallToolResult::text(value.get());
    result.structured_content = Some(value);
    result
}

// --- Types of other crates, by feature; only this crate can implement its traits for them. The text is the string that serde
// produces.

macro_rules! as_serialized {
    ($feature:literal: $($type:ty)*) => {$(
        #[cfg(feature = $feature)]
        impl IntoToolResult for $type {
            fn into_tool_result(self) -> Result<CallToolResult, HandlerError> {
                serialized(&self)
            }
        }
    )*};
}

as_serialized!("uuid": uuid::Uuid);

as_serialized!("url": url::Url);

as_serialized!("decimal": rust_decimal::Decimal);

as_serialized!("chrono": chrono::NaiveDate chrono::NaiveTime chrono::NaiveDateTime chrono::Weekday);

as_serialized!("jiff": jiff::Timestamp jiff::Zoned jiff::Span jiff::SignedDuration);

as_serialized!("jiff": jiff::civil::Date jiff::civil::Time jiff::civil::DateTime);

#[cfg(feature = "chrono")]
impl<Z: chrono::TimeZone> IntoToolResult for chrono::DateTime<Z> {
    fn into_tool_result(self) -> Result<CallToolResult, HandlerError> {
        serialized(&self)
    }
}

#[allow(dead_code, reason = "only the types of optional crates need it")]
fn serialized(value: &impl Serialize) -> Result<CallToolResult, HandlerError> {
    match serde_json::to_value(value) {
        Ok(Value::String(text)) => Ok(CallToolResult::text(text)),
        Ok(other) => Ok(CallToolResult::text(other.to_string())),
        Err(error) => Err(HandlerError(HandlerErrorRepr::Unwritable(error))),
    }
}

// --- The text of structured results, as chosen by a tool's `text` option.

/// The kind of text sent with a structured result in place of its JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JsonText {
    /// No text, except for clients whose protocol version does not support structured content.
    None,
    /// A Markdown table of the rows.
    Table,
}

/// A tool result whose text is its JSON and can therefore be replaced with the `text` option.
#[diagnostic::on_unimplemented(
    message = "`text` applies to tools that return `Json<T>`, but this tool returns `{Self}`",
    label = "not `Json<T>`",
    note = "remove `text`, or return `Json<T>` or an `Option` or `Result` of it"
)]
pub trait JsonResult: IntoToolResult + Sized {
    /// Converts the value into a result with this text.
    ///
    /// # Errors
    ///
    /// Returns the handler's error.
    fn into_result_with(self, text: JsonText) -> Result<CallToolResult, HandlerError>;
}

impl<T: Serialize + JsonSchema> JsonResult for Json<T> {
    fn into_result_with(self, text: JsonText) -> Result<CallToolResult, HandlerError> {
        Ok(structured_with(self.into_raw()?, text))
    }
}

impl<R: JsonResult> JsonResult for Option<R> {
    fn into_result_with(self, text: JsonText) -> Result<CallToolResult, HandlerError> {
        match self {
            Some(value) => value.into_result_with(text),
            None => Ok(structured_with(RawValue::NULL.to_owned(), text)),
        }
    }
}

impl<R: JsonResult, E: IntoHandlerError> JsonResult for Result<R, E> {
    fn into_result_with(self, text: JsonText) -> Result<CallToolResult, HandlerError> {
        self.map_err(IntoHandlerError::into_handler_error)?
            .into_result_with(text)
    }
}

fn structured_with(json: Box<RawValue>, text: JsonText) -> CallToolResult {
    let JsonText::Table = text else {
        return CallToolResult::structured_only(json);
    };
    match table_of(json.get()) {
        Some(text) => {
            let mut result = CallToolResult::text(text);
            result.structured_content = Some(json);
            result
        }
        None => structured(json),
    }
}

/// Returns the Markdown text of JSON, if it is not longer than the JSON.
#[must_use]
pub fn table_of(json: &str) -> Option<String> {
    table(&serde_json::from_str(json).ok()?)
}

/// Formats a value as Markdown. A list of objects becomes a table, any other list becomes a list, and the members of an
/// object become lines, with a table for each member that is a list of objects. Returns `None` if a table would be
/// longer than the JSON, because the rows have few columns in common.
fn table(value: &Value) -> Option<String> {
    Some(match value {
        Value::Array(items) => list(items)?,
        Value::Object(members) => {
            let mut parts = Vec::with_capacity(members.len());
            for (name, value) in members {
                parts.push(match value {
                    Value::Array(items) if !items.is_empty() => {
                        format!("\n{name}:\n\n{}\n", list(items)?)
                    }
                    scalar => format!("{name}: {}", inline(scalar)),
                });
            }
            parts.join("\n").trim().to_owned()
        }
        scalar => inline(scalar),
    })
}

fn list(items: &[Value]) -> Option<String> {
    if items.is_empty() {
        return Some("no rows".to_owned());
    }
    let rows: Option<Vec<&Map<String, Value>>> = items.iter().map(Value::as_object).collect();
    let Some(rows) = rows else {
        let lines: Vec<String> = items
            .iter()
            .map(|item| format!("- {}", inline(item)))
            .collect();
        return Some(lines.join("\n"));
    };
    let mut columns: Vec<&str> = Vec::new();
    let mut cells = 0_usize;
    for row in &rows {
        cells = cells.saturating_add(row.len());
        for name in row.keys() {
            if columns.contains(&name.as_str()) {
                continue;
            }
            // This bounds the running time.
            if columns.len() == MOST_COLUMNS {
                return None;
            }
            columns.push(name);
        }
    }
    // Up to half of the cells may be empty.
    if columns.is_empty() || columns.len().saturating_mul(rows.len()) > cells.saturating_mul(2) {
        return None;
    }
    let line = |cells: &mut dyn Iterator<Item = String>| {
        cells.fold(String::from("|"), |line, cell| line + &cell + "|")
    };
    let mut lines = vec![
        line(&mut columns.iter().map(|name| escaped(name))),
        line(&mut columns.iter().map(|_| "-".to_owned())),
    ];
    for row in rows {
        let cell = |name: &&str| row.get(*name).map(cell).unwrap_or_default();
        lines.push(line(&mut columns.iter().map(cell)));
    }
    Some(lines.join("\n"))
}

/// Maximum number of columns in a table.
const MOST_COLUMNS: usize = 100;

fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        other => escaped(&inline(other)),
    }
}

/// Returns a string unchanged and any other value as JSON.
fn inline(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Escapes text so that it stays within a table cell.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('|', "\\|")
        .replace("\r\n", "<br>")
        .replace(['\n', '\r'], "<br>")
}

// --- Return types for prompts.
//
// Each string or content block becomes a message from the user; a `PromptMessage` keeps its role.

/// A type that a prompt may return.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be returned from a prompt",
    label = "not a prompt result",
    note = "return a string (one message from the user), `PromptMessage`, a `Vec` or tuple of messages or content, `GetPromptResult`, or a `Result` of these"
)]
pub trait IntoPromptResult {
    /// Returns the result in a form that is independent of the protocol version.
    ///
    /// # Errors
    ///
    /// Returns the handler's error.
    fn into_prompt_result(self) -> Result<GetPromptResult, HandlerError>;
}

impl IntoPromptResult for GetPromptResult {
    fn into_prompt_result(self) -> Result<GetPromptResult, HandlerError> {
        Ok(self)
    }
}

macro_rules! messages {
    ($($type:ty)*) => {$(
        impl IntoPromptResult for $type {
            fn into_prompt_result(self) -> Result<GetPromptResult, HandlerError> {
                Ok(GetPromptResult::new(vec![self.into()]))
            }
        }
    )*};
}

messages!(
    String &str PromptMessage ContentBlock TextContent ImageContent AudioContent ResourceLink EmbeddedResource
    ResourceContents
);

impl IntoPromptResult for Cow<'_, str> {
    fn into_prompt_result(self) -> Result<GetPromptResult, HandlerError> {
        self.into_owned().into_prompt_result()
    }
}

impl IntoPromptResult for Box<str> {
    fn into_prompt_result(self) -> Result<GetPromptResult, HandlerError> {
        String::from(self).into_prompt_result()
    }
}

#[diagnostic::do_not_recommend]
impl<T: Into<PromptMessage>> IntoPromptResult for Vec<T> {
    fn into_prompt_result(self) -> Result<GetPromptResult, HandlerError> {
        let messages: Vec<PromptMessage> = self.into_iter().map(Into::into).collect();
        Ok(GetPromptResult::new(messages))
    }
}

#[diagnostic::do_not_recommend]
impl<T: Into<PromptMessage>, const N: usize> IntoPromptResult for [T; N] {
    fn into_prompt_result(self) -> Result<GetPromptResult, HandlerError> {
        let messages: Vec<PromptMessage> = self.into_iter().map(Into::into).collect();
        Ok(GetPromptResult::new(messages))
    }
}

macro_rules! prompt_tuples {
    ($($($part:ident)+;)+) => {$(
        #[diagnostic::do_not_recommend]
        impl<$($part: Into<PromptMessage>),+> IntoPromptResult for ($($part,)+) {
            fn into_prompt_result(self) -> Result<GetPromptResult, HandlerError> {
                #[allow(non_snake_case, reason = "each part is named after its type parameter")]
                let ($($part,)+) = self;
                Ok(GetPromptResult::new(vec![$($part.into()),+]))
            }
        }
    )+};
}

prompt_tuples! { A; A B; A B C; A B C D; A B C D E; A B C D E F; }

impl<T: IntoPromptResult, E: IntoHandlerError> IntoPromptResult for Result<T, E> {
    fn into_prompt_result(self) -> Result<GetPromptResult, HandlerError> {
        self.map_err(IntoHandlerError::into_handler_error)?
            .into_prompt_result()
    }
}

// --- Return types for resources and resource templates.
//
// Conversions leave the URI empty. The dispatcher fills in the URI from the request and the media type from the
// definition.

/// A type that a resource or a resource template may return.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be returned from a resource",
    label = "not resource contents",
    note = "return a string, bytes (`Vec<u8>`), `Json<T>` (put `#[data]` on the type `T`, or derive `serde::Serialize`), `ResourceContents` or a `Vec` of them, or an `Option` (`None`: not found) or `Result` of these"
)]
pub trait IntoResourceResult {
    /// The media type of the contents, which also appears in lists unless the definition specifies a different one.
    /// Default: unspecified.
    const MIME_TYPE: Option<&'static str> = None;

    /// Returns the result in a form that is independent of the protocol version. Contents without a URI are given the
    /// request's URI, and contents without a media type are given the definition's media type.
    ///
    /// # Errors
    ///
    /// Returns the handler's error, or [`HandlerError::resource_not_found`] if there is no resource at the URI.
    fn into_resource_result(self) -> Result<ReadResourceResult, HandlerError>;
}

fn one(contents: ResourceContents) -> Result<ReadResourceResult, HandlerError> {
    vec![contents].into_resource_result()
}

impl IntoResourceResult for ReadResourceResult {
    fn into_resource_result(self) -> Result<ReadResourceResult, HandlerError> {
        Ok(self)
    }
}

impl IntoResourceResult for Vec<ResourceContents> {
    fn into_resource_result(self) -> Result<ReadResourceResult, HandlerError> {
        let mut result = ReadResourceResult::default();
        result.contents = self;
        Ok(result)
    }
}

impl<const N: usize> IntoResourceResult for [ResourceContents; N] {
    fn into_resource_result(self) -> Result<ReadResourceResult, HandlerError> {
        Vec::from(self).into_resource_result()
    }
}

impl IntoResourceResult for ResourceContents {
    fn into_resource_result(self) -> Result<ReadResourceResult, HandlerError> {
        one(self)
    }
}

macro_rules! text {
    ($($type:ty)*) => {$(
        impl IntoResourceResult for $type {
            fn into_resource_result(self) -> Result<ReadResourceResult, HandlerError> {
                one(ResourceContents::text("", self))
            }
        }
    )*};
}

text!(String &str Box<str> Cow<'_, str>);

macro_rules! blob {
    ($($type:ty)*) => {$(
        impl IntoResourceResult for $type {
            fn into_resource_result(self) -> Result<ReadResourceResult, HandlerError> {
                one(ResourceContents::blob("", self))
            }
        }
    )*};
}

blob!(Vec<u8> &[u8] Box<[u8]> Bytes);

/// The media type is `application/json` unless the definition specifies a different one.
#[diagnostic::do_not_recommend]
impl<T: Serialize> IntoResourceResult for Json<T> {
    const MIME_TYPE: Option<&'static str> = Some("application/json");

    fn into_resource_result(self) -> Result<ReadResourceResult, HandlerError> {
        let text = serde_json::to_string(&self.0).map_err(HandlerError::opaque)?;
        let mut result = vec![ResourceContents::text("", text)].into_resource_result()?;
        if let Some(mime_type) = Self::MIME_TYPE {
            result.set_default_mime_type(mime_type);
        }
        Ok(result)
    }
}

/// `None` means that there is no resource at this URI.
impl<T: IntoResourceResult> IntoResourceResult for Option<T> {
    const MIME_TYPE: Option<&'static str> = T::MIME_TYPE;

    fn into_resource_result(self) -> Result<ReadResourceResult, HandlerError> {
        self.ok_or_else(HandlerError::resource_not_found)?
            .into_resource_result()
    }
}

impl<T: IntoResourceResult, E: IntoHandlerError> IntoResourceResult for Result<T, E> {
    const MIME_TYPE: Option<&'static str> = T::MIME_TYPE;

    fn into_resource_result(self) -> Result<ReadResourceResult, HandlerError> {
        self.map_err(IntoHandlerError::into_handler_error)?
            .into_resource_result()
    }
}

#[cfg(test)]
mod tests {
    mod output {
        use std::collections::BTreeMap;

        use crate::handler::output::*;
        use mcp_schema::generate::output_schema;

        fn json(value: impl IntoToolResult) -> String {
            serde_json::to_string(&value.into_tool_result().unwrap()).unwrap()
        }

        #[test]
        fn every_content_type_converts_into_a_tool_result() {
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
        fn structured_output_is_sent_as_structured_content_and_text() {
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
        fn a_result_that_cannot_be_serialized_is_an_unwritable_error() {
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

    mod json_text {
        use serde_json::json;

        use crate::handler::output::*;

        #[test]
        fn rows_become_a_table() {
            for (value, expected) in [
                (
                    json!([{"id": 1, "name": "a|b", "note": null}, {"id": 2, "name": "c\nd", "tags": ["x"]}]),
                    Some("|id|name|note|tags|\n|-|-|-|-|\n|1|a\\|b|||\n|2|c<br>d||[\"x\"]|"),
                ),
                (
                    json!({"total": 2, "rows": [{"id": 1}, {"id": 2}], "next": null}),
                    Some("total: 2\n\nrows:\n\n|id|\n|-|\n|1|\n|2|\n\nnext: null"),
                ),
                (json!(["a", 1]), Some("- a\n- 1")),
                (json!([]), Some("no rows")),
                (json!({"rows": []}), Some("rows: []")),
                (json!("text"), Some("text")),
                (json!(null), Some("null")),
                (json!([{}, {}]), None),
                (json!([{"a": 1}, {"b": 1}, {"c": 1}]), None),
            ] {
                assert_eq!(table(&value).as_deref(), expected, "{value}");
            }
        }

        #[test]
        fn a_table_has_at_most_a_hundred_columns() {
            for (columns, has_table) in [(100, true), (101, false)] {
                let row: Map<String, Value> = (0..columns)
                    .map(|column| (column.to_string(), json!(1)))
                    .collect();
                for rows in [json!([row]), json!([row, row])] {
                    assert_eq!(table(&rows).is_some(), has_table, "{columns} columns");
                }
            }
        }

        #[test]
        fn rows_without_common_columns_are_written_as_json() {
            let json =
                serde_json::value::to_raw_value(&json!([{"a": 1}, {"b": 1}, {"c": 1}])).unwrap();
            let result = structured_with(json, JsonText::Table);
            let text = serde_json::to_value(&result).unwrap();
            assert_eq!(text["content"][0]["text"], r#"[{"a":1},{"b":1},{"c":1}]"#);
        }
    }

    mod prompt {
        use crate::handler::output::*;
        use crate::types::Role;

        fn roles(value: impl IntoPromptResult) -> Vec<(Role, String)> {
            let messages = value.into_prompt_result().unwrap().messages;
            let text = |content| match content {
                ContentBlock::Text(text) => text.text,
                other => format!("{other:?}"),
            };
            messages
                .into_iter()
                .map(|message| (message.role, text(message.content)))
                .collect()
        }

        #[test]
        fn text_is_one_message_from_the_user() {
            let expected = vec![(Role::User, "a".to_owned())];
            assert_eq!(roles("a"), expected);
            assert_eq!(roles(String::from("a")), expected);
            assert_eq!(roles(Cow::Borrowed("a")), expected);
            assert_eq!(roles(Box::<str>::from("a")), expected);
            assert_eq!(roles(TextContent::new("a")), expected);
            assert_eq!(roles(Ok::<_, String>(["a"])), expected);
            assert_eq!(
                roles(GetPromptResult::new(vec![PromptMessage::user("a")])),
                expected
            );
        }

        #[test]
        fn messages_and_content_can_be_mixed_in_a_prompt() {
            let expected = vec![
                (Role::User, "a".to_owned()),
                (Role::Assistant, "b".to_owned()),
            ];
            assert_eq!(roles(("a", PromptMessage::assistant("b"))), expected);
            assert_eq!(
                roles(vec![
                    PromptMessage::user("a"),
                    PromptMessage::assistant("b")
                ]),
                expected
            );
        }
    }

    mod resource {
        use crate::handler::output::*;

        fn json(value: impl IntoResourceResult) -> String {
            serde_json::to_string(&value.into_resource_result().unwrap().contents).unwrap()
        }

        #[test]
        fn text_bytes_and_json_convert_into_resource_contents() {
            let text = r#"[{"uri":"","text":"a"}]"#;
            assert_eq!(json("a"), text);
            assert_eq!(json(String::from("a")), text);
            assert_eq!(json(Cow::Borrowed("a")), text);
            assert_eq!(json(Ok::<_, String>(Some("a"))), text);
            let blob = r#"[{"uri":"","blob":"AAE="}]"#;
            assert_eq!(json(vec![0_u8, 1]), blob);
            assert_eq!(json(Bytes::from_static(&[0, 1])), blob);
            assert_eq!(json(Json([1])), r#"[{"uri":"","text":"[1]"}]"#);
            let result = Json([1]).into_resource_result().unwrap();
            assert_eq!(result.default_mime_type(), Some("application/json"));
            assert_eq!(
                json([ResourceContents::text("a:", "a")]),
                r#"[{"uri":"a:","text":"a"}]"#
            );
        }

        #[test]
        fn none_from_a_resource_is_a_not_found_error() {
            let error = None::<String>.into_resource_result().unwrap_err();
            assert_eq!(format!("{error:?}"), "ResourceNotFound");
        }
    }
}
