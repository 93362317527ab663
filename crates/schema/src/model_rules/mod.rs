//! A single table of the rules that the large model APIs impose on tools.
//!
//! Hosts pass schemas on to a model; a schema that the model's API rejects can make the entire server unusable in that
//! host. The `check` command and the examples' tests apply the whole table. At startup, a server logs only generated
//! schemas that would be refused, each of them. [`generate`](crate::generate) writes schemas that follow the rules as far as a type
//! permits.
//!
//! One published rule is missing because no schema can follow it everywhere: with `strict: true`, `OpenAI` wants every
//! argument to be listed as required and optional arguments to allow `null`, which Gemini rejects. Hosts convert
//! schemas themselves.

mod apply;
#[cfg(test)]
mod tests;

pub use apply::{ModelRuleBreach, breaches};

/// A rule of one or more model APIs.
#[derive(Debug)]
pub struct ModelRule {
    /// A short description of the APIs and their expectations, for use in messages.
    pub text: &'static str,
    /// The public web page that documents the rule.
    pub page: &'static str,
    /// The consequence of breaking the rule.
    pub severity: Severity,
    /// The requirement that the rule imposes.
    pub demand: ModelRequirement,
}

/// Severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// At least one client or model API rejects the definition, and often all other tools along with it.
    Refused,
    /// The definition works but could be improved.
    Advice,
}

impl Severity {
    /// All severities.
    pub const ALL: &[Self] = &[Self::Refused, Self::Advice];

    /// Returns the word used for this severity in reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::Advice => "advice",
        }
    }
}

/// A requirement for a tool's name or input schema.
#[derive(Clone, Copy, Debug)]
pub enum ModelRequirement {
    /// The tool's name has at most this many ASCII letters, digits and other listed characters.
    ToolName(usize, &'static str),
    /// Like [`ToolName`](Self::ToolName), but for the names of properties.
    PropertyName(usize, &'static str),
    /// The names of properties begin with a letter or `_`.
    NameStart,
    /// The root is an object schema and does not contain any of these keywords.
    Root(&'static [&'static str]),
    /// The root declares its `properties`, even if there are none.
    DeclaredProperties,
    /// Every required property is declared in `properties`.
    RequiredDeclared,
    /// Schemas do not refer to each other.
    NoReference,
    /// Schemas are objects: neither `true` nor `false`, except for `additionalProperties`.
    NoBoolean,
    /// Every schema either has a type or is a choice.
    Typed,
    /// `type` is a single name.
    OneType,
    /// Arrays declare their items.
    Items,
    /// The values in `enum` are strings.
    TextEnum,
    /// None of the values in `enum` is an empty string.
    NoEmptyValue,
    /// All `enum` lists of a schema together have at most this many values.
    Values(usize),
    /// Objects reject unknown members.
    Closed,
    /// Apart from annotations, schemas contain only these keywords.
    Keywords(&'static [&'static str]),
    /// Of the keywords that limit numbers, schemas contain only these.
    NumberKeywords(&'static [&'static str]),
    /// `format` is one of [`FORMATS`](crate::format::FORMATS) that is marked as listed.
    ListedFormat,
    /// The schema has at most this many levels of objects and this many properties in total.
    Size(usize, usize),
    /// Durations and times are not represented as objects with seconds and nanoseconds, the form in which serde writes
    /// the types in `std::time`.
    ReadableTime,
    /// Bytes are not represented as an array of numbers, the form in which serde writes `Vec<u8>`.
    ReadableBytes,
}

const OPENAI: &str = "https://developers.openai.com/api/docs/guides/structured-outputs";
const OPENAI_TOOLS: &str = "https://platform.openai.com/docs/api-reference/chat/create";
const ANTHROPIC: &str =
    "https://platform.claude.com/docs/en/agents-and-tools/tool-use/define-tools";
const GOOGLE: &str = "https://ai.google.dev/api/caching#Schema";
const GOOGLE_NAMES: &str = "https://ai.google.dev/api/caching#FunctionDeclaration";
const GUIDE: &str = "docs/types.md";

