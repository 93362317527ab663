//! A server with everything that the official conformance suite expects: `conformance --http 127.0.0.1:PORT`.
//!
//! `tests/conformance/run` drives it. `tests/conformance/FIXTURE.md` specifies the behaviour of each tool.

use std::time::Duration;

use mcp_runtime::prelude::*;
use mcp_runtime::types::{Field, Form, LoggingLevel, ResourceContents};
use tokio::time::sleep;

/// An image of one pixel.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89\0\0\0\rIDATx\xdac\xfc\
                     \xcf\xc0P\x0f\0\x04\x85\x01\x80\x84\xa9\x8c!\0\0\0\0IEND\xaeB`\x82";
/// Audio of zero length.
const WAV: &[u8] =
    b"RIFF$\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0@\x1f\0\0@\x1f\0\0\x01\0\x08\0data\0\0\0\0";

const PAUSE: Duration = Duration::from_millis(50);

/// Returns a string.
#[tool(read_only)]
fn test_simple_text() -> &'static str {
    "This is a simple text response for testing."
}

/// Returns an image.
#[tool(read_only)]
fn test_image_content() -> ContentBlock {
    ContentBlock::image(PNG, "image/png")
}

/// Returns audio.
#[tool(read_only)]
fn test_audio_content() -> ContentBlock {
    ContentBlock::audio(WAV, "audio/wav")
}

/// Returns a resource.
#[tool(read_only)]
fn test_embedded_resource() -> ContentBlock {
    let text = "This is an embedded resource content.";
    let contents = ResourceContents::text("test://embedded-resource", text);
    ContentBlock::resource(contents.with_mime_type("text/plain"))
}

/// Returns a string, an image and a resource.
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

/// Fails with a message for the model.
#[tool]
fn test_error_handling() -> Result<String> {
    bail!("This tool intentionally returns an error for testing")
}

/// Reports progress.
#[tool]
async fn test_tool_with_progress(ctx: &Context) -> &'static str {
    for done in [0, 50, 100] {
        ctx.progress((done, 100));
        sleep(PAUSE).await;
    }
    "Done."
}

/// Logs its steps.
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

/// Closes the connection of its client, and answers once the client has reconnected.
#[tool]
async fn test_reconnection(ctx: &Context) -> &'static str {
    ctx.close_stream();
    sleep(2 * PAUSE).await;
    "Reconnected."
}

/// A postal address.
#[data(input)]
struct Address {
    street: Option<String>,
    city: Option<String>,
}

/// Takes contact details, described by a schema with many features of JSON Schema.
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

/// Requires a client that supports sampling.
#[tool(requires(sampling))]
fn test_missing_capability() -> &'static str {
    "The client can sample."
}

/// Logs a message, for clients that want logs.
#[tool]
fn test_logging_tool(ctx: &Context) -> &'static str {
    ctx.info("A log message");
    "Logged."
}

/// Notifies clients that the list of tools has changed.
#[tool]
fn test_trigger_tool_change(ctx: &Context) -> &'static str {
    ctx.server().notify().tools_changed();
    "Changed."
}

/// Notifies clients that the list of prompts has changed.
#[tool]
fn test_trigger_prompt_change(ctx: &Context) -> &'static str {
    ctx.server().notify().prompts_changed();
    "Changed."
}

/// The identity of a user.
#[derive(Elicit)]
struct User {
    /// The name of the user
    username: String,
    /// The email address of the user
    #[elicit(format = "email")]
    email: String,
}

/// The name of a user.
#[derive(Elicit)]
struct Name {
    /// The name to use
    name: String,
}

/// A confirmation.
#[derive(Elicit)]
struct Confirmation {
    ok: bool,
}

/// Asks the client's model.
#[tool]
async fn test_sampling(ctx: &Context, prompt: String) -> Result<String> {
    let answer = ctx
        .sample(SamplingRequest::user(prompt).max_tokens(100))
        .await?;
    Ok(format!("LLM response: {}", answer.text()))
}

/// Asks the user who they are.
#[tool]
async fn test_elicitation(ctx: &Context, message: String) -> Result<String> {
    let User { username, email } = ctx.elicit(message).await?;
    Ok(format!("User response: {username}, {email}"))
}

/// Asks with a form that has default values.
#[tool]
async fn test_elicitation_sep1034_defaults(ctx: &Context) -> Result<String> {
    let form = Form::new()
        .field("name", Field::text().default("John Doe"))
        .field("age", Field::integer().default(30))
        .field("score", Field::number().default(95.5))
        .field(
            "status",
            Field::one_of(["active", "inactive", "pending"]).default("active"),
        )
        .field("verified", Field::boolean().default(true));
    let content = ctx
        .elicit_form("Please look through the form", form)
        .await?;
    Ok(format!(
        "Elicitation completed: action=accept, content={content:?}"
    ))
}

/// Asks with every kind of choice.
#[tool]
async fn test_elicitation_sep1330_enums(ctx: &Context) -> Result<String> {
    let plain = ["option1", "option2", "option3"];
    let titled = [
        ("value1", "First"),
        ("value2", "Second"),
        ("value3", "Third"),
    ];
    let legacy = [
        ("opt1", "Option One"),
        ("opt2", "Option Two"),
        ("opt3", "Option Three"),
    ];
    let form = Form::new()
        .field("untitledSingle", Field::one_of(plain))
        .field("titledSingle", Field::one_of(titled))
        .field("legacyEnum", Field::one_of(legacy).enum_names())
        .field("untitledMulti", Field::many_of(plain))
        .field("titledMulti", Field::many_of(titled));
    let content = ctx.elicit_form("Please choose", form).await?;
    Ok(format!(
        "Elicitation completed: action=accept, content={content:?}"
    ))
}

/// Asks the user.
#[tool]
async fn test_streaming_elicitation(ctx: &Context) -> Result<String> {
    let Name { name } = ctx.elicit("What is your name?").await?;
    Ok(format!("Hello, {name}!"))
}

/// Asks the user for a name.
#[tool]
async fn test_input_required_result_elicitation(ctx: &Context) -> Result<String> {
    let Name { name } = ctx.elicit("What is your name?").key("user_name").await?;
    Ok(format!("Hello, {name}!"))
}

/// Asks the model for a capital city.
#[tool]
async fn test_input_required_result_sampling(ctx: &Context) -> Result<String> {
    let question = SamplingRequest::user("What is the capital of France?").max_tokens(100);
    Ok(ctx.sample(question).key("capital_question").await?.text())
}

/// Asks for the roots of the client.
#[tool]
async fn test_input_required_result_list_roots(ctx: &Context) -> Result<String> {
    let roots = ctx.roots().key("client_roots").await?;
    Ok(format!("{roots:?}"))
}

/// Keeps state between two rounds.
#[tool]
async fn test_input_required_result_request_state(ctx: &Context) -> Result<String> {
    let Confirmation { ok } = ctx.elicit("Go on?").key("confirm").await?;
    Ok(format!("state-ok: {ok}"))
}

/// Asks three things at once.
#[tool]
async fn test_input_required_result_multiple_inputs(ctx: &Context) -> Result<String> {
    let name = ctx.elicit::<Name>("What is your name?").key("user_name");
    let greeting = ctx
        .sample(SamplingRequest::user("Generate a greeting").max_tokens(50))
        .key("greeting");
    let (name, greeting, roots) = ctx
        .ask((name, greeting, ctx.roots().key("client_roots")))
        .await?;
    Ok(format!("{} {} {}", name.name, greeting.text(), roots.len()))
}

/// The preferences of a user.
#[derive(Elicit)]
struct Favourite {
    color: String,
}

/// Asks two questions, one after the other.
#[tool]
async fn test_input_required_result_multi_round(ctx: &Context) -> Result<String> {
    let Name { name } = ctx
        .elicit("Step 1: What is your name?")
        .key("step1")
        .await?;
    let Favourite { color } = ctx
        .elicit("Step 2: What is your favorite color?")
        .key("step2")
        .await?;
    Ok(format!("{name} likes {color}."))
}

/// Detects state that was tampered with.
#[tool]
async fn test_input_required_result_tampered_state(ctx: &Context) -> Result<String> {
    let Confirmation { ok } = ctx.elicit("Go on?").key("confirm").await?;
    Ok(format!("Confirmed: {ok}"))
}

/// Asks only questions that the client supports.
#[tool]
async fn test_input_required_result_capabilities(ctx: &Context) -> Result<String> {
    if ctx.can_sample() {
        return Ok(ctx
            .sample(SamplingRequest::user("Say hello.").max_tokens(50))
            .await?
            .text());
    }
    let Name { name } = ctx.elicit("What is your name?").await?;
    Ok(name)
}

/// The topic that the user has in mind.
#[derive(Elicit)]
struct UserContext {
    context: String,
}

/// Asks the user before it returns its messages.
#[prompt]
async fn test_input_required_result_prompt(ctx: &Context) -> Result<String> {
    let asked = ctx.elicit("What is it about?").key("user_context");
    let UserContext { context } = asked.await?;
    Ok(format!("Please help with: {context}"))
}

/// Returns a single message.
#[prompt]
fn test_simple_prompt() -> &'static str {
    "This is a simple prompt for testing."
}

/// Repeats its arguments.
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
    /// The URI of the resource
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

/// Shows an image.
#[prompt]
fn test_prompt_with_image() -> Vec<PromptMessage> {
    vec![
        PromptMessage::user(ContentBlock::image(PNG, "image/png")),
        PromptMessage::user("Please analyze the image above."),
    ]
}

/// A string.
#[resource("test://static-text", mime_type = "text/plain")]
fn static_text() -> &'static str {
    "This is the content of the static text resource."
}

/// An image.
#[resource("test://static-binary", mime_type = "image/png")]
fn static_binary() -> Vec<u8> {
    PNG.to_vec()
}

/// A string that clients can subscribe to.
#[resource("test://watched-resource", mime_type = "text/plain")]
fn watched() -> &'static str {
    "This is the content of the watched resource."
}

/// Data with this id.
#[resource_template("test://template/{id}/data", mime_type = "application/json")]
fn template_data(id: &str) -> String {
    json!({"id": id, "templateTest": true, "data": format!("Data for ID: {id}")}).to_string()
}

#[mcp_runtime::main]
async fn main() -> Result<(), mcp_runtime::Error> {
    new_server!().run().await
}
