//! The attributes, with their documentation, and the functions of the same names that select what they annotate.
//!
//! `tool` the attribute is a macro and `tool` the function is a value, so one import brings both.

/// Makes a function a tool: something the model can call. As a function, selects it: `tool(add)`.
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
/// assert_eq!(add(1, 2), 3); // it stays an ordinary function
/// ```
///
/// The doc comment is the description the model reads. A parameter is an *argument* if its type is `Deserialize` and
/// `JsonSchema`, and *injected* if it is [`FromContext`](crate::FromContext), such as [`Context`](crate::Context) and
/// [`State`](crate::State); the compiler decides, whatever the type is called. `&T`, `&str` and `&[T]` are lent for the
/// time of the call. The function may be `async`, and may return whatever is [`IntoToolResult`]: text, numbers, content,
/// [`Json`](crate::Json) for structured output, and `Result`s of these.
///
/// [`IntoToolResult`]: trait@crate::IntoToolResult
///
/// | Option | Value | Default | Meaning | On the wire |
/// |---|---|---|---|---|
/// | `name` | text, 1 to 128 of `A-Z a-z 0-9 _ - .` | name of the function | what a call uses | `name` |
/// | `title` | text | none | a name for people | `title` |
/// | `description` | text, or an expression of type `&'static str` | the doc comment | what it does | `description` |
/// | `read_only` | flag | not said | changes nothing | `annotations.readOnlyHint` |
/// | `destructive` | flag | not said, which clients take for true | may delete or overwrite | `annotations.destructiveHint` |
/// | `idempotent` | flag | not said | calling it again changes nothing more | `annotations.idempotentHint` |
/// | `open_world` | flag | not said, which clients take for true | reaches things outside the server | `annotations.openWorldHint` |
/// | `icons` | `["https://…", icon(src = "…", mime_type = "…", sizes = "48x48 any", theme = "dark")]` | none | pictures for user interfaces, each an `https:` or `data:` URI | `icons` |
/// | `meta` | an expression of type `serde_json::Value`, an object | none | anything else | `_meta` |
/// | `group` | text | none | what it can be selected by | nothing |
/// | `scopes` | such as `("notes:read", "notes:write")` | none | what a caller must be granted, all of it; see below | a refusal, if it is not |
/// | `visible_if` | the path of a `fn(&Caller) -> bool` | there for all | whether it is there for a caller | nothing |
/// | `blocking` | flag | no | blocks its thread, so it gets one of its own | nothing |
/// | `timeout` | `"250ms"`, `"5s"`, `"2m"`, `"1h"`, or a constant of type `Duration` | that of the server | how long a call may take | an error, if it takes longer |
/// | `rate` | `"10/min"`, `"5/s burst 20"`, `"100/h per caller"` | none | how often it may be called | an error, if it is called more often |
/// | `concurrency` | whole number, or a constant of type `usize` | none | how many calls may run at once; others wait | an error, if too many wait |
/// | `max_output` | `"512B"`, `"256KB"`, `"64KiB"`, `"1MB"`, `"1MiB"`, or a constant of type `usize` | that of the server | how long an answer may be | an error, if it is longer |
/// | `requires` | of `sampling`, `sampling_tools`, `elicitation`, `elicitation_url`, `roots` | nothing | what the client must be able to do | an error, if it cannot |
/// | `schema` | a `Schema`, a `serde_json::Value` or JSON text | from the parameters | the schema, served as it is | `inputSchema` |
/// | `strict` | flag | no | a number in quotes is no number | nothing |
/// | `ttl` | as `timeout` | not said | how long a client may reuse the answer | `ttlMs` |
/// | `cache` | `"public"` or `"private"` | not said | who may share the answer | `cacheScope` |
/// | `crate` | a path | `::mcp_runtime` | where the runtime is | nothing |
///
/// A flag is written `read_only`, or `read_only = false`.
///
/// # Parameters
///
/// The doc comment of a parameter is the description of the argument. More is said in `#[arg(…)]`; what it demands is in
/// the schema and is enforced, but for `format`. So are the types of the schema, where the Rust type takes more than its schema says.
///
/// | Option | Value | Meaning | In the schema |
/// |---|---|---|---|
/// | `name` | text | the name on the wire, if not that of the parameter | the property |
/// | `description` | text, or an expression of type `&'static str` | instead of the doc comment | `description` |
/// | `default` | a literal is the JSON a client could have sent, anything else is Rust; alone, what `Default` gives | what it is when left out | `default` |
/// | `range` | `1..=100`, `0.5..`, `..10` | the numbers allowed | `minimum`, `maximum` |
/// | `length` | `1..=200`, `..=10`, `5` | how many characters or items | `minLength`, `maxItems`, … |
/// | `pattern` | a regular expression | matches somewhere in the text | `pattern` |
/// | `format` | such as `"uri"` | what kind of text | `format` |
/// | `items` | of `range`, `length`, `pattern`, `format`, `items` | what holds for each item | `items` |
/// | `example` | a literal | a sample | `examples` |
/// | `header` | a token such as `Region` | mirrored in the HTTP header `Mcp-Param-Region` | `x-mcp-header` |
/// | `flatten` | word | the fields of the type are arguments of their own | the properties |
/// | `any_path` | word | for variables of a [`resource_template`](macro@resource_template): also values that lead out of a directory | |
///
/// # Who may call it
///
/// A tool with `scopes` is left out of the lists of callers who lack some of them. If one calls it all the same, the call is
/// refused before anything runs, with all the scopes it needs, so that the client can ask its user for more: over HTTP with
/// status 403 and a challenge. Callers whom the function for `visible_if` turns down are answered as if there were no such
/// tool. It is asked with every list and call, so it must not block; one that panics turns everybody down.
///
/// Scopes are for callers with credentials. On standard input and output, and in the same process, they do not apply: see
/// [`Caller`](crate::Caller). Lists and answers that depend on the caller are never shared by caches, whatever was said of them.
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
/// A parameter of type [`Principal`](crate::Principal) is who calls; callers without credentials are then refused, unless it
/// is an `Option<Principal>`. Source: revisions since 2025-03-26, basic/authorization.
///
/// # Mistakes
///
/// What can be checked is checked at compile time, all of it in one run:
///
/// ```compile_fail
/// # use mcp_runtime::prelude::*;
/// #[tool(name = "add two")] // tool name `add two` contains a space; use 1 to 128 of A-Z a-z 0-9 _ - .
/// fn add(#[arg(range(1..=5))] name: String) -> String { // `range` applies to numbers; for text use `length` or `pattern`
///     name
/// }
/// ```
///
/// Source: revision 2026-07-28, server/tools.
#[doc(inline)]
pub use mcp_macros::tool;

