//! The attributes and their documentation, together with the functions of the same names that select annotated
//! functions.
//!
//! The `tool` attribute is a macro and the `tool` function is a value, so a single import brings both into scope.

/// Turns a function into a tool that models can call. To select a tool, call the `tool` function, as in `tool(add)`.
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
/// [`Context`](crate::Context) and [`State`](crate::State) do. Only these traits matter, not the name of the type.
/// `&T`, `&str` and `&[T]` borrow for the duration of the call. The function may be `async` and may return any type
/// that implements [`IntoToolResult`]: strings, numbers, content, [`Json`](crate::Json) for structured output, and
/// `Result`s of these.
///
/// [`IntoToolResult`]: trait@crate::handler::IntoToolResult
///
/// | Option | Value | Default | Meaning | On the wire |
/// |---|---|---|---|---|
/// | `read_only` | flag | unspecified | the tool does not change any data | `annotations.readOnlyHint` |
/// | `destructive` | flag | unspecified, which clients treat as true | the tool may delete or overwrite data | `annotations.destructiveHint` |
/// | `title` | string | none | the display name | `title` |
/// | `timeout` | `"250ms"`, `"5s"`, `"2m"`, `"1h"`, or a constant of type `Duration` | the server's | maximum duration of a call | an error if exceeded |
/// | `task` | `task`, `task = required`, or `task(required, manual, ttl = "1h", poll = "2s", patience = "45s")` | not a task | for clients that support tasks, calls continue after their request has been answered | `execution.taskSupport` |
/// | **More:** | | | | |
/// | `name` | string, 1 to 128 of `A-Z a-z 0-9 _ - .` | the function's name | the name in calls | `name` |
/// | `description` | string, or an expression of type `&'static str` | the doc comment | the description of the tool | `description` |
/// | `idempotent` | flag | unspecified | repeated calls have no further effect | `annotations.idempotentHint` |
/// | `idempotent_by` | names of arguments: `"order_id"`, `"shop, order_id"` | none | a call with the same values for these arguments does not run again, but gets the result of the first one ([Retries](crate::guide::retries)); arguments that are missing or `null` do not count | `annotations.idempotentHint`, unless `idempotent` says otherwise |
/// | `open_world` | flag | unspecified, which clients treat as true | the tool interacts with the world outside the server | `annotations.openWorldHint` |
/// | `icons` | `["https://…", icon(src = "…", mime_type = "…", sizes = "48x48 any", theme = "dark")]` | none | icons for user interfaces, each given as an `https:` or `data:` URI | `icons` |
/// | `meta` | an expression of type `serde_json::Value`, an object | none | additional metadata | `_meta` |
/// | `tags("…", …)` | strings | none | tags for selection | nothing |
/// | `scopes` | such as `("notes:read", "notes:write")` | none | the required scopes; a caller must have all of them (see below) | an error if any is missing |
/// | `visible_if` | the path of a `fn(&Caller) -> bool` | visible to all | returns `true` for callers who can see the tool | nothing |
/// | `blocking` | flag | no | the function blocks, so each call runs on a separate thread | nothing |
/// | `rate` | `"10/min"`, `"5/s burst 20"`, `"100/h per caller"`, `"60/min per claim tenant"` | none | maximum rate of calls | an error if exceeded |
/// | `concurrency` | whole number, or a constant of type `usize` | none | maximum number of concurrent calls; others wait | an error if too many are waiting |
/// | `max_output` | `"512B"`, `"256KB"`, `"64KiB"`, `"1MB"`, `"1MiB"`, `"500 tokens"`, `"6k tokens"` (four bytes each), or a constant of type `usize` | the server's | maximum size of a result | an error if exceeded |
/// | `spill` | flag; needs a `max_output` of at least 2,000 bytes | no | a larger result is kept for a while, and the model reads it in parts with the `read_result` tool | no `outputSchema`; the first part and a `resource_link` |
/// | `requires` | any of `sampling`, `sampling_tools`, `elicitation`, `elicitation_url`, `roots` | nothing | features that the client must support | an error if any is missing |
/// | `text` | `"compact"`, `"none"` or `"table"` | `"compact"` | the text of a result that is `Json<T>`: its JSON, nothing (except for clients before 2025-06-18, which read nothing else), or a Markdown table of its rows | the text in `content` |
/// | `app` | the path of a type with [`#[app]`](macro@app) | none | the page that shows the results | `_meta.ui.resourceUri` |
/// | `visibility` | `model`, `app`, or both | both | the tool's users, for hosts that show apps: the model, the page, or both | `_meta.ui.visibility` |
/// | `rename_all` | `"camelCase"`, `"kebab-case"` or another rule of serde | the parameters' names | turns the names of parameters into those of arguments; `#[arg(name = …)]` takes precedence | the properties |
/// | `schema` | a `Schema`, a `serde_json::Value` or a JSON string | generated from the parameters | the input schema, sent unchanged | `inputSchema` |
/// | `strict` | flag | no | arguments are not coerced, so a number in quotes is an error | nothing |
/// | `ttl` | as `timeout` | unspecified | how long a client may cache the result | `ttlMs` |
/// | `cache` | `"public"` or `"private"` | unspecified | whether the cached result may be shared between users | `cacheScope` |
/// | `crate` | a path | `::mcp_runtime` | the path of the runtime crate | nothing |
///
/// Write a flag as `read_only` or `read_only = false`.
///
/// # Parameters
///
/// A parameter's doc comment becomes the argument's description. `#[arg(…)]` accepts additional options. Constraints
/// appear in the schema and, except for `format`, are enforced. The types in the schema are enforced even if the Rust
/// type accepts more than its schema allows.
///
/// | Option | Value | Meaning | In the schema |
/// |---|---|---|---|
/// | `range` | `1..=100`, `0.5..`, `..10` | the allowed numbers | `minimum`, `maximum`; `exclusiveMaximum` for a decimal range that excludes its end |
/// | `default` | a literal (the JSON that a client could have sent), a Rust expression, or nothing to use `Default` | the value of an omitted argument | `default` |
/// | `length` | `1..=200`, `..=10`, `5` | the allowed number of characters or items | `minLength`, `maxItems`, … |
/// | `pattern` | a regular expression | must match somewhere in the string | `pattern` |
/// | `description` | string, or an expression of type `&'static str` | the description, instead of the doc comment | `description` |
/// | **More:** | | | |
/// | `name` | string | the name on the wire, instead of the parameter's name | the property |
/// | `exclusive_minimum` | a number such as `0.0` | numbers must be more than this | `exclusiveMinimum` |
/// | `format` | such as `"date"` | the format of the string; not enforced | `format`, or the description if model APIs do not list it |
/// | `items` | any of `range`, `exclusive_minimum`, `length`, `pattern`, `format`, `items` | the constraints of each item | `items` |
/// | `example` | a literal | a sample value | `examples` |
/// | `header` | a token such as `Region` | the suffix of the HTTP header in which clients mirror the argument, such as `Mcp-Param-Region` | `x-mcp-header` |
/// | `flatten` | none | each field of the type is a separate argument | the properties |
/// | `any_path` | none | for variables of a [`resource_template`](macro@resource_template): also accepts values that lead out of a directory | |
///
/// # Access
///
/// A tool with `scopes` is omitted from the lists sent to callers who lack any of those scopes. If such a caller calls
/// it anyway, the call is rejected before any of the tool's code runs. The error names all required scopes so that the
/// client can request them; over HTTP, the response has status 403 and a challenge. To callers rejected by the
/// `visible_if` function, the tool appears not to exist. This function runs for every list request and every call, so
/// it must not block. If it panics, the caller is rejected.
///
/// Scopes are granted through credentials. Scopes do not apply over standard input and output or within the same
/// process: see [`Caller`](crate::Caller). Caches never share caller-dependent lists or results between users,
/// regardless of `cache`.
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
/// A parameter of type [`Principal`](crate::Principal) receives the authenticated caller. A tool with such a parameter
/// rejects callers without credentials, unless the type is `Option<Principal>`. Source: revisions since 2025-03-26,
/// basic/authorization.
///
/// # Mistakes
///
/// Mistakes are reported at compile time if possible, all of them in a single run:
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

