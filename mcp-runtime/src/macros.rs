//! The attributes, with their documentation, and the functions of the same names that select the annotated functions.
//!
//! The attribute `tool` is a macro and the function `tool` is a value, so one import brings both into scope.

/// Turns a function into a tool that models can call. The function of the same name selects a tool: `tool(add)`.
///
/// ```
/// use mcp_runtime::prelude::*;
///
/// /// Adds two integers.
/// #[tool(title = "Add", read_only, timeout = "5s")]
/// fn add(
///     /// Left operand
///     a: i64,
///     /// Right operand
///     #[arg(range(0..=100), default = 1)]
///     b: i64,
/// ) -> i64 {
///     a + b
/// }
///
/// assert_eq!(add(1, 2), 3); // still an ordinary function
/// ```
///
/// The doc comment becomes the description that the model reads. A parameter is an *argument* if its type implements
/// `Deserialize` and `JsonSchema`, and *injected* if it implements [`FromContext`](crate::FromContext), as
/// [`Context`](crate::Context) and [`State`](crate::State) do. Only these traits count, not the name of the type. `&T`,
/// `&str` and `&[T]` borrow for the duration of the call. The function may be `async`, and may return any type that implements
/// [`IntoToolResult`]: strings, numbers, content, [`Json`](crate::Json) for structured output, and `Result`s of these.
///
/// [`IntoToolResult`]: trait@crate::IntoToolResult
///
/// | Option | Value | Default | Meaning | On the wire |
/// |---|---|---|---|---|
/// | `name` | string, 1 to 128 of `A-Z a-z 0-9 _ - .` | the function's name | the name in calls | `name` |
/// | `title` | string | none | the display name | `title` |
/// | `description` | string, or an expression of type `&'static str` | the doc comment | the description of the tool | `description` |
/// | `read_only` | flag | unspecified | the tool changes nothing | `annotations.readOnlyHint` |
/// | `destructive` | flag | unspecified, which clients treat as true | the tool may delete or overwrite data | `annotations.destructiveHint` |
/// | `idempotent` | flag | unspecified | repeated calls have no further effect | `annotations.idempotentHint` |
/// | `open_world` | flag | unspecified, which clients treat as true | the tool interacts with the world outside the server | `annotations.openWorldHint` |
/// | `icons` | `["https://…", icon(src = "…", mime_type = "…", sizes = "48x48 any", theme = "dark")]` | none | icons for user interfaces, each an `https:` or `data:` URI | `icons` |
/// | `meta` | an expression of type `serde_json::Value`, an object | none | additional metadata | `_meta` |
/// | `tags("…", …)` | strings | none | the tags it can be selected with | nothing |
/// | `scopes` | such as `("notes:read", "notes:write")` | none | the scopes that a caller must have, all of them; see below | an error, if one is missing |
/// | `visible_if` | the path of a `fn(&Caller) -> bool` | visible to all | returns `true` for callers who can see the tool | nothing |
/// | `blocking` | flag | no | the function blocks, so each call runs on a separate thread | nothing |
/// | `timeout` | `"250ms"`, `"5s"`, `"2m"`, `"1h"`, or a constant of type `Duration` | the server's | maximum duration of a call | an error, when exceeded |
/// | `rate` | `"10/min"`, `"5/s burst 20"`, `"100/h per caller"` | none | maximum rate of calls | an error, when exceeded |
/// | `concurrency` | whole number, or a constant of type `usize` | none | maximum number of concurrent calls; others wait | an error, if too many wait |
/// | `max_output` | `"512B"`, `"256KB"`, `"64KiB"`, `"1MB"`, `"1MiB"`, or a constant of type `usize` | the server's | maximum size of a result | an error, when exceeded |
/// | `requires` | of `sampling`, `sampling_tools`, `elicitation`, `elicitation_url`, `roots` | nothing | features that the client must support | an error, if one is missing |
/// | `schema` | a `Schema`, a `serde_json::Value` or a JSON string | generated from the parameters | the input schema, sent unchanged | `inputSchema` |
/// | `strict` | flag | no | arguments are not coerced: a number in quotes is an error | nothing |
/// | `ttl` | as `timeout` | unspecified | the time for which a client may cache the result | `ttlMs` |
/// | `cache` | `"public"` or `"private"` | unspecified | `"public"` if the cached result may be shared between users | `cacheScope` |
/// | `crate` | a path | `::mcp_runtime` | the path of the runtime crate | nothing |
///
/// Write a flag as `read_only` or `read_only = false`.
///
/// # Parameters
///
/// The doc comment of a parameter becomes the description of the argument. `#[arg(…)]` takes further options. Constraints
/// appear in the schema and are enforced, except `format`. The types in the schema are enforced too, where the Rust type
/// accepts more than its schema allows.
///
/// | Option | Value | Meaning | In the schema |
/// |---|---|---|---|
/// | `name` | string | the name on the wire, instead of the parameter's name | the property |
/// | `description` | string, or an expression of type `&'static str` | the description, instead of the doc comment | `description` |
/// | `default` | a literal (the JSON a client could have sent), a Rust expression, or nothing for the value of `Default` | the value of an omitted argument | `default` |
/// | `range` | `1..=100`, `0.5..`, `..10` | the allowed numbers | `minimum`, `maximum` |
/// | `length` | `1..=200`, `..=10`, `5` | the allowed number of characters or items | `minLength`, `maxItems`, … |
/// | `pattern` | a regular expression | must match somewhere in the string | `pattern` |
/// | `format` | such as `"uri"` | the format of the string; not enforced | `format` |
/// | `items` | of `range`, `length`, `pattern`, `format`, `items` | the constraints of each item | `items` |
/// | `example` | a literal | a sample value | `examples` |
/// | `header` | a token such as `Region` | clients mirror the argument in the HTTP header `Mcp-Param-Region` | `x-mcp-header` |
/// | `flatten` | none | each field of the type is a separate argument | the properties |
/// | `any_path` | none | for variables of a [`resource_template`](macro@resource_template): values that lead out of a directory are accepted | |
///
/// # Access
///
/// A tool with `scopes` is hidden from the lists of callers who lack some of them. If such a caller calls it anyway, the
/// call is rejected before anything runs. The error names all required scopes, so that the client can request them; over
/// HTTP it is status 403 with a challenge. For callers rejected by the `visible_if` function, the tool does not exist. The
/// function runs for every list and call, so it must not block; if it panics, the caller is rejected.
///
/// Scopes are granted through credentials. They do not apply over standard input and output or within the same process: see
/// [`Caller`](crate::Caller). Caches never share lists and results that depend on the caller between users, whatever `cache`
/// specifies.
///
/// ```
/// use mcp_runtime::prelude::*;
/// use mcp_runtime::{Caller, Principal};
///
/// /// Deletes a note.
/// #[tool(scopes("notes:write"), visible_if = is_staff)]
/// fn delete_note(caller: &Principal, id: u64) -> String {
///     format!("note {id} is gone, {}", caller.subject())
/// }
///
/// fn is_staff(caller: &Caller) -> bool {
///     caller.has_scope("staff")
/// }
/// ```
///
/// A parameter of type [`Principal`](crate::Principal) is the authenticated caller. Callers without credentials are then
/// rejected, unless the type is `Option<Principal>`. Source: revisions since 2025-03-26, basic/authorization.
///
/// # Mistakes
///
/// Mistakes are reported at compile time where possible, all of them in one run:
///
/// ```compile_fail
/// # use mcp_runtime::prelude::*;
/// #[tool(name = "add two")] // tool name `add two` contains a space; use 1 to 128 of A-Z a-z 0-9 _ - .
/// fn add(#[arg(range(1..=5))] name: String) -> String { // `range` applies to numbers; for strings use `length` or `pattern`
///     name
/// }
/// ```
///
/// Source: revision 2026-07-28, server/tools.
#[doc(inline)]
pub use mcp_macros::tool;

