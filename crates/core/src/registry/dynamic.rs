//! Converts definitions created at run time into callables.

use std::mem;

use mcp_schema::check::Validator;
use mcp_schema::template::UriTemplate;
use serde_json::{Map, Value};

use crate::context::AwaitedValues;
use crate::handler::decode::find_headers;
use crate::handler::dynamic::{
    DynamicHandler, DynamicItem, DynamicPrompt, DynamicResource, DynamicTemplate, DynamicTool,
};
use crate::handler::item_option::ItemOption;
use crate::handler::option::ToolUseFormat;
use crate::handler::rules;
use crate::registry::callable::{
    ArgumentRules, Callable, Completer, Handler, ItemDetails, OutputChecker, TemplateLister,
};
use crate::registry::declared::{ServerRules, to_raw_json};
use crate::registry::draft::CallableDraft;

/// Converts a definition of any kind.
///
/// # Errors
///
/// Returns all problems with the definition, on one line.
pub(super) fn dynamic_callable(item: DynamicItem, rules: &ServerRules) -> Result<Callable, String> {
    let list = item.list();
    let (noun, name) = (list.noun(), list.lookup_key(item.name()).into_owned());
    let made = match item {
        DynamicItem::Tool(definition) => {
            let allowed = rules
                .check_not_reserved(&name)
                .map_err(|problem| vec![problem]);
            allowed.and_then(|()| convert_tool(&name, definition, rules))
        }
        DynamicItem::Prompt(definition) => prompt_callable(&name, definition, rules),
        DynamicItem::Resource(definition) => resource_callable(&name, definition, rules),
        DynamicItem::Template(definition) => template_callable(&name, definition, rules),
    };
    made.map_err(|problems| format!("{noun} `{name}`: {}", problems.join("; ")))
}

/// Converts a tool that is built into the framework.
///
/// # Errors
///
/// Returns all problems with the definition, on one line.
pub(super) fn tool_callable(mut definition: DynamicTool) -> Result<Callable, String> {
    // Through such a tool, a page could reach tools that are only for models.
    let mut meta = Map::new();
    inventory::iter::<ToolUseFormat>().for_each(|format| (format.write_for_models)(&mut meta));
    let meta = ItemOption::Meta(Value::Object(meta).into());
    definition.handler.options.push(meta);
    definition.handler.needs_state = false;
    let name = definition.name.clone();
    let made = convert_tool(&name, definition, &ServerRules::default());
    made.map_err(|problems| format!("tool `{name}`: {}", problems.join("; ")))
}

/// Converts a resource template that is built into the framework.
///
/// # Errors
///
/// Returns all problems with the definition, on one line.
pub(crate) fn built_in_template(mut definition: DynamicTemplate) -> Result<Callable, String> {
    definition.handler.needs_state = false;
    let name = definition.uri_template.clone();
    let made = template_callable(&name, definition, &ServerRules::default());
    made.map_err(|problems| format!("template `{name}`: {}", problems.join("; ")))
}

/// Converts a tool of an author's source.
///
/// # Errors
///
/// Returns all problems with the definition, on one line.
pub(super) fn sourced_tool(
    definition: DynamicTool,
    rules: &ServerRules,
) -> Result<Callable, String> {
    let name = definition.name.clone();
    let unfit = definition
        .handler
        .options
        .iter()
        .filter_map(|option| match option {
            ItemOption::Attached(option) => Some(option.name()),
            ItemOption::Rate(_) => Some("rate"),
            _ => None,
        });
    let mut problems: Vec<String> = unfit
        .map(|option| format!("a tool of a source cannot have `{option}`"))
        .collect();
    match convert_tool(&name, definition, rules) {
        Err(more) => problems.extend(more),
        Ok(tool) if tool.mirrors_arguments() => {
            problems.push("a tool of a source cannot mirror arguments in headers".to_owned());
        }
        Ok(tool) if problems.is_empty() => return Ok(tool),
        Ok(_) => {}
    }
    Err(problems.join("; "))
}