/// Turns a function into a prompt: a set of messages with which a user can start a conversation. To select a prompt,
/// call the `prompt` function, as in `prompt(code_review)`.
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
/// Parameters work as in [`tool`](macro@tool), except that arguments are sent as strings and parsed into the parameter
/// types. Enums and booleans are completed automatically. For other types, `#[complete(["formal", "friendly"])]`
/// suggests the given strings but accepts any other string, and `#[complete(function)]` names a
/// [`completer`](macro@completer).
///
/// | Option | Value | Default | Meaning | On the wire |
/// |---|---|---|---|---|
/// | `title` | string | none | the display name | `title` |
/// | `description` | string, or an expression of type `&'static str` | the doc comment | the description of the prompt | `description` |
/// | `tags("…", …)` | strings | none | tags for selection | nothing |
/// | `icons` | as in [`tool`](macro@tool) | none | icons for user interfaces | `icons` |
/// | `name` | string | the function's name | the name in requests | `name` |
/// | **More:** | | | | |
/// | `rename_all` | as in [`tool`](macro@tool) | the parameters' names | turns the names of parameters into those of arguments | the names in `arguments` |
/// | `meta` | an expression of type `serde_json::Value`, an object | none | additional metadata | `_meta` |
/// | `scopes`, `visible_if` | as in [`tool`](macro@tool) | unrestricted | restrict use and visibility | nothing |
/// | `timeout`, `rate`, `concurrency`, `max_output` | as in [`tool`](macro@tool) | as in [`tool`](macro@tool) | limits on duration, rate, concurrency and result size | an error if exceeded |
/// | `crate` | a path | `::mcp_runtime` | the path of the runtime crate | nothing |
///
/// Source: revision 2026-07-28, server/prompts.
#[doc(inline)]
pub use mcp_macros::prompt;