/// Turns a function into a prompt: messages that a user can start from. The function of the same name selects a prompt:
/// `prompt(code_review)`.
///
/// ```
/// use mcp_runtime::prelude::*;
///
/// /// Asks for a code review.
/// #[prompt(title = "Code review")]
/// fn code_review(
///     code: &str,
///     /// Framework in use
///     #[complete(frameworks)]
///     framework: Option<String>,
/// ) -> String {
///     format!("Review this {} code:\n{code}", framework.unwrap_or_default())
/// }
///
/// /// Known frameworks.
/// #[completer]
/// fn frameworks(partial: &str) -> Vec<String> {
///     let _ = partial; // candidates are ranked against it by the framework
///     vec!["axum".to_owned(), "rocket".to_owned()]
/// }
/// ```
///
/// Parameters work as in [`tool`](macro@tool); on the wire they are strings, and are parsed into the parameter types. Enums
/// and booleans are completed automatically. For other types, `#[complete(["formal", "friendly"])]` suggests these strings
/// and still accepts any other, and `#[complete(function)]` names a [`completer`](macro@completer).
///
/// | Option | Value | Default | Meaning | On the wire |
/// |---|---|---|---|---|
/// | `name` | string | the function's name | the name in requests | `name` |
/// | `title` | string | none | the display name | `title` |
/// | `description` | string, or an expression of type `&'static str` | the doc comment | the description of the prompt | `description` |
/// | `icons` | as in [`tool`](macro@tool) | none | icons for user interfaces | `icons` |
/// | `meta` | an expression of type `serde_json::Value`, an object | none | additional metadata | `_meta` |
/// | `tags("…", …)` | strings | none | the tags it can be selected with | nothing |
/// | `scopes`, `visible_if` | as in [`tool`](macro@tool) | unrestricted | restrict use and visibility | nothing |
/// | `timeout`, `rate`, `concurrency`, `max_output` | as in [`tool`](macro@tool) | as in [`tool`](macro@tool) | limits on duration, rate, concurrency and result size | an error, when exceeded |
/// | `crate` | a path | `::mcp_runtime` | the path of the runtime crate | nothing |
///
/// Source: revision 2026-07-28, server/prompts.
#[doc(inline)]
pub use mcp_macros::prompt;

