//! Questions for the client, in the form that each protocol version requires.
//!
//! Version 2025-06-18 supports choice titles only as `enumNames`, supports defaults only for booleans, and does not
//! support multiple-choice fields; earlier versions do not support forms. Specification: `docs/requirements.md`,
//! section 4.6.

use serde_json::{Map, Value, json};

use crate::types::{
    Choice, ClientCapabilities, ClientFeature, Field, FieldFormat, FieldInput, Form, InputRequest,
    Role, SamplingContent, SamplingMessage, SamplingRequest,
};
use crate::{Era, ProtocolVersion};

/// Returns the method used to send a question.
#[must_use]
pub fn method(request: &InputRequest) -> &'static str {
    match request {
        InputRequest::Form { .. } | InputRequest::Url { .. } => "elicitation/create",
        InputRequest::Sample(_) => "sampling/createMessage",
        InputRequest::Roots => "roots/list",
        InputRequest::Forwarded { method, .. } => method,
    }
}

/// Returns the client features that a question requires.
#[must_use]
pub fn required_features(request: &InputRequest) -> &'static [ClientFeature] {
    match request {
        InputRequest::Form { .. } => &[ClientFeature::Elicitation],
        InputRequest::Url { .. } => &[ClientFeature::ElicitationUrl],
        InputRequest::Roots => &[ClientFeature::Roots],
        InputRequest::Sample(sample) if uses_tools(sample) => &[ClientFeature::SamplingTools],
        InputRequest::Sample(_) => &[ClientFeature::Sampling],
        InputRequest::Forwarded { method, params } => forwarded_features(method, params),
    }
}

/// Returns the client features required by a question that is already in its wire form.
fn forwarded_features(method: &str, params: &Value) -> &'static [ClientFeature] {
    let has = |member: &str| params.get(member).is_some();
    match method {
        "roots/list" => &[ClientFeature::Roots],
        "sampling/createMessage" if has("tools") || has("toolChoice") => {
            &[ClientFeature::SamplingTools]
        }
        "sampling/createMessage" => &[ClientFeature::Sampling],
        _ if params.get("mode").is_some_and(|mode| mode == "url") => {
            &[ClientFeature::ElicitationUrl]
        }
        _ => &[ClientFeature::Elicitation],
    }
}

/// Removes the optional parts of a question that the client does not support.
pub fn remove_unsupported(
    request: &mut InputRequest,
    capabilities: &ClientCapabilities,
    version: ProtocolVersion,
) {
    if let InputRequest::Sample(sample) = request
        // Older versions do not define a capability for context.
        && version >= ProtocolVersion::V2025_11_25
        && capabilities.sampling.as_ref().is_none_or(|sampling| sampling.context.is_none())
    {
        sample.include_context = None;
    }
}

fn uses_tools(sample: &SamplingRequest) -> bool {
    let has_tool_content = |message: &SamplingMessage| message.content.iter().any(is_tool_content);
    !sample.tools.is_empty()
        || sample.tool_choice.is_some()
        || sample.messages.iter().any(has_tool_content)
}

fn is_tool_content(content: &SamplingContent) -> bool {
    matches!(
        content,
        SamplingContent::ToolUse { .. } | SamplingContent::ToolResult { .. }
    )
}

/// Checks that a question is valid in every version so that mistakes are reported to the author before the question is
/// sent.
pub fn check(request: &InputRequest) -> Result<(), String> {
    match request {
        InputRequest::Url { url, .. } => check_url(url),
        InputRequest::Sample(sample) => {
            check_conversation(sample)?;
            let written = sampling_to_json(sample).map(drop);
            written.ok_or_else(|| "the sampling request is nested too deeply".into())
        }
        InputRequest::Form { form, .. } => check_fields(form),
        InputRequest::Roots | InputRequest::Forwarded { .. } => Ok(()),
    }
}

/// Checks that each field with choices offers at least one, and that the ranges of numbers can be written in a form.
fn check_fields(form: &Form) -> Result<(), String> {
    let problem = |field: &Field| match field.input() {
        FieldInput::One { choices, .. } | FieldInput::Many { choices, .. }
            if choices.is_empty() =>
        {
            Some("offers no choices")
        }
        FieldInput::Number {
            excludes_decimal: true,
            ..
        } => {
            Some("excludes the end of a range of decimal numbers, which a form cannot; write `..=`")
        }
        _ => None,
    };
    for (name, field) in form.fields() {
        if let Some(problem) = problem(field) {
            return Err(format!("the field `{name}` of the form {problem}"));
        }
    }
    Ok(())
}