/// Turns a function into a resource that clients read at a fixed URI. To select a resource, call the `resource`
/// function, as in `resource(config)`.
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
/// All parameters are injected, because resources do not have arguments. The URI must come first, followed by any
/// options:
///
/// | Option | Value | Default | Meaning | On the wire |
/// |---|---|---|---|---|
/// | `mime_type` | such as `"text/markdown"` | unspecified | the media type of the contents | `mimeType` |
/// | `title` | string | none | the display name | `title` |
/// | `description` | string, or an expression of type `&'static str` | the doc comment | the description of the resource | `description` |
/// | `ttl` | `"250ms"`, `"5s"`, `"2m"`, `"1h"`, or a constant of type `Duration` | unspecified | how long a client may cache the contents | `ttlMs` |
/// | `cache` | `"public"` or `"private"` | unspecified | whether the cached contents may be shared between users | `cacheScope` |
/// | **More:** | | | | |
/// | `name` | string | the function's name | the name used by programs | `name` |
/// | `size` | whole number | unspecified | the size in bytes | `size` |
/// | `audience` | `user`, `assistant`, or both | unspecified | the intended audience | `annotations.audience` |
/// | `priority` | 0.0 to 1.0 | unspecified | the importance, from 0.0 (optional) to 1.0 (required) | `annotations.priority` |
/// | `last_modified` | ISO 8601 date, or date and time | unspecified | the time of the last change | `annotations.lastModified` |
/// | `icons` | as in [`tool`](macro@tool) | none | icons for user interfaces | `icons` |
/// | `meta` | an expression of type `serde_json::Value`, an object | none | additional metadata | `_meta` |
/// | `tags("…", …)` | strings | none | tags for selection | nothing |
/// | `scopes`, `visible_if` | as in [`tool`](macro@tool) | unrestricted | restrict use and visibility | nothing |
/// | `timeout`, `rate`, `concurrency`, `max_output` | as in [`tool`](macro@tool) | as in [`tool`](macro@tool) | limits on duration, rate, concurrency and result size | an error if exceeded |
/// | `crate` | a path | `::mcp_runtime` | the path of the runtime crate | nothing |
///
/// Source: revision 2026-07-28, server/resources.
#[doc(inline)]
pub use mcp_macros::resource;