/// Turns a function into a resource that clients read at one URI. The function of the same name selects a resource:
/// `resource(config)`.
///
/// ```
/// use mcp_runtime::prelude::*;
///
/// /// Settings in effect.
/// #[resource("config://app", mime_type = "text/plain", ttl = "1h", cache = "public")]
/// fn config() -> &'static str {
///     "colour = blue"
/// }
/// ```
///
/// All parameters are injected, because a resource has no arguments. The URI comes first, then the options:
///
/// | Option | Value | Default | Meaning | On the wire |
/// |---|---|---|---|---|
/// | `name` | string | the function's name | the name for programs | `name` |
/// | `title` | string | none | the display name | `title` |
/// | `description` | string, or an expression of type `&'static str` | the doc comment | the description of the resource | `description` |
/// | `mime_type` | such as `"text/markdown"` | unspecified | the media type of the contents | `mimeType` |
/// | `size` | whole number | unspecified | the size in bytes | `size` |
/// | `audience` | of `user`, `assistant` | unspecified | the intended audience | `annotations.audience` |
/// | `priority` | 0.0 to 1.0 | unspecified | the importance, from 0.0 (optional) to 1.0 (required) | `annotations.priority` |
/// | `last_modified` | ISO 8601 date, or date and time | unspecified | the time of the last change | `annotations.lastModified` |
/// | `icons` | as in [`tool`](macro@tool) | none | icons for user interfaces | `icons` |
/// | `meta` | an expression of type `serde_json::Value`, an object | none | additional metadata | `_meta` |
/// | `tags("…", …)` | strings | none | the tags it can be selected with | nothing |
/// | `scopes`, `visible_if` | as in [`tool`](macro@tool) | unrestricted | restrict use and visibility | nothing |
/// | `ttl` | `"250ms"`, `"5s"`, `"2m"`, `"1h"`, or a constant of type `Duration` | unspecified | the time for which a client may cache the contents | `ttlMs` |
/// | `cache` | `"public"` or `"private"` | unspecified | `"public"` if the cached contents may be shared between users | `cacheScope` |
/// | `timeout`, `rate`, `concurrency`, `max_output` | as in [`tool`](macro@tool) | as in [`tool`](macro@tool) | limits on duration, rate, concurrency and result size | an error, when exceeded |
/// | `crate` | a path | `::mcp_runtime` | the path of the runtime crate | nothing |
///
/// Source: revision 2026-07-28, server/resources.
#[doc(inline)]
pub use mcp_macros::resource;