/// The rules, in the order in which breaches of the same schema are reported.
pub const MODEL_RULES: &[ModelRule] = &[
    ModelRule {
        text: "Anthropic and OpenAI: tool names match ^[a-zA-Z0-9_-]{1,64}$",
        page: OPENAI_TOOLS,
        severity: Severity::Refused,
        demand: ModelRequirement::ToolName(64, "_-"),
    },
    // The Messages API returns "input_schema does not support oneOf, allOf, or anyOf at the top level".
    ModelRule {
        text: "Anthropic and OpenAI: the root of a schema is a plain object",
        page: OPENAI,
        severity: Severity::Refused,
        demand: ModelRequirement::Root(&["oneOf", "anyOf", "allOf", "not", "enum", "if"]),
    },
    // OpenAI API: "In context=(), object schema missing properties". Adapters of hosts also expect the keyword.
    ModelRule {
        text: "OpenAI: the root of a schema has `properties`; if there are none, write `\"properties\": {}`",
        page: OPENAI_TOOLS,
        severity: Severity::Refused,
        demand: ModelRequirement::DeclaredProperties,
    },
    // Gemini API: "parameters.required[0]: property is not defined".
    ModelRule {
        text: "Gemini: the names in `required` are declared in `properties`",
        page: GOOGLE,
        severity: Severity::Refused,
        demand: ModelRequirement::RequiredDeclared,
    },
    // Claude Platform, "Self-hosted sandboxes": custom tools. Gemini CLI treats references as missing types.
    ModelRule {
        text: "Anthropic's managed agents; Gemini",
        page: ANTHROPIC,
        severity: Severity::Refused,
        demand: ModelRequirement::NoReference,
    },
    // Gemini API: a schema is a message, so `true` is an "Invalid value".
    ModelRule {
        text: "Gemini: a schema is an object; write `{}` instead of `true`",
        page: GOOGLE,
        severity: Severity::Refused,
        demand: ModelRequirement::NoBoolean,
    },
    // Gemini API: "Proto field is not repeating, cannot start list".
    ModelRule {
        text: "Gemini: `type` is one string",
        page: GOOGLE,
        severity: Severity::Refused,
        demand: ModelRequirement::OneType,
    },
    ModelRule {
        text: "Gemini: every schema has a type",
        page: GOOGLE,
        severity: Severity::Advice,
        demand: ModelRequirement::Typed,
    },
    // Gemini API: "missing field".
    ModelRule {
        text: "Gemini and OpenAI: arrays declare `items`",
        page: GOOGLE,
        severity: Severity::Refused,
        demand: ModelRequirement::Items,
    },
    ModelRule {
        text: "Gemini: `enum` values are strings",
        page: GOOGLE,
        severity: Severity::Refused,
        demand: ModelRequirement::TextEnum,
    },
    // Gemini API: "enum[0]: cannot be empty".
    ModelRule {
        text: "Gemini: `enum` values are not empty; give the value a name, or leave the argument out",
        page: GOOGLE,
        severity: Severity::Refused,
        demand: ModelRequirement::NoEmptyValue,
    },
    // Claude Platform, and the Messages API: `tools.*.input_schema.properties`.
    ModelRule {
        text: "Anthropic: property names match ^[a-zA-Z0-9_.-]{1,64}$",
        page: ANTHROPIC,
        severity: Severity::Refused,
        demand: ModelRequirement::PropertyName(64, "_.-"),
    },
    ModelRule {
        text: "Gemini: property names are letters, digits and `_`",
        page: GOOGLE_NAMES,
        severity: Severity::Advice,
        demand: ModelRequirement::PropertyName(64, "_"),
    },
    ModelRule {
        text: "Gemini: property names begin with a letter or `_`",
        page: GOOGLE_NAMES,
        severity: Severity::Advice,
        demand: ModelRequirement::NameStart,
    },
    ModelRule {
        text: "Gemini does not support this keyword and may not see the limit; mention the limit in the description",
        page: GOOGLE,
        severity: Severity::Advice,
        demand: ModelRequirement::NumberKeywords(&["minimum", "maximum"]),
    },
    ModelRule {
        text: "Gemini and OpenAI's strict mode do not support this keyword; all models support a struct with optional fields",
        page: GOOGLE,
        severity: Severity::Advice,
        demand: ModelRequirement::Keywords(&[
            "type",
            "title",
            "description",
            "default",
            "enum",
            "anyOf",
            "properties",
            "required",
            "additionalProperties",
            "items",
            "minItems",
            "maxItems",
            "minLength",
            "maxLength",
            "pattern",
            "format",
            "minimum",
            "maximum",
        ]),
    },
    ModelRule {
        text: "OpenAI's strict mode rejects maps and open objects; all models support a list of objects that each have a key",
        page: OPENAI,
        severity: Severity::Advice,
        demand: ModelRequirement::Closed,
    },
    ModelRule {
        text: "OpenAI's strict mode accepts only the formats that it lists; describe other formats in the description",
        page: OPENAI,
        severity: Severity::Advice,
        demand: ModelRequirement::ListedFormat,
    },
    ModelRule {
        text: "OpenAI: at most 10 levels of objects and 5000 properties",
        page: OPENAI,
        severity: Severity::Advice,
        demand: ModelRequirement::Size(10, 5_000),
    },
    ModelRule {
        text: "OpenAI: at most 1000 `enum` values in a schema; take a string, and offer a search",
        page: OPENAI,
        severity: Severity::Advice,
        demand: ModelRequirement::Values(1_000),
    },
    ModelRule {
        text: "models can write `90s` or a date: use `mcp_runtime::values::HumanDuration`, or a type from chrono or jiff",
        page: GUIDE,
        severity: Severity::Advice,
        demand: ModelRequirement::ReadableTime,
    },
    ModelRule {
        text: "if these are bytes, use `mcp_runtime::values::Base64`; if they are numbers, give them a range",
        page: GUIDE,
        severity: Severity::Advice,
        demand: ModelRequirement::ReadableBytes,
    },
];