/// Turns a function into a resource template. The function reads every resource whose URI matches the template. To
/// select a template, call the `resource_template` function, as in `resource_template(note)`.
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
/// Each variable in the template needs an argument with the same name, and vice versa; injected parameters do not
/// count. Templates follow RFC 6570 up to level 3, plus the `*` modifier. `{id:3}` is rejected because the truncated
/// part of the value cannot be restored.
///
/// A list parameter needs a variable with `*`: `{ids*}` matches `1,2`, `{/path*}` matches `/a/b`, and `{?tags*}`
/// matches `?tags=a&tags=b`. A string parameter receives the entire text matched by such a variable.
///
/// A URI does not match if one of its variables contains NUL, has `..` as a whole segment, or begins with `/`, `\` or a
/// drive letter such as `C:`. This applies to every kind of expression and every encoding, because such a value would
/// lead out of the directory to which it is joined. Dots inside a segment, as in `v1..2`, are allowed. A parameter with
/// `#[arg(any_path)]` accepts these values as well; the function must then validate them before using them as paths.
/// Source: revision 2026-07-28, server/resources, "Security Considerations".
///
/// | Option | Value | Default | Meaning | On the wire |
/// |---|---|---|---|---|
/// | `list` | the path of a function; all its parameters are injected | none | returns the matching resources | the resources in `resources/list` |
/// | `mime_type` | such as `"text/markdown"` | unspecified | the media type of the contents | `mimeType` |
/// | `title` | string | none | the display name | `title` |
/// | `description` | string, or an expression of type `&'static str` | the doc comment | the description of the template | `description` |
/// | `ttl` | as in [`resource`](macro@resource) | unspecified | how long a client may cache the contents | `ttlMs` |
/// | **More:** | | | | |
/// | all others of [`resource`](macro@resource), except for `size` | | | | |
///
/// ```compile_fail
/// # use mcp_runtime::prelude::*;
/// #[resource_template("notes:///{id}")] // URI template variable `id` has no parameter with that name; this function has `key`
/// fn note(key: String) -> String {
///     key
/// }
/// ```
///
/// Source: revision 2026-07-28, server/resources, "Resource Templates".
#[doc(inline)]
pub use mcp_macros::resource_template;

/// Turns a function into a completer, which suggests values for an argument while the user types. To select a
/// completer, call the `completer` function, as in `completer(frameworks)`.
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
/// The first parameter is the text typed so far. The other parameters are either injected or receive arguments that the
/// user has already filled in, matched by name. Candidates may be in any order, because the framework ranks them and
/// sends only the best 100.
///
/// To use a completer, put `#[complete(frameworks)]` on a parameter of a [`prompt`](macro@prompt) or
/// [`resource_template`](macro@resource_template). If that is not possible, the completer can name the argument
/// instead:
///
/// | Option | Value | Meaning |
/// |---|---|---|
/// | `prompt` | path to the definition of a prompt | the prompt that has the argument |
/// | `argument` | string | the name of the argument or variable |
/// | `template` | path to the definition of a resource template | the template that has the variable |
/// | `timeout`, `rate`, `concurrency`, `max_output` | as in [`tool`](macro@tool) | limits on duration, rate, concurrency and result size |
/// | `crate` | a path | the path of the runtime crate; default `::mcp_runtime` |
///
/// Source: revision 2026-07-28, server/utilities/completion.
#[doc(inline)]
pub use mcp_macros::completer;