/// Checks that a user may be sent to a URL. The URL must use `https`, or `http` on this machine, and must not contain
/// credentials.
fn check_url(url: &str) -> Result<(), String> {
    let is_clean = !url.chars().any(|c| c.is_whitespace() || c.is_control());
    let (scheme, rest) = url.split_once("://").unwrap_or_default();
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    };
    let is_local = matches!(host, "localhost" | "127.0.0.1" | "::1");
    let problem = if !is_clean || host.is_empty() {
        "is invalid"
    } else if authority.contains('@') {
        "contains credentials"
    } else if scheme.eq_ignore_ascii_case("https")
        || (scheme.eq_ignore_ascii_case("http") && is_local)
    {
        return Ok(());
    } else {
        "must begin with `https:`, or with `http:` if it is on this machine"
    };
    Err(format!("the URL to open {problem}"))
}

/// Checks that each message containing tool uses is followed by a message containing only their results.
fn check_conversation(sample: &SamplingRequest) -> Result<(), String> {
    let mut open: Vec<&str> = Vec::new();
    for message in &sample.messages {
        let mut results = Vec::new();
        for content in &message.content {
            if let SamplingContent::ToolResult { tool_use_id, .. } = content {
                results.push(tool_use_id.as_str());
            }
        }
        let alone = results.is_empty() || results.len() == message.content.len();
        if !alone || (!results.is_empty() && message.role != Role::User) {
            return Err("tool results must be in a user message that contains nothing else".into());
        }
        if !open.iter().all(|id| results.contains(id))
            || !results.iter().all(|id| open.contains(id))
        {
            return Err("each tool use must have its result in the next message".into());
        }
        open = message
            .content
            .iter()
            .filter_map(|content| match content {
                SamplingContent::ToolUse { id, .. } => Some(id.as_str()),
                _ => None,
            })
            .collect();
    }
    if open.is_empty() {
        Ok(())
    } else {
        Err("each tool use must have its result in the next message".into())
    }
}

/// Returns the `params` for a question. `id` identifies a URL elicitation in versions that require an id.
#[must_use]
pub fn params(request: &InputRequest, version: ProtocolVersion, id: &str) -> Value {
    match request {
        InputRequest::Form { message, form } => {
            let mut params = json!({ "message": message });
            if version >= ProtocolVersion::V2025_11_25 {
                set_member(&mut params, "mode", "form");
            }
            set_member(&mut params, "requestedSchema", form_schema(form, version));
            params
        }
        InputRequest::Url { message, url } => {
            let mut params = json!({"mode": "url", "message": message, "url": url});
            if version.era() == Era::Legacy {
                set_member(&mut params, "elicitationId", id);
            }
            params
        }
        InputRequest::Sample(sample) => sampling_params(sample, version),
        InputRequest::Roots => json!({}),
        InputRequest::Forwarded { params, .. } => params.clone(),
    }
}

fn sampling_params(sample: &SamplingRequest, version: ProtocolVersion) -> Value {
    let mut sample = sample.clone();
    if version < ProtocolVersion::V2025_11_25 {
        // These versions allow only one block per message.
        let split = |message: SamplingMessage| {
            let role = message.role;
            let blocks = message.content.into_iter();
            blocks.map(move |block| SamplingMessage::new(role, block))
        };
        sample.messages = sample.messages.into_iter().flat_map(split).collect();
    }
    for content in sample
        .messages
        .iter_mut()
        .flat_map(|message| &mut message.content)
    {
        if version < ProtocolVersion::V2025_03_26
            && let SamplingContent::Audio(audio) = content
        {
            *content = format!("[audio, {}, which cannot be sent]", audio.mime_type).into();
        }
        if version < ProtocolVersion::V2025_06_18 {
            match content {
                SamplingContent::Text(text) => text.meta = None,
                SamplingContent::Image(image) => image.meta = None,
                SamplingContent::Audio(audio) => audio.meta = None,
                _ => {}
            }
        }
    }
    // This cannot fail, because the question has already been checked.
    sampling_to_json(&sample).unwrap_or_default()
}

/// Converts the request to a value by serializing it to text and parsing the result. All other code serializes these
/// types only to text, so a direct conversion would require a lot of additional code. Returns `None` if the text is
/// nested too deeply to be parsed.
fn sampling_to_json(sample: &SamplingRequest) -> Option<Value> {
    let text = serde_json::to_string(sample).ok()?;
    serde_json::from_str(&text).ok()
}