/// Turns a function into a resource template: it reads every resource whose URI matches the template. The function of the same
/// name selects a template: `resource_template(note)`.
///
/// ```
/// use mcp_runtime::prelude::*;
///
/// /// One note.
/// #[resource_template("notes:///{id}{?part}", mime_type = "text/markdown")]
/// async fn note(id: u32, part: Option<String>) -> Result<String> {
///     if id == 0 {
///         bail!("notes are numbered from 1");
///     }
///     Ok(format!("note {id}, {}", part.unwrap_or_default()))
/// }
/// ```
///
/// Each variable of the template needs an argument of the same name, and each argument a variable; injected parameters do
/// not count. Templates follow RFC 6570 up to level 3, with `*`. `{id:3}` is rejected, because the truncated rest cannot be
/// restored.
///
/// A list parameter needs a variable with `*`: `{ids*}` reads `1,2`, `{/path*}` reads `/a/b`, `{?tags*}` reads
/// `?tags=a&tags=b`. For a string parameter, such a variable yields the whole text.
///
/// A URI does not match if one of its variables contains NUL, has `..` as a whole segment, or begins with `/`, `\` or a drive
/// letter such as `C:`, whatever the expression and however the value is encoded: such values lead out of the directory they
/// are joined to. Dots inside a segment, as in `v1..2`, are allowed. With `#[arg(any_path)]`, a parameter accepts these values
/// too; the function must then validate them before it uses them as a path. Source: revision 2026-07-28, server/resources,
/// "Security Considerations".
///
/// The options are those of [`resource`](macro@resource) without `size`, plus `list`: the path of a function that returns the
/// matching resources for `resources/list`. All its parameters are injected.
///
/// ```compile_fail
/// # use mcp_runtime::prelude::*;
/// #[resource_template("notes:///{id}")] // URI template variable `id` has no parameter of that name; this function has `key`
/// fn note(key: String) -> String {
///     key
/// }
/// ```
///
/// Source: revision 2026-07-28, server/resources, "Resource Templates".
#[doc(inline)]
pub use mcp_macros::resource_template;

