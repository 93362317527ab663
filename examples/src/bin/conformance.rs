//! What the official conformance suite wants to see in a server: `conformance --http 127.0.0.1:PORT`.
//!
//! `tests/conformance/run` drives it. What each tool has to do is written down in `tests/conformance/FIXTURE.md`.

#![warn(unused_crate_dependencies)]

use std::time::Duration;

use mcp_runtime::prelude::*;
use mcp_runtime::types::{LoggingLevel, ResourceContents};
use tokio::time::sleep;

/// A picture of one pixel.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89\0\0\0\rIDATx\xdac\xfc\
                     \xcf\xc0P\x0f\0\x04\x85\x01\x80\x84\xa9\x8c!\0\0\0\0IEND\xaeB`\x82";
/// A sound of no length.
const WAV: &[u8] =
    b"RIFF$\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0@\x1f\0\0@\x1f\0\0\x01\0\x08\0data\0\0\0\0";

const PAUSE: Duration = Duration::from_millis(50);

/// Answers with a text.
#[tool(read_only)]
fn test_simple_text() -> &'static str {
    "This is a simple text response for testing."
}

/// Answers with a picture.
#[tool(read_only)]
fn test_image_content() -> ContentBlock {
    ContentBlock::image(PNG, "image/png")
}

/// Answers with a sound.
#[tool(read_only)]
fn test_audio_content() -> ContentBlock {
    ContentBlock::audio(WAV, "audio/wav")
}

/// Answers with a resource.
#[tool(read_only)]
fn test_embedded_resource() -> ContentBlock {
    let text = "This is an embedded resource content.";
    let contents = ResourceContents::text("test://embedded-resource", text);
    ContentBlock::resource(contents.with_mime_type("text/plain"))
}

/// Answers with a text, a picture and a resource.
#[tool(read_only)]
fn test_multiple_content_types() -> Vec<ContentBlock> {
    let contents = ResourceContents::text(
        "test://mixed-content-resource",
        r#"{"test":"data","value":123}"#,
    );
    vec![
        ContentBlock::text("Multiple content types test:"),
        ContentBlock::image(PNG, "image/png"),
        ContentBlock::resource(contents.with_mime_type("application/json")),
    ]
}

/// Fails so that the model can read why.
#[tool]
fn test_error_handling() -> Result<String> {
    bail!("This tool intentionally returns an error for testing")
}

/// Says how far it is.
#[tool]
async fn test_tool_with_progress(ctx: &Context) -> &'static str {
    for done in [0, 50, 100] {
        ctx.progress((done, 100));
        sleep(PAUSE).await;
    }
    "Done."
}

/// Says what it does.
#[tool]
async fn test_tool_with_logging(ctx: &Context) -> &'static str {
    for text in [
        "Tool execution started",
        "Tool processing data",
        "Tool execution completed",
    ] {
        ctx.log(LoggingLevel::Info, text);
        sleep(PAUSE).await;
    }
    "Done."
}

/// Lets its client's connection go, and answers when the client is back.
#[tool]
async fn test_reconnection(ctx: &Context) -> &'static str {
    ctx.close_stream();
    sleep(2 * PAUSE).await;
    "Reconnected."
}

/// Where somebody lives.
#[data(input)]
struct Address {
    street: Option<String>,
    city: Option<String>,
}

/// Takes a way to contact somebody, described by a schema with all that JSON Schema has.
#[tool(read_only, schema = contact_schema())]
fn json_schema_2020_12_tool(
    name: Option<String>,
    address: Option<Address>,
    #[arg(name = "contactMethod")] contact_method: Option<String>,
    phone: Option<String>,
    email: Option<String>,
) -> String {
    let place = address.and_then(|address| address.city.or(address.street));
    let parts = [name, place, contact_method, phone, email];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn contact_schema() -> mcp_runtime::serde_json::Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {"address": {"$anchor": "addressDef", "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"},
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": false,
    })
}

/// Takes a value that a header mirrors.
#[tool(read_only)]
fn test_custom_header(#[arg(header = "Value")] value: String) -> String {
    value
}

/// Needs a client that can sample.
#[tool(requires(sampling))]
fn test_missing_capability() -> &'static str {
    "The client can sample."
}

/// Logs something, for clients that want to know.
#[tool]
fn test_logging_tool(ctx: &Context) -> &'static str {
    ctx.info("A log message");
    "Logged."
}

/// Says that the list of tools has changed.
#[tool]
fn test_trigger_tool_change(ctx: &Context) -> &'static str {
    ctx.server().notify().tools_changed();
    "Changed."
}

/// Says that the list of prompts has changed.
#[tool]
fn test_trigger_prompt_change(ctx: &Context) -> &'static str {
    ctx.server().notify().prompts_changed();
    "Changed."
}

/// Says one thing.
#[prompt]
fn test_simple_prompt() -> &'static str {
    "This is a simple prompt for testing."
}

/// Says what it was given.
#[prompt]
fn test_prompt_with_arguments(
    /// First argument
    #[complete(values)]
    arg1: &str,
    /// Second argument
    arg2: &str,
) -> String {
    format!("Prompt with arguments: arg1='{arg1}', arg2='{arg2}'")
}

/// Values for the first argument.
#[completer]
fn values(_partial: &str) -> Vec<&'static str> {
    vec!["test1", "test2", "other"]
}

/// Shows a resource.
#[prompt]
fn test_prompt_with_embedded_resource(
    /// Its address
    #[arg(name = "resourceUri")]
    resource_uri: String,
) -> Vec<PromptMessage> {
    let contents = ResourceContents::text(resource_uri, "Embedded resource content for testing.");
    vec![
        PromptMessage::user(ContentBlock::resource(
            contents.with_mime_type("text/plain"),
        )),
        PromptMessage::user("Please process the embedded resource above."),
    ]
}

/// Shows a picture.
#[prompt]
fn test_prompt_with_image() -> Vec<PromptMessage> {
    vec![
        PromptMessage::user(ContentBlock::image(PNG, "image/png")),
        PromptMessage::user("Please analyze the image above."),
    ]
}

/// A text.
#[resource("test://static-text", mime_type = "text/plain")]
fn static_text() -> &'static str {
    "This is the content of the static text resource."
}

/// A picture.
#[resource("test://static-binary", mime_type = "image/png")]
fn static_binary() -> Vec<u8> {
    PNG.to_vec()
}

/// A text that clients may follow.
#[resource("test://watched-resource", mime_type = "text/plain")]
fn watched() -> &'static str {
    "This is the content of the watched resource."
}

/// Data of one id.
#[resource_template("test://template/{id}/data", mime_type = "application/json")]
fn template_data(id: &str) -> String {
    json!({"id": id, "templateTest": true, "data": format!("Data for ID: {id}")}).to_string()
}

#[mcp_runtime::main]
async fn main() -> Result<(), mcp_runtime::Error> {
    new_server!().run().await
}
