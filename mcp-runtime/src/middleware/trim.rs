//! Limits the text that a tool adds to a model's context.

use crate::middleware::{Call, CallOutput, Kind, MiddlewareFuture, Next};
use crate::types::{CallToolResult, ContentBlock};
use crate::{HandlerError, ProtocolVersion};

/// Creates middleware that limits the text in each tool result to `max_bytes`. The rest, including further text blocks,
/// is replaced with a single note that tells the model how much is missing.
///
/// A message that a handler [exposes](crate::HandlerError::exposed), as `bail!` does, is limited in the same way.
/// Structured content remains complete for programs that read it; only the accompanying text is limited. Images, audio
/// and embedded resources remain unchanged, as do the results of tools with the `spill` option, because the text that
/// they leave out is kept. To refuse large results instead, use the `max_output` option.
pub fn trim_text(
    max_bytes: usize,
) -> impl Fn(Call, Next) -> MiddlewareFuture + Send + Sync + 'static {
    move |call, next| {
        Box::pin(async move {
            let version = call.context().request().protocol_version();
            let is_tool = call.kind() == Kind::Tool;
            let is_limited = call.limits_its_text();
            match next.run(call).await {
                Ok(CallOutput::Tool(mut result)) if !is_limited => {
                    trim_result(&mut result, version, max_bytes);
                    Ok(CallOutput::Tool(result))
                }
                Err(mut error) if is_tool => {
                    trim_error(&mut error, max_bytes);
                    Err(error)
                }
                output => output,
            }
        })
    }
}

fn trim_result(result: &mut CallToolResult, version: ProtocolVersion, max_bytes: usize) {
    let wants_none = result.is_structured_only() && version.has_structured_content();
    let lacks_text = result.content.is_empty() || result.is_structured_only();
    // Normally, the text of structured content is not added until the result is sent.
    if let (true, Some(structured)) = (lacks_text && !wants_none, &result.structured_content)
        && structured.get().len() > max_bytes
    {
        result.content = vec![ContentBlock::text(structured.get())];
    }
    let mut room = max_bytes;
    let mut missing: usize = 0;
    // The first block of text that does not fit, which will contain the note.
    let mut trimmed = None;
    let mut position: usize = 0;
    result.content.retain_mut(|block| {
        let is_kept = match block {
            ContentBlock::Text(text) if trimmed.is_none() => {
                let length = text.text.len();
                text.text.truncate(text.text.floor_char_boundary(room));
                room = room.saturating_sub(length);
                missing = length.saturating_sub(text.text.len());
                if missing > 0 {
                    trimmed = Some(position);
                }
                true
            }
            ContentBlock::Text(text) => {
                missing = missing.saturating_add(text.text.len());
                false
            }
            _ => true,
        };
        position = position.saturating_add(usize::from(is_kept));
        is_kept
    });
    if let Some(ContentBlock::Text(text)) = trimmed.and_then(|at| result.content.get_mut(at)) {
        text.text.push_str(&truncation_note(missing));
    }
}

fn trim_error(error: &mut HandlerError, max_bytes: usize) {
    if let Some(text) = error.exposed_text_mut() {
        let length = text.len();
        text.truncate(text.floor_char_boundary(max_bytes));
        let missing = length.saturating_sub(text.len());
        if missing > 0 {
            text.push_str(&truncation_note(missing));
        }
    }
}

fn truncation_note(missing: usize) -> String {
    format!("\n[{missing} more bytes were omitted; ask for less]")
}