/// Allows the other attributes to be used on a type's methods. Put this attribute on the `impl` block.
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
/// Methods take `&self`, because calls run concurrently. Pass the value to the server with `.handlers(…)`. A type may
/// have several such blocks. Associated functions without `self` work like free functions.
///
/// | Option | Value | Meaning |
/// |---|---|---|
/// | `crate` | a path | the path of the runtime crate, for all methods; default `::mcp_runtime` |
#[doc(inline)]
pub use mcp_macros::server;

/// Makes `main` asynchronous. The runtime has one worker per core, but at least two workers, so that one of them can
/// still respond while a handler is blocking another.
///
/// ```no_run
/// #[mcp_runtime::main]
/// async fn main() -> Result<(), std::io::Error> {
///     Ok(())
/// }
/// ```
///
/// If `main` returns an error, it is printed with its causes as people read it, also if it is boxed: `Error: cannot listen:
/// caused by …`. The exit status is then 1. Errors that are neither `std::error::Error` nor strings, such as those of
/// `anyhow`, are printed in their own form.
///
/// Requires the `main` feature, which is enabled by default. `#[tokio::main]` works as well.
///
/// | Option | Value | Meaning |
/// |---|---|---|
/// | `crate` | a path | the path of the runtime crate; default `::mcp_runtime` |
#[doc(inline)]
#[cfg(feature = "main")]
pub use mcp_macros::main;

/// Turns a struct into a form for [`Context::elicit`](crate::Context::elicit), or an enum into a choice in a form.
///
/// ```
/// use mcp_runtime::Elicit;
///
/// #[derive(Elicit)]
/// struct Booking {
///     /// Where to send the confirmation
///     #[arg(format = "email")]
///     email: String,
///     /// How many nights
///     #[arg(range(1..=14), default = 2)]
///     nights: u32,
///     #[arg(title = "Kind of room")]
///     room: Option<Room>,
///     #[arg(length(..=2))]
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
/// Forms are flat. A field is a string, a number, a `bool`, an enum that derives `Elicit`, a `Vec` of such an enum, or
/// an `Option` of one of these. The user may leave optional fields empty. A field's doc comment is its description; a
/// variant's doc comment is the choice's title. No other derive is needed. `#[serde(rename_all = "…")]` and
/// `#[serde(rename = "…")]` apply to forms as well, so that a type has the same names in forms and schemas.
///
/// Fields take the options of [parameters](macro@tool#parameters) in `#[arg(…)]`, as far as the protocol's forms can
/// express them, and a `title`:
///
/// | Option | Value | Meaning | On the wire |
/// |---|---|---|---|
/// | `range` | `1..=14`, `0.5..`; an end that is excluded, as in `..10`, only for integers | the allowed numbers | `minimum`, `maximum` |
/// | `default` | a literal, a Rust expression, or nothing to use `Default`; a choice is written as its value, a string | the initial value in the form | `default`, since 2025-11-25 (for `bool`, in all versions) |
/// | `length` | `1..=200`, `..=10`, `5` | the allowed number of characters or choices | `minLength`, `maxLength`, `minItems`, `maxItems` |
/// | `format` | `"email"`, `"uri"`, `"date"`, `"date-time"` | the format of the string | `format` |
/// | `title` | string | the display name | `title` |
/// | **More:** | | | |
/// | `name` | string | the name in the client's answer, instead of serde's name for the field | the property's name |
/// | `description` | string, or an expression of type `&'static str` | instructions for the user, instead of the doc comment | `description` |
/// | `exclusive_minimum` | a whole number | integers must be more than this | `minimum` |
///
/// On a variant of a choice, `#[arg(…)]` takes `title`, the display name instead of the doc comment, and `name`, the value in
/// the client's answer instead of serde's name for the variant. On the type, `#[elicit(crate = path)]` sets the path of the
/// runtime crate, which defaults to `::mcp_runtime`.
#[doc(inline)]
pub use mcp_macros::Elicit;