/// Makes a function a prompt: messages a person can start from. As a function, selects it: `prompt(code_review)`.
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
/// /// Frameworks we know.
/// #[completer]
/// fn frameworks(partial: &str) -> Vec<String> {
///     let _ = partial; // candidates are ranked against it by the framework
///     vec!["axum".to_owned(), "rocket".to_owned()]
/// }
/// ```
///
/// Parameters are as in [`tool`](macro@tool); on the wire they are text, and are read as what their types say. Enums and booleans
/// complete by themselves, others through `#[complete(["formal", "friendly"])]`, which offers these texts and takes any other as
/// well, or `#[complete(function)]`, which names a [`completer`](macro@completer).
///
/// | Option | Value | Default | Meaning | On the wire |
/// |---|---|---|---|---|
/// | `name` | text | name of the function | what a client asks for | `name` |
/// | `title` | text | none | a name for people | `title` |
/// | `description` | text, or an expression of type `&'static str` | the doc comment | what it is for | `description` |
/// | `icons` | as in [`tool`](macro@tool) | none | pictures for user interfaces | `icons` |
/// | `meta` | an expression of type `serde_json::Value`, an object | none | anything else | `_meta` |
/// | `group` | text | none | what it can be selected by | nothing |
/// | `scopes`, `visible_if` | as in [`tool`](macro@tool) | for all | who may use it, and for whom it is there | nothing |
/// | `timeout`, `rate`, `concurrency`, `max_output` | as in [`tool`](macro@tool) | that of the server | how long, how often, how many at once, how much | an error, if it is more |
/// | `crate` | a path | `::mcp_runtime` | where the runtime is | nothing |
///
/// Source: revision 2026-07-28, server/prompts.
#[doc(inline)]
pub use mcp_macros::prompt;