/// Turns a function into a completer: it suggests values for an argument while the user types. The function of the same name
/// selects a completer: `completer(frameworks)`.
///
/// ```
/// use mcp_runtime::prelude::*;
///
/// #[prompt]
/// fn code_review(code: &str, language: &str, #[complete(frameworks)] framework: &str) -> String {
///     format!("Review this {language} code with {framework} in mind:\n{code}")
/// }
///
/// /// Frameworks for the language chosen so far.
/// #[completer]
/// async fn frameworks(partial: &str, language: Option<String>) -> Vec<&'static str> {
///     let _ = partial;
///     match language.as_deref() {
///         Some("rust") => vec!["axum", "rocket"],
///         _ => Vec::new(),
///     }
/// }
/// ```
///
/// The first parameter is the text typed so far. The others are injected, or are arguments that the user has already filled in,
/// matched by name. Candidates may be in any order: the framework ranks them and sends at most 100.
///
/// To use a completer, put `#[complete(frameworks)]` on a parameter of a [`prompt`](macro@prompt) or
/// [`resource_template`](macro@resource_template). Where that is not possible, the completer can name the argument instead:
///
/// | Option | Value | Meaning |
/// |---|---|---|
/// | `prompt` | path of a prompt, where it is defined | the prompt with the argument |
/// | `template` | path of a resource template, where it is defined | the template with the variable |
/// | `argument` | string | the name of the argument or variable |
/// | `timeout`, `rate`, `concurrency`, `max_output` | as in [`tool`](macro@tool) | limits on duration, rate, concurrency and result size |
/// | `crate` | a path | the path of the runtime crate; default `::mcp_runtime` |
///
/// Source: revision 2026-07-28, server/utilities/completion.
#[doc(inline)]
pub use mcp_macros::completer;

/// Allows the attributes on methods. Put it on the `impl` block.
///
/// ```
/// use std::sync::Mutex;
///
/// use mcp_runtime::prelude::*;
///
/// struct Notes(Mutex<Vec<String>>);
///
/// #[server]
/// impl Notes {
///     /// Adds a note.
///     #[tool]
///     fn add(&self, text: String) -> Result<usize> {
///         let mut notes = self.0.lock().unwrap_or_else(|error| error.into_inner());
///         notes.push(text);
///         Ok(notes.len())
///     }
/// }
/// ```
///
/// Methods take `&self`, because calls run concurrently. Pass the value to the server with `.handlers(…)`. A type may have
/// several such blocks. Functions without `self` work like free functions.
///
/// | Option | Value | Meaning |
/// |---|---|---|
/// | `crate` | a path | the path of the runtime crate, for all methods; default `::mcp_runtime` |
#[doc(inline)]
pub use mcp_macros::server;

/// Makes `main` asynchronous, on a runtime with one worker per core, but at least two: while a handler blocks one worker,
/// another can answer.
///
/// ```no_run
/// #[mcp_runtime::main]
/// async fn main() -> Result<(), std::io::Error> {
///     Ok(())
/// }
/// ```
///
/// Requires the feature `main`, which is on by default. `#[tokio::main]` works as well.
///
/// | Option | Value | Meaning |
/// |---|---|---|
/// | `crate` | a path | the path of the runtime crate; default `::mcp_runtime` |
#[doc(inline)]
#[cfg(feature = "main")]
pub use mcp_macros::main;

/// Makes a struct a form for [`Context::elicit`](crate::Context::elicit), or an enum a choice in a form.
///
/// ```
/// use mcp_runtime::Elicit;
///
/// #[derive(Elicit)]
/// struct Booking {
///     /// Where to send the confirmation
///     #[elicit(format = "email")]
///     email: String,
///     /// How many nights
///     #[elicit(range(1..=14), default = 2)]
///     nights: u32,
///     #[elicit(title = "Kind of room")]
///     room: Option<Room>,
///     #[elicit(length(..=2))]
///     extras: Vec<Extra>,
/// }
///
/// #[derive(Elicit)]
/// enum Room {
///     /// One bed
///     Single,
///     /// Two beds
///     Double,
/// }
///
/// #[derive(Elicit)]
/// enum Extra {
///     Breakfast,
///     Parking,
/// }
/// ```
///
/// Forms are flat. A field is a string, a number, a `bool`, an enum that derives `Elicit`, a `Vec` of such an enum, or an
/// `Option` of one of these, which the user may leave empty. The doc comment of a field is its description; the doc comment
/// of a variant is the title of the choice. No other derive is needed.
///
/// | Option of a field | Value | Meaning | On the wire |
/// |---|---|---|---|
/// | `name` | `"string"` | the name in the client's answer, instead of the field's name | the property's name |
/// | `title` | `"string"` | the display name | `title` |
/// | `description` | `"string"` | instructions for the user, instead of the doc comment | `description` |
/// | `default` | a literal; for a choice, its value as a string | the value that the form starts with | `default`, since 2025-11-25; for `bool` always |
/// | `range(1..=14)` | numbers | the allowed numbers | `minimum`, `maximum` |
/// | `length(..=200)` | whole numbers | the allowed number of characters or choices | `minLength`, `maxLength`, `minItems`, `maxItems` |
/// | `format` | `"email"`, `"uri"`, `"date"`, `"date-time"` | the format of the string | `format` |
///
/// | Option of a variant | Value | Meaning |
/// |---|---|---|
/// | `name` | `"string"` | the value in the client's answer, instead of the variant's name |
/// | `title` | `"string"` | the display name, instead of the doc comment |
///
/// On the type, `crate = path` sets the path of the runtime crate; default `::mcp_runtime`.
#[doc(inline)]
pub use mcp_macros::Elicit;