/// Returns the schema for a form.
fn form_schema(form: &Form, version: ProtocolVersion) -> Value {
    let properties: Map<String, Value> = form
        .fields
        .iter()
        .map(|(name, field)| (name.clone(), field_schema(field, version)))
        .collect();
    let required: Vec<&str> = form
        .fields
        .iter()
        .filter(|(_, field)| field.required)
        .map(|(name, _)| name.as_str())
        .collect();
    let mut schema = json!({"type": "object", "properties": properties});
    if !required.is_empty() {
        set_member(&mut schema, "required", required);
    }
    schema
}

fn field_schema(field: &Field, version: ProtocolVersion) -> Value {
    let is_old = version < ProtocolVersion::V2025_11_25;
    let mut description = field.description.clone();
    let mut property = match &field.input {
        FieldInput::Boolean => json!({"type": "boolean"}),
        FieldInput::Text { min, max, format } => {
            let mut text = json!({"type": "string"});
            set_optional_member(&mut text, "minLength", *min);
            set_optional_member(&mut text, "maxLength", *max);
            set_optional_member(&mut text, "format", format.map(FieldFormat::as_str));
            text
        }
        FieldInput::Number {
            integer, min, max, ..
        } => {
            let mut number = json!({"type": if *integer { "integer" } else { "number" }});
            set_optional_member(&mut number, "minimum", min.map(shortest_number));
            set_optional_member(&mut number, "maximum", max.map(shortest_number));
            number
        }
        FieldInput::One { choices, names } => {
            let is_titled = choices.iter().any(|choice| choice.title.is_some());
            if is_titled && !is_old && !names {
                json!({"type": "string", "oneOf": titled_choices(choices)})
            } else {
                let values: Vec<_> = choices.iter().map(|choice| &choice.value).collect();
                let mut one = json!({"type": "string", "enum": values});
                if is_titled {
                    let titles = choices.iter().map(Choice::title_or_value);
                    set_member(&mut one, "enumNames", titles.collect::<Vec<_>>());
                }
                one
            }
        }
        FieldInput::Many { choices, .. } if is_old => {
            let values: Vec<_> = choices.iter().map(|choice| choice.value.as_str()).collect();
            let hint = format!("any of {}, separated by commas", values.join(", "));
            description = Some(match description {
                Some(text) => format!("{text} ({hint})"),
                None => hint,
            });
            json!({"type": "string"})
        }
        FieldInput::Many { choices, min, max } => {
            let items = if choices.iter().any(|choice| choice.title.is_some()) {
                json!({"anyOf": titled_choices(choices)})
            } else {
                let values: Vec<_> = choices.iter().map(|choice| &choice.value).collect();
                json!({"type": "string", "enum": values})
            };
            let mut many = json!({"type": "array", "items": items});
            set_optional_member(&mut many, "minItems", *min);
            set_optional_member(&mut many, "maxItems", *max);
            many
        }
    };
    set_optional_member(&mut property, "title", field.title.clone());
    set_optional_member(&mut property, "description", description);
    let is_boolean = matches!(field.input, FieldInput::Boolean);
    if !is_old || is_boolean {
        set_optional_member(&mut property, "default", field.default.clone());
    }
    property
}

fn titled_choices(choices: &[Choice]) -> Vec<Value> {
    let titled = choices.iter();
    titled
        .map(|choice| json!({"const": choice.value, "title": choice.title_or_value()}))
        .collect()
}

/// Returns the number as JSON, written as an integer if it has no fractional part.
fn shortest_number(number: f64) -> Value {
    const MAX_EXACT_INTEGER: f64 = 9_007_199_254_740_992.0;
    if number.fract() == 0.0 && number.abs() < MAX_EXACT_INTEGER {
        #[allow(clippy::cast_possible_truncation, reason = "a whole number below 2^53")]
        return json!(number as i64);
    }
    json!(number)
}

fn set_member(object: &mut Value, name: &str, value: impl Into<Value>) {
    if let Value::Object(members) = object {
        members.insert(name.to_owned(), value.into());
    }
}

fn set_optional_member(object: &mut Value, name: &str, value: Option<impl Into<Value>>) {
    if let Some(value) = value {
        set_member(object, name, value);
    }
}

#[cfg(test)]
mod tests;