/// Makes a function a resource: what can be read at one address. As a function, selects it: `resource(config)`.
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
/// All parameters are injected, for nothing can vary. The address comes first, then options:
///
/// | Option | Value | Default | Meaning | On the wire |
/// |---|---|---|---|---|
/// | `name` | text | name of the function | a name for programs | `name` |
/// | `title` | text | none | a name for people | `title` |
/// | `description` | text, or an expression of type `&'static str` | the doc comment | what it holds | `description` |
/// | `mime_type` | such as `"text/markdown"` | not said | what its contents are | `mimeType` |
/// | `size` | whole number | not said | how many bytes it has | `size` |
/// | `audience` | of `user`, `assistant` | not said | whom it is meant for | `annotations.audience` |
/// | `priority` | 0.0 to 1.0 | not said | how much it matters | `annotations.priority` |
/// | `last_modified` | ISO 8601 | not said | when it last changed | `annotations.lastModified` |
/// | `icons` | as in [`tool`](macro@tool) | none | pictures for user interfaces | `icons` |
/// | `meta` | an expression of type `serde_json::Value`, an object | none | anything else | `_meta` |
/// | `group` | text | none | what it can be selected by | nothing |
/// | `scopes`, `visible_if` | as in [`tool`](macro@tool) | for all | who may use it, and for whom it is there | nothing |
/// | `ttl` | `"250ms"`, `"5s"`, `"2m"`, `"1h"`, or a constant of type `Duration` | not said | how long a client may reuse the contents | `ttlMs` |
/// | `cache` | `"public"` or `"private"` | not said | who may share the contents | `cacheScope` |
/// | `timeout`, `rate`, `concurrency`, `max_output` | as in [`tool`](macro@tool) | that of the server | how long, how often, how many at once, how much | an error, if it is more |
/// | `crate` | a path | `::mcp_runtime` | where the runtime is | nothing |
///
/// Source: revision 2026-07-28, server/resources.
#[doc(inline)]
pub use mcp_macros::resource;

/// Makes a function a resource template: what can be read at a family of addresses. As a function, selects it:
/// `resource_template(note)`.
///
/// ```
/// use mcp_runtime::prelude::*;
///
/// /// One note.
/// #[resource_template("notes:///{id}{?part}", mime_type = "text/markdown")]
/// async fn note(id: u32, part: Option<String>) -> Result<String> {
///     if id == 0 {
///         bail!("notes are counted from 1");
///     }
///     Ok(format!("note {id}, {}", part.unwrap_or_default()))
/// }
/// ```
///
/// Each variable of the template is a parameter of that name and the other way round; what is injected does not count.
/// Templates are RFC 6570 up to level 3, with `*`; `{id:3}` is refused, because what was cut off cannot be restored.
///
/// A list takes a variable with `*`: `{ids*}` reads `1,2`, `{/path*}` reads `/a/b`, `{?tags*}` reads `?tags=a&tags=b`. To
/// text such a variable gives the whole.
///
/// A URI whose variables hold NUL, have `..` as a whole segment, or begin with `/`, `\` or a drive letter such as `C:` does not match,
/// whatever the expression and however it is encoded: such values lead out of the directory they are joined to. Dots in text, as in
/// `v1..2`, are fine. `#[arg(any_path)]` on a parameter takes these values too; the function then has to check them before it uses
/// them as a path. Source: revision 2026-07-28, server/resources, "Security Considerations".
///
/// The options are those of [`resource`](macro@resource) without `size`, and `list`: the path of a function that lists the resources of the
/// family, for clients that ask what there is. It takes injected parameters only.
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

/// Makes a function a completer: it offers values for an argument while a person types. As a function, selects it:
/// `completer(frameworks)`.
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
/// The first parameter is the text typed so far. Others are injected, or arguments given earlier, by name. Candidates may
/// come in any order: the framework ranks them, and sends a hundred at most.
///
/// It is named where it belongs, with `#[complete(frameworks)]` on a parameter of a [`prompt`](macro@prompt) or [`resource_template`](macro@resource_template).
/// Where that is not possible, it can say itself what it completes:
///
/// | Option | Value | Meaning |
/// |---|---|---|
/// | `prompt` | path of a prompt, where it is defined | whose argument it completes |
/// | `template` | path of a resource template, where it is defined | whose variable it completes |
/// | `argument` | text | which one |
/// | `timeout`, `rate`, `concurrency`, `max_output` | as in [`tool`](macro@tool) | how long, how often, how many at once, how much |
/// | `crate` | a path | where the runtime is, if not at `::mcp_runtime` |
///
/// Source: revision 2026-07-28, server/utilities/completion.
#[doc(inline)]
pub use mcp_macros::completer;

/// Lets methods carry the attributes: it stands on the `impl` block.
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
/// Methods take `&self`, because calls run concurrently. The server gets the value they are called on with `.handlers(…)`.
/// A type may have several such blocks. Functions without `self` are like free functions.
///
/// | Option | Value | Meaning |
/// |---|---|---|
/// | `crate` | a path | where the runtime is, if not at `::mcp_runtime`; for all methods |
#[doc(inline)]
pub use mcp_macros::server;

