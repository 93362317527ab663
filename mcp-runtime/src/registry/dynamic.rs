//! Converts definitions created at run time into callables.

use std::sync::{Arc, OnceLock};

use mcp_schema::check::Validator;
use mcp_schema::template::UriTemplate;
use serde_json::Value;

use crate::context::AwaitedValues;
use crate::handler::decode::find_headers;
use crate::handler::dynamic::{
    DynamicHandler, DynamicItem, DynamicPrompt, DynamicResource, DynamicTemplate, DynamicTool,
};
use crate::handler::option::{AdaptedTool, AttachedOption, ToolUseFormat};
use crate::handler::{rules, tags};
use crate::registry::callable::{
    ArgumentCompleters, ArgumentRules, Callable, Completer, Handler, HandlerLimits, ItemDetails,
    OutputChecker, TemplateLister, cache_hint,
};
use crate::registry::declared;
use crate::registry::declared::{ServerRules, to_raw_json};
use crate::types::{Icon, Meta};

/// Converts a definition of any kind.
///
/// # Errors
///
/// Returns all problems with the definition, on one line.
pub(super) fn dynamic_callable(item: DynamicItem, rules: &ServerRules) -> Result<Callable, String> {
    let list = item.list();
    let (noun, name) = (list.noun(), list.lookup_key(item.name()).into_owned());
    let made = match item {
        DynamicItem::Tool(definition) => inserted_tool(&name, definition, rules),
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
pub(super) fn tool_callable(definition: DynamicTool) -> Result<Callable, String> {
    // Through such a tool, a page could reach tools that are only for models.
    let mut definition = definition;
    let meta = definition.tool.meta.get_or_insert_default();
    inventory::iter::<ToolUseFormat>().for_each(|format| (format.write_for_models)(meta));
    let name = definition.tool.name.clone();
    let definition = DynamicTool {
        handler: definition.handler.without_state(),
        ..definition
    };
    let made = convert_tool(&name, definition, &ServerRules::default());
    made.map_err(|problems| format!("tool `{name}`: {}", problems.join("; ")))
}

/// Converts a resource template that is built into the framework.
///
/// # Errors
///
/// Returns all problems with the definition, on one line.
pub(crate) fn built_in_template(definition: DynamicTemplate) -> Result<Callable, String> {
    let name = definition.template.uri_template.clone();
    let definition = DynamicTemplate {
        handler: definition.handler.without_state(),
        ..definition
    };
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
    let name = definition.tool.name.clone();
    let rate = definition.handler.guards.rate.as_ref().map(|_| "rate");
    let attached = definition.attached.iter().map(|option| option.name());
    let mut problems: Vec<String> = attached
        .chain(rate)
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

fn inserted_tool(
    name: &str,
    definition: DynamicTool,
    rules: &ServerRules,
) -> Result<Callable, Vec<String>> {
    rules
        .check_tool_name(name)
        .map_err(|problem| vec![problem])?;
    convert_tool(name, definition, rules)
}

fn convert_tool(
    name: &str,
    definition: DynamicTool,
    rules: &ServerRules,
) -> Result<Callable, Vec<String>> {
    let DynamicTool {
        mut tool,
        input_schema,
        output_schema,
        attached,
        handler,
    } = definition;
    let mut draft = CallableDraft::new(handler, rules, tool.meta.as_ref(), &tool.icons);
    let problems = &mut draft.problems;
    let mut adapted = AdaptedTool::new(draft.guards.max_output, &attached);
    tool.execution = adapted.execution;
    let unfitting = adapted.no_output_schema.filter(|_| output_schema.is_some());
    problems.extend(unfitting.map(str::to_owned));
    problems.append(&mut adapted.problems);
    draft.guards.fits_output = adapted.fits_output;
    draft.options = attached.into();
    problems.extend(rules::tool_name(name).into_result().err());
    if input_schema.get("type").and_then(Value::as_str) != Some("object") {
        problems.push("the input schema must be an object with `\"type\": \"object\"`".into());
    }
    if let Some(text) = to_raw_json(&input_schema, problems) {
        tool.input_schema = text;
    }
    let headers = find_headers(&input_schema, problems);
    let validator = Validator::new(input_schema).map_err(|error| format!("input schema: {error}"));
    match validator {
        Ok(validator) => draft.input = Some(ArgumentRules { validator, headers }),
        Err(problem) => problems.push(problem),
    }
    let outputs = output_schema.and_then(|schema| {
        tool.output_schema = to_raw_json(&schema, problems);
        Validator::new(schema)
            .map_err(|error| problems.push(format!("output schema: {error}")))
            .ok()
    });
    let outputs = OutputChecker::for_written_schema(tool.output_schema.as_deref(), outputs);
    draft.finish(name, Some(ItemDetails::Tool { tool, outputs }))
}

fn prompt_callable(
    name: &str,
    definition: DynamicPrompt,
    rules: &ServerRules,
) -> Result<Callable, Vec<String>> {
    let DynamicPrompt { prompt, handler } = definition;
    let mut draft = CallableDraft::new(handler, rules, prompt.meta.as_ref(), &prompt.icons);
    if name.is_empty() {
        draft.problems.push("the name is empty".into());
    }
    for argument in &prompt.arguments {
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
    draft.complete("argument");
    draft.finish(name, Some(ItemDetails::Prompt(prompt)))
}

fn resource_callable(
    name: &str,
    definition: DynamicResource,
    rules: &ServerRules,
) -> Result<Callable, Vec<String>> {
    let DynamicResource {
        mut resource,
        handler,
    } = definition;
    name.clone_into(&mut resource.uri);
    let mut draft = CallableDraft::new(handler, rules, resource.meta.as_ref(), &resource.icons);
    draft.problems.extend(rules::uri(name).into_result().err());
    draft.finish(name, Some(ItemDetails::Resource(resource)))
}

/// Converts a method of an extension.
///
/// # Errors
///
/// Returns all problems with its limits and access rules.
pub(crate) fn method_callable(
    name: &str,
    handler: DynamicHandler,
) -> Result<Callable, Vec<String>> {
    CallableDraft::new(handler, &ServerRules::default(), None, &[])
        .finish(name, Some(ItemDetails::Method))
}

fn template_callable(
    name: &str,
    definition: DynamicTemplate,
    rules: &ServerRules,
) -> Result<Callable, Vec<String>> {
    let DynamicTemplate {
        mut template,
        any_path,
        lister,
        handler,
    } = definition;
    name.clone_into(&mut template.uri_template);
    let mut draft = CallableDraft::new(handler, rules, template.meta.as_ref(), &template.icons);
    let mut pattern = match UriTemplate::parse(name) {
        Ok(pattern) => pattern,
        Err(problem) => {
            draft.problems.push(problem);
            return draft.finish(name, None);
        }
    };
    for variable in &any_path {
        if !pattern.take_any_path(variable) {
            draft.problems.push(format!(
                "`any_path` is set for `{variable}`, but the template has no such variable"
            ));
        }
    }
    for variable in pattern.variables() {
        draft.completions.push(variable, Completer::Nothing);
    }
    draft.complete("variable");
    let details = ItemDetails::Template {
        template,
        pattern,
        lister: lister.map(|lister| TemplateLister::new(lister, AwaitedValues::all_states())),
    };
    draft.finish(name, Some(details))
}

/// A callable under construction.
struct CallableDraft {
    handler: DynamicHandler,
    guards: HandlerLimits,
    options: Box<[AttachedOption]>,
    input: Option<ArgumentRules>,
    completions: ArgumentCompleters,
    problems: Vec<String>,
}

impl CallableDraft {
    /// Checks the parts that are common to all kinds.
    fn new(
        mut handler: DynamicHandler,
        server: &ServerRules,
        meta: Option<&Meta>,
        icons: &[Icon],
    ) -> Self {
        let mut problems = declared::meta_problems(meta, &server.meta_keys);
        problems.extend(handler.tags.iter().filter_map(|tag| tags::problem(tag)));
        handler.access.require(server.scopes(&handler.tags));
        problems.extend(rules::icon_problems(icons));
        let guards = HandlerLimits::new(&handler.guards, &mut problems);
        problems.extend(handler.access.problems());
        Self {
            handler,
            guards,
            options: Box::default(),
            input: None,
            completions: ArgumentCompleters::default(),
            problems,
        }
    }

    /// Sets the completion candidates for arguments; messages refer to such an argument as `noun`.
    fn complete(&mut self, noun: &str) {
        for (argument, values) in &self.handler.candidates {
            let completer = Completer::Fixed(Arc::from(values.as_slice()));
            if !self.completions.set(argument, completer) {
                self.problems.push(format!(
                    "candidates are set for `{argument}`, but there is no such {noun}"
                ));
            }
        }
    }

    fn finish(self, name: &str, details: Option<ItemDetails>) -> Result<Callable, Vec<String>> {
        let (Some(details), true) = (details, self.problems.is_empty()) else {
            return Err(self.problems);
        };
        let handler = self.handler;
        Ok(Callable {
            name: name.into(),
            details,
            handler: Handler::Closure {
                run: handler.run,
                input: self.input,
            },
            guards: self.guards,
            options: self.options,
            around: OnceLock::new(),
            requires: Box::default(),
            tags: handler.tags.into(),
            completions: self.completions,
            cache: cache_hint(handler.ttl, handler.cache, &handler.access),
            access: handler.access,
            pace: Arc::default(),
            awaited: if handler.needs_state {
                AwaitedValues::all_states()
            } else {
                AwaitedValues::none()
            },
        })
    }
}
