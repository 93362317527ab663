//! Results whose types come from other crates. The text is the string that serde produces.

use serde::Serialize;
use serde_json::Value;

use crate::handler::handler_error::{HandlerError, HandlerErrorRepr};
use crate::handler::output::IntoToolResult;
use crate::types::CallToolResult;

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

fn serialized(value: &impl Serialize) -> Result<CallToolResult, HandlerError> {
    match serde_json::to_value(value) {
        Ok(Value::String(text)) => Ok(CallToolResult::text(text)),
        Ok(other) => Ok(CallToolResult::text(other.to_string())),
        Err(error) => Err(HandlerError(HandlerErrorRepr::Unwritable(error))),
    }
}