/// Derives everything that a type needs to be used in arguments and results: `Serialize`, `Deserialize` and
/// `JsonSchema`, through the runtime's re-exports, so that you do not need a dependency on serde or schemars.
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
/// Unknown fields are rejected, with a suggestion, as if the type had `#[serde(deny_unknown_fields)]`. Otherwise, a
/// model that misspells the name of an optional field would never find out. Types with a `#[serde(flatten)]` field are
/// exempt.
///
/// A field's doc comment is its description. `#[arg(…)]` describes a field with the options of
/// [parameters](macro@tool#parameters), except for `header`, `flatten` and `any_path`. The schema is the same, and so is its
/// enforcement:
///
/// ```
/// use mcp_runtime::prelude::*;
///
/// #[data(input)]
/// struct Ticket {
///     #[arg(length(1..=80))]
///     title: String,
///     /// Urgency
///     #[arg(range(1..=5), default = 3)]
///     urgency: u8,
/// }
/// ```
///
/// The attributes of serde and schemars work beside it; what both of them say is a compile error. Put `#[data]` above the
/// `#[serde(…)]` and `#[schemars(…)]` attributes of the type. A program that depends directly on serde and schemars can use
/// their derives as usual.
///
/// | Option | Meaning |
/// |---|---|
/// | `input` | values of the type are only received, so `Serialize` is not derived |
/// | `output` | values of the type are only sent, so `Deserialize` is not derived |
/// | `allow_unknown_fields` | unknown fields are ignored, for example because the type is also read from files written by other programs |
/// | `display` | for an enum whose variants have no data: `Display` prints the variant's name as clients send it |
/// | `crate = path` | the path of the runtime crate; default `::mcp_runtime` |
#[doc(inline)]
pub use mcp_macros::data;

/// Marks an error type as safe to show to the model. Whenever a handler returns such an error, directly or through `?`,
/// the model receives the error's message.
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
/// In an enum, `#[expose]` on some of the variants marks only those variants; the other variants' messages remain
/// hidden. This includes variants that pass on another error, such as those with `thiserror`'s
/// `#[error(transparent)]`:
///
/// ```
/// # #[derive(Debug)] struct Refused;
/// # impl std::fmt::Display for Refused { fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result { f.write_str("refused") } }
/// # impl std::error::Error for Refused {}
/// use mcp_runtime::expose;
///
/// #[expose]
/// #[derive(Debug)]
/// enum StoreError {
///     #[expose]
///     Refused(Refused), // with thiserror: #[error(transparent)] Refused(#[from] Refused)
///     Database(std::io::Error),
/// }
/// # impl std::fmt::Display for StoreError { fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result { match self { Self::Refused(it) => it.fmt(f), Self::Database(it) => it.fmt(f) } } }
/// # impl std::error::Error for StoreError {}
/// ```
///
/// If an unmarked error wraps a marked error ([`source`](std::error::Error::source)), the model reads the inner error's
/// message. The messages of all other errors remain hidden unless `.expose()` is called where they occur. The type must
/// implement `std::error::Error`, either manually or through any derive, and must not be generic.
///
/// | Option | Meaning |
/// |---|---|
/// | `crate = path` | the path of the runtime crate; default `::mcp_runtime` |
#[doc(inline)]
pub use mcp_macros::expose;