fn convert_tool(
    name: &str,
    mut definition: DynamicTool,
    rules: &ServerRules,
) -> Result<Callable, Vec<String>> {
    let (input_schema, output_schema) = (definition.input_schema, definition.output_schema);
    let mut draft = CallableDraft::new(mem::take(&mut definition.handler.options), rules);
    let problems = &mut draft.problems;
    let unfitting = draft.adapted.no_output_schema;
    let unfitting = unfitting.filter(|_| output_schema.is_some());
    problems.extend(unfitting.map(str::to_owned));
    problems.extend(rules::tool_name(name).into_result().err());
    if input_schema.get("type").and_then(Value::as_str) != Some("object") {
        problems.push("the input schema must be an object with `\"type\": \"object\"`".into());
    }
    let input_text = to_raw_json(&input_schema, problems);
    let headers = find_headers(&input_schema, problems);
    let validator = Validator::new(input_schema).map_err(|error| format!("input schema: {error}"));
    let validator = validator.map_err(|problem| problems.push(problem)).ok();
    let input = validator.map(|validator| ArgumentRules { validator, headers });
    let output_text = output_schema
        .as_ref()
        .and_then(|it| to_raw_json(it, problems));
    let outputs = output_schema.and_then(|schema| {
        Validator::new(schema)
            .map_err(|error| problems.push(format!("output schema: {error}")))
            .ok()
    });
    let outputs = OutputChecker::for_written_schema(output_text.as_deref(), outputs);
    let details = input_text.map(|input_text| ItemDetails::Tool {
        tool: draft.tool(name, input_text, output_text),
        outputs,
    });
    finish(draft, name, details, definition.handler, input)
}

fn prompt_callable(
    name: &str,
    mut definition: DynamicPrompt,
    rules: &ServerRules,
) -> Result<Callable, Vec<String>> {
    let arguments = definition.arguments;
    let mut draft = CallableDraft::new(mem::take(&mut definition.handler.options), rules);
    if name.is_empty() {
        draft.problems.push("the name is empty".into());
    }
    for argument in &arguments {
        let name = &argument.name;
        if name.is_empty() {
            let problem = "the name of an argument is empty".into();
            draft.problems.push(problem);
        } else if draft.completions.find(name).is_some() {
            let problem = format!("argument `{name}` is defined twice");
            draft.problems.push(problem);
        }
        draft.completions.push(name, Completer::Nothing);
    }
    complete(&mut draft, "argument");
    let details = ItemDetails::Prompt(draft.prompt(name, arguments));
    finish(draft, name, Some(details), definition.handler, None)
}

fn resource_callable(
    name: &str,
    mut definition: DynamicResource,
    rules: &ServerRules,
) -> Result<Callable, Vec<String>> {
    let mut draft = CallableDraft::new(mem::take(&mut definition.handler.options), rules);
    draft.problems.extend(rules::uri(name).into_result().err());
    let details = ItemDetails::Resource(draft.resource(name, &definition.name));
    finish(draft, name, Some(details), definition.handler, None)
}

/// Converts a method of an extension.
///
/// # Errors
///
/// Returns all problems with its limits and access rules.
pub(crate) fn method_callable(
    name: &str,
    mut handler: DynamicHandler,
) -> Result<Callable, Vec<String>> {
    let draft = CallableDraft::new(mem::take(&mut handler.options), &ServerRules::default());
    finish(draft, name, Some(ItemDetails::Method), handler, None)
}

fn template_callable(
    name: &str,
    mut definition: DynamicTemplate,
    rules: &ServerRules,
) -> Result<Callable, Vec<String>> {
    let mut draft = CallableDraft::new(mem::take(&mut definition.handler.options), rules);
    let mut pattern = match UriTemplate::parse(name) {
        Ok(pattern) => pattern,
        Err(problem) => {
            draft.problems.push(problem);
            return Err(draft.problems);
        }
    };
    for variable in &definition.any_path {
        if !pattern.take_any_path(variable) {
            draft.problems.push(format!(
                "`any_path` is set for `{variable}`, but the template has no such variable"
            ));
        }
    }
    for variable in pattern.variables() {
        draft.completions.push(variable, Completer::Nothing);
    }
    complete(&mut draft, "variable");
    let details = ItemDetails::Template {
        template: draft.template(name, &definition.name),
        pattern,
        lister: definition
            .lister
            .map(|lister| TemplateLister::new(lister, AwaitedValues::all_states())),
    };
    finish(draft, name, Some(details), definition.handler, None)
}

/// Sets the completion candidates for arguments; messages refer to such an argument as `noun`.
fn complete(draft: &mut CallableDraft, noun: &str) {
    for (argument, values) in mem::take(&mut draft.candidates) {
        if !draft
            .completions
            .set(&argument, Completer::Fixed(values.into()))
        {
            draft.problems.push(format!(
                "candidates are set for `{argument}`, but there is no such {noun}"
            ));
        }
    }
}

fn finish(
    draft: CallableDraft,
    name: &str,
    details: Option<ItemDetails>,
    handler: DynamicHandler,
    input: Option<ArgumentRules>,
) -> Result<Callable, Vec<String>> {
    let awaited = if handler.needs_state {
        AwaitedValues::all_states()
    } else {
        AwaitedValues::none()
    };
    let run = handler.run;
    draft.finish(name, details, Handler::Closure { run, input }, awaited)
}