/// Makes `main` asynchronous, on a runtime with as many workers as there are cores, and at least two: one may be blocked by
/// a handler while another answers.
///
/// ```no_run
/// #[mcp_runtime::main]
/// async fn main() -> Result<(), std::io::Error> {
///     Ok(())
/// }
/// ```
///
/// Comes with feature `main`, which is on by default. `#[tokio::main]` works as well.
///
/// | Option | Value | Meaning |
/// |---|---|---|
/// | `crate` | a path | where the runtime is, if not at `::mcp_runtime` |
#[doc(inline)]
#[cfg(feature = "main")]
pub use mcp_macros::main;

/// Makes a struct a form for [`Context::elicit`](crate::Context::elicit), or an enum a choice in one.
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
/// Forms are flat. A field is text, a number, `bool`, an enum that derives `Elicit`, a `Vec` of such an enum, or an `Option`
/// of one of these, which may be left empty. Doc comments say what to fill in, and those of an enum's variants are titles
/// of the choices. Nothing else needs to be derived.
///
/// | Option of a field | Value | Meaning | On the wire |
/// |---|---|---|---|
/// | `name` | `"text"` | its name in the answer, if not that of the field | the property's name |
/// | `title` | `"text"` | a name for people | `title` |
/// | `description` | `"text"` | what to fill in, if not the doc comment | `description` |
/// | `default` | a literal | what it is unless the person says otherwise; of a choice its value as text | `default`, from 2025-11-25; of `bool` always |
/// | `range(1..=14)` | numbers | the numbers allowed | `minimum`, `maximum` |
/// | `length(..=200)` | whole numbers | how many characters, or choices, are allowed | `minLength`, `maxLength`, `minItems`, `maxItems` |
/// | `format` | `"email"`, `"uri"`, `"date"`, `"date-time"` | what the text looks like | `format` |
///
/// | Option of a variant | Value | Meaning |
/// |---|---|---|
/// | `name` | `"text"` | its value in the answer, if not the name of the variant |
/// | `title` | `"text"` | a name for people, if not the doc comment |
///
/// On the type, `crate = path` says where the runtime is, if not at `::mcp_runtime`.
#[doc(inline)]
pub use mcp_macros::Elicit;

/// Makes a type fit for arguments and results, without a dependency on serde and schemars: it derives `Serialize`,
/// `Deserialize` and `JsonSchema` through the runtime.
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
/// A field that the type does not know is refused, with a suggestion, as if the type carried
/// `#[serde(deny_unknown_fields)]`: a model that misspells the name of an optional field would otherwise never learn of it.
/// Types with a `#[serde(flatten)]` field are exempt.
///
/// It goes above the `#[serde(…)]` and `#[schemars(…)]` attributes of the type. A program that depends on serde and schemars
/// itself can derive as usual.
///
/// | Option | Meaning |
/// |---|---|
/// | `input` | only ever received: no `Serialize` |
/// | `output` | only ever sent: no `Deserialize` |
/// | `allow_unknown_fields` | fields it does not know are ignored, as when it is also read from files of others |
/// | `crate = path` | where the runtime is, if not at `::mcp_runtime` |
#[doc(inline)]
pub use mcp_macros::data;

/// Marks an error type that is for the model: its text is shown wherever a handler fails with it, with `?` or by returning it.
///
/// ```
/// use mcp_runtime::prelude::*;
///
/// #[shown]
/// #[derive(Debug)]
/// enum NoteError {
///     Missing(u32),
/// }
///
/// impl std::fmt::Display for NoteError {
///     fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
///         let Self::Missing(id) = self;
///         write!(f, "there is no note {id}; `search` finds those there are")
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
///     Ok(find(id)?) // the model reads: there is no note 7; `search` finds those there are
/// }
/// ```
///
/// Every other error type stays hidden, unless `.shown()` says otherwise where it comes up. So does this one inside of an error
/// that wraps it, such as `anyhow::Error`. The type implements `std::error::Error` and has no parameters; it may derive that in
/// any way.
///
/// | Option | Meaning |
/// |---|---|
/// | `crate = path` | where the runtime is, if not at `::mcp_runtime` |
#[doc(inline)]
pub use mcp_macros::shown;

pub use crate::handler::definition::{completer, prompt, resource, resource_template, tool};