/// Derives everything that a type needs in arguments and results: `Serialize`, `Deserialize` and `JsonSchema`, through the
/// runtime's re-exports, so that you need no dependency on serde or schemars.
///
/// ```
/// use mcp_runtime::prelude::*;
///
/// #[data]
/// #[serde(rename_all = "camelCase")]
/// struct Place {
///     /// Name of the city
///     city: String,
///     zip_code: Option<String>,
/// }
///
/// /// Looks a place up.
/// #[tool]
/// fn look_up(place: Place) -> Json<Place> {
///     Json(place)
/// }
/// ```
///
/// Unknown fields are rejected, with a suggestion, as if the type had `#[serde(deny_unknown_fields)]`. Otherwise a model that
/// misspells the name of an optional field would never find out. Types with a `#[serde(flatten)]` field are exempt.
///
/// Put `#[data]` above the `#[serde(…)]` and `#[schemars(…)]` attributes of the type. A program that depends on serde and
/// schemars itself can use their derives as usual.
///
/// | Option | Meaning |
/// |---|---|
/// | `input` | the type is only received: no `Serialize` |
/// | `output` | the type is only sent: no `Deserialize` |
/// | `allow_unknown_fields` | unknown fields are ignored, for example because the type is also read from files of other programs |
/// | `crate = path` | the path of the runtime crate; default `::mcp_runtime` |
#[doc(inline)]
pub use mcp_macros::data;

/// Marks an error type whose message the model may read, wherever a handler fails with it, with `?` or by returning it.
///
/// ```
/// use mcp_runtime::prelude::*;
///
/// #[expose]
/// #[derive(Debug)]
/// enum NoteError {
///     Missing(u32),
/// }
///
/// impl std::fmt::Display for NoteError {
///     fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
///         let Self::Missing(id) = self;
///         write!(f, "there is no note {id}; `search` lists all notes")
///     }
/// }
///
/// impl std::error::Error for NoteError {}
///
/// fn find(id: u32) -> Result<String, NoteError> {
///     Err(NoteError::Missing(id))
/// }
///
/// /// Reads a note.
/// #[tool]
/// fn read(id: u32) -> Result<String> {
///     Ok(find(id)?) // the model reads: there is no note 7; `search` lists all notes
/// }
/// ```
///
/// The messages of all other error types stay hidden, unless `.expose()` is called where the error occurs. The message also
/// stays hidden if another error, such as `anyhow::Error`, wraps this one. The type must implement `std::error::Error`, by
/// hand or by any derive, and must not be generic.
///
/// | Option | Meaning |
/// |---|---|
/// | `crate = path` | the path of the runtime crate; default `::mcp_runtime` |
#[doc(inline)]
pub use mcp_macros::expose;

pub use crate::handler::definition::{completer, prompt, resource, resource_template, tool};
