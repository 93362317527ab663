//! Conversion of definitions created at run time into entries.

use std::sync::Arc;

use mcp_schema::check::Validator;
use mcp_schema::template::UriTemplate;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use crate::handler::decode::find_headers;
use crate::handler::dynamic::{DynamicPrompt, DynamicResource, DynamicTemplate, DynamicTool};
use crate::handler::rules;
use crate::registry::complete::{Completer, Completions};
use crate::registry::entry::{CacheOptions, PromptEntry, ResourceEntry, TemplateEntry, ToolEntry};
use crate::registry::guards::Guards;
use crate::registry::handler::{ArgumentRules, Handler};
use crate::registry::meta;
use crate::registry::outputs::Outputs;
use crate::types::{ResourceTemplate, Tool};

/// An entry, or all problems of the definition.
type DynamicEntry<E> = Result<E, Vec<String>>;

pub(super) fn tool(definition: DynamicTool) -> DynamicEntry<ToolEntry> {
    let mut problems = Vec::new();
    problems.extend(rules::tool_name(&definition.name).into_result().err());
    problems.extend(rules::icon_problems(&definition.icons));
    problems.extend(meta::problems(definition.meta.as_ref()));
    let guards = Guards::new(&definition.guards, &mut problems);
    problems.extend(definition.access.problems());
    if definition.input_schema.get("type").and_then(Value::as_str) != Some("object") {
        problems.push("the input schema must be an object with `\"type\": \"object\"`".into());
    }
    let input_schema = raw(&definition.input_schema, &mut problems);
    let headers = find_headers(&definition.input_schema, &mut problems);
    let validator = Validator::new(definition.input_schema)
        .map_err(|error| problems.push(format!("input schema: {error}")));
    let mut outputs = None;
    let output_schema = definition.output_schema.map(|schema| {
        let text = raw(&schema, &mut problems);
        outputs = Validator::new(schema)
            .map_err(|error| problems.push(format!("output schema: {error}")))
            .ok();
        text
    });
    let (Ok(validator), true) = (validator, problems.is_empty()) else {
        return Err(problems);
    };
    let mut tool = Tool::new(definition.name, input_schema);
    tool.title = definition.title;
    tool.description = definition.description;
    tool.icons = definition.icons;
    tool.output_schema = output_schema;
    tool.annotations = definition.annotations;
    tool.meta = definition.meta;
    Ok(ToolEntry {
        outputs: Outputs::written(tool.output_schema.as_deref(), outputs),
        tool,
        handler: Handler::Closure {
            run: definition.run,
            input: Some(ArgumentRules { validator, headers }),
        },
        guards,
        requires: Box::default(),
        pace: Arc::default(),
        access: definition.access,
    })
}

pub(super) fn prompt(definition: DynamicPrompt) -> DynamicEntry<PromptEntry> {
    let mut problems = meta::problems(definition.meta.as_ref());
    problems.extend(rules::icon_problems(&definition.icons));
    let guards = Guards::new(&definition.guards, &mut problems);
    problems.extend(definition.access.problems());
    if definition.name.is_empty() {
        problems.push("the name is empty".into());
    }
    let mut completions = Completions::default();
    for argument in &definition.arguments {
        if argument.name.is_empty() {
            problems.push("the name of an argument is empty".into());
        } else if completions.find(&argument.name).is_some() {
            problems.push(format!("argument `{}` is defined twice", argument.name));
        }
        completions.push(&argument.name, Completer::Nothing);
    }
    fix(
        &mut completions,
        &definition.candidates,
        "argument",
        &mut problems,
    );
    if !problems.is_empty() {
        return Err(problems);
    }
    Ok(PromptEntry {
        prompt: definition.definition(),
        handler: Handler::Closure {
            run: definition.run,
            input: None,
        },
        guards,
        pace: Arc::default(),
        access: definition.access,
        completions,
    })
}

pub(super) fn resource(definition: DynamicResource) -> DynamicEntry<ResourceEntry> {
    let mut problems = meta::problems(definition.meta.as_ref());
    problems.extend(rules::icon_problems(&definition.icons));
    let guards = Guards::new(&definition.guards, &mut problems);
    problems.extend(definition.access.problems());
    problems.extend(rules::uri(&definition.uri).into_result().err());
    if !problems.is_empty() {
        return Err(problems);
    }
    Ok(ResourceEntry {
        resource: definition.definition(),
        handler: Handler::Closure {
            run: definition.run,
            input: None,
        },
        guards,
        pace: Arc::default(),
        access: definition.access,
        cache: CacheOptions {
            ttl: definition.ttl,
            scope: definition.cache,
        },
    })
}

pub(super) fn template(definition: DynamicTemplate) -> DynamicEntry<TemplateEntry> {
    let mut problems = meta::problems(definition.meta.as_ref());
    problems.extend(rules::icon_problems(&definition.icons));
    let guards = Guards::new(&definition.guards, &mut problems);
    problems.extend(definition.access.problems());
    let mut pattern =
        UriTemplate::parse(&definition.uri_template).map_err(|error| problems.push(error));
    if let Ok(pattern) = &mut pattern {
        for variable in &definition.any_path {
            if !pattern.take_any_path(variable) {
                problems.push(format!(
                    "`any_path` for `{variable}`, but the template has no such variable"
                ));
            }
        }
    }
    let mut completions = Completions::default();
    if let Ok(pattern) = &pattern {
        for variable in pattern.variables() {
            completions.push(variable, Completer::Nothing);
        }
        fix(
            &mut completions,
            &definition.candidates,
            "variable",
            &mut problems,
        );
    }
    let (Ok(pattern), true) = (pattern, problems.is_empty()) else {
        return Err(problems);
    };
    let template: ResourceTemplate = definition.definition();
    Ok(TemplateEntry {
        template,
        pattern,
        handler: Handler::Closure {
            run: definition.run,
            input: None,
        },
        guards,
        pace: Arc::default(),
        access: definition.access,
        cache: CacheOptions {
            ttl: definition.ttl,
            scope: definition.cache,
        },
        lister: definition.lister,
        completions,
    })
}

/// Sets the candidates of arguments.
fn fix(
    completions: &mut Completions,
    candidates: &[(String, Vec<String>)],
    noun: &str,
    problems: &mut Vec<String>,
) {
    for (argument, values) in candidates {
        let completer = Completer::Fixed(Arc::from(values.as_slice()));
        if !completions.set(argument, completer) {
            problems.push(format!(
                "candidates for `{argument}`, but there is no such {noun}"
            ));
        }
    }
}

fn raw(schema: &Value, problems: &mut Vec<String>) -> Box<RawValue> {
    to_raw_value(schema).unwrap_or_else(|error| {
        problems.push(format!("schema: {error}"));
        RawValue::NULL.to_owned()
    })
}
