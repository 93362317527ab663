//! Limits the text that a tool adds to a model's context.

use crate::ProtocolVersion;
use crate::middleware::{Call, CallOutput, MiddlewareFuture, Next};
use crate::types::{CallToolResult, ContentBlock};

/// Creates middleware that limits the text in the result of each tool to `max_bytes`. The rest is replaced with a note
/// that tells the model how much is missing.
///
/// Structured content stays complete, for programs that read it; the text beside it is limited. Images, audio and
/// embedded resources stay as they are. Use the option `max_output` to refuse large results instead.
pub fn trim_text(
    max_bytes: usize,
) -> impl Fn(Call, Next) -> MiddlewareFuture + Send + Sync + 'static {
    move |call, next| {
        Box::pin(async move {
            let version = call.context().request().protocol_version();
            let mut output = next.run(call).await?;
            if let CallOutput::Tool(result) = &mut output {
                trim_result(result, version, max_bytes);
            }
            Ok(output)
        })
    }
}

fn trim_result(result: &mut CallToolResult, version: ProtocolVersion, max_bytes: usize) {
    let wants_none = result.is_structured_only() && version.has_structured_content();
    let lacks_text = result.content.is_empty() || result.is_structured_only();
    // The text of structured content is otherwise added when the result is sent.
    if let (true, Some(structured)) = (lacks_text && !wants_none, &result.structured_content)
        && structured.get().len() > max_bytes
    {
        result.content = vec![ContentBlock::text(structured.get())];
    }
    let mut room = max_bytes;
    for block in &mut result.content {
        let ContentBlock::Text(text) = block else {
            continue;
        };
        let text = &mut text.text;
        let end = text.floor_char_boundary(room);
        let missing = text.len().saturating_sub(end);
        room = room.saturating_sub(text.len());
        if missing > 0 {
            text.truncate(end);
            let note = format!("\n[{missing} more bytes were left out; ask for less]");
            text.push_str(&note);
        }
    }
}