/// Embeds a folder's skills in the program, for [`Server::with`](crate::Server::with). The path is relative to the
/// directory of the package's `Cargo.toml`.
///
/// ```no_run
/// # macro_rules! skills { ($folder:literal) => { mcp_runtime::skills!("../examples/skills/") } }
/// use mcp_runtime::prelude::*;
///
/// let server = new_server!().with(skills!("skills/"));
/// ```
///
/// The skills are read and checked when the program is compiled. Every mistake is a compile error that names the file.
/// The program contains the files' bytes and their digests, so no files are read at run time.
///
/// The program is recompiled when a file changes or disappears. When a file is added, the program is recompiled only if
/// the package has a build script with this line:
///
/// ```
/// println!("cargo::rerun-if-changed=skills");
/// ```
///
/// The result is of type [`Skills`](crate::skills::Skills), so you can add other skills and make visibility depend on
/// the caller.
///
/// | Option | Meaning |
/// |---|---|
/// | `crate = path` | the path of the runtime crate; default `::mcp_runtime` |
///
/// Limits: 512 files and 16 MiB for each skill. Hidden files are omitted.
#[doc(inline)]
#[cfg(feature = "skills")]
pub use mcp_macros::skills;

/// Embeds a page that hosts display next to tool results, using the extension `io.modelcontextprotocol/ui` (MCP Apps).
///
/// ```ignore
/// use mcp_runtime::prelude::*;
///
/// /// Sales by month, as bars.
/// #[app("ui/chart.html", csp(connect_domains("https://api.example.com")))]
/// struct Chart;
///
/// /// Returns the sales of a year.
/// #[tool(app = Chart)]
/// fn sales(year: u16) -> Json<Sales> {
///     Json(Sales::of(year))
/// }
/// ```
///
/// The path is relative to the directory of the package's `Cargo.toml`. The page becomes part of the program, which is
/// recompiled when the file changes. It is an error if the file does not exist, is not UTF-8, or is larger than 4 MiB.
/// A script element `<script src="mcp-app.js"></script>` is replaced with a script that defines `mcpApp`, through which
/// the page communicates with its host. The guide's page about apps describes its functions.
///
/// | Option | Value | Default | Meaning | On the wire |
/// |---|---|---|---|---|
/// | `uri` | a URI that begins with `ui://` | `ui://PACKAGE/PATH` | the URI of the page | `uri`, `_meta.ui.resourceUri` of tools |
/// | `csp(…)` | see below | no origins | the origins that the page uses; the host refuses all others | `_meta.ui.csp` |
/// | `permissions(…)` | any of `camera`, `microphone`, `geolocation`, `clipboard_write` | none | browser features that the page requests | `_meta.ui.permissions` |
/// | `domain` | string | the host's choice | the origin on which the host serves the page; each host documents its format | `_meta.ui.domain` |
/// | `prefers_border` | flag | the host's choice | the host draws a border and a background | `_meta.ui.prefersBorder` |
/// | `deprecated_key` | flag | no | tools also name the page in the deprecated key, for hosts that read nothing else | `_meta["ui/resourceUri"]` of tools |
/// | `name`, `title`, `description`, `icons`, `meta`, `tags`, `scopes`, `visible_if`, `ttl`, `cache`, `timeout`, `rate`, `concurrency`, `max_output`, `crate` | as in [`resource`](macro@resource) | as in [`resource`](macro@resource) | as in [`resource`](macro@resource) | |
///
/// Each option in `csp(…)` lists origins, such as `"https://api.example.com"`, `"https://*.example.com"` or
/// `"wss://live.example.com:8443"`:
///
/// | Option | Allows |
/// |---|---|
/// | `connect_domains` | requests by scripts |
/// | `resource_domains` | scripts, styles, images, fonts and media |
/// | `frame_domains` | nested frames |
/// | `base_uri_domains` | the base of the page's links |
///
/// A page is served whenever a tool that names it is served.
///
/// Source: the extension `io.modelcontextprotocol/ui`, version 2026-01-26.
#[doc(inline)]
pub use mcp_macros::app;

pub use mcp_core::handler::definition::{completer, prompt, resource, resource_template, tool};
