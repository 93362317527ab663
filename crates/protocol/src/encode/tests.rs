//! Checks all messages in all protocol versions against the official schema, and reproduces the specification's
//! examples.

use std::fs;

use serde::Serialize;
use serde_json::{Value, json};

use super::*;
use crate::ProtocolVersion::{V2024_11_05, V2025_03_26, V2025_06_18, V2025_11_25, V2026_07_28};
use crate::encode::write_number;
use crate::jsonrpc::{Incoming, Member, ParseLimits, parse};
use crate::negotiation::{KnownClientInfo, VersionClaim, claim};
use crate::shape::structured::OutputRoot;
use crate::types::{
    Annotations, AudioContent, CallToolResult, Completion, CompletionsCapability, ContentBlock,
    EmbeddedResource, GetPromptResult, Icon, ImageContent, ListChangedCapability,
    LoggingCapability, LoggingLevel, Meta, Prompt, PromptArgument, PromptMessage,
    ReadResourceResult, Resource, ResourceContents, ResourceLink, ResourceTemplate,
    ResourcesCapability, Role, ServerCapabilities, TextContent, Tool,
};
use crate::{Era, errors};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests");

/// The schema for one protocol version.
struct Schema(Value, &'static str);

impl Schema {
    fn of(version: ProtocolVersion) -> Self {
        let path = format!("{FOLDER}/schema/{}.json", version.as_str());
        let schema: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
        let definitions = if schema.get("$defs").is_some() {
            "$defs"
        } else {
            "definitions"
        };
        Self(schema, definitions)
    }

    fn has(&self, name: &str) -> bool {
        self.0[self.1].get(name).is_some()
    }

    fn check(&self, name: &str, value: &Value) {
        assert!(self.has(name), "no {name} in the schema");
        let mut schema = self.0.clone();
        schema["$ref"] = json!(format!("#/{}/{name}", self.1));
        let validator = jsonschema::validator_for(&schema).unwrap();
        let problems: Vec<String> = validator
            .iter_errors(value)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(problems.is_empty(), "{name}: {problems:?} in {value:#}");
    }
}

fn written(write: impl FnOnce(&mut Vec<u8>)) -> Value {
    let mut out = b"before\n".to_vec();
    write(&mut out);
    let message = out.strip_prefix(b"before\n").unwrap();
    assert!(!message.contains(&b'\n'), "a message is one line");
    let value: Value = serde_json::from_slice(message).unwrap();
    assert_eq!(value["jsonrpc"], "2.0");
    value
}

fn identity() -> Identity {
    let mut server = Implementation::new("notes", "1.0");
    server.title = Some("Notes".to_owned());
    server.description = Some("Keeps \"notes\".".to_owned());
    server.website_url = Some("https://example.com".to_owned());
    server.icons = vec![icon()];
    Identity::new(server)
}

fn icon() -> Icon {
    Icon::new("https://example.com/i.png")
        .with_mime_type("image/png")
        .with_size("48x48")
}

fn id() -> RequestId {
    RequestId::from_valid(r#""a\u0062""#)
}

/// Writes a result in every version, checks it against the schema and passes it to `check`.
fn results(
    name: &str,
    write: impl Fn(&mut Vec<u8>, ResponseContext<'_>),
    check: impl Fn(ProtocolVersion, &Value),
) {
    let (identity, id) = (identity(), id());
    for version in ProtocolVersion::ALL {
        let reply = ResponseContext {
            id: Some(&id),
            version,
            identity: &identity,
        };
        let message = written(|out| write(out, reply));
        let schema = Schema::of(version);
        let envelope = if schema.has("JSONRPCResultResponse") {
            "JSONRPCResultResponse"
        } else {
            "JSONRPCResponse"
        };
        schema.check(envelope, &message);
        assert_eq!(message["id"], "ab");
        let result = &message["result"];
        let mut alone = Vec::new();
        write(&mut alone, ResponseContext { id: None, ..reply });
        let alone: Value = serde_json::from_slice(&alone).unwrap();
        assert_eq!(&alone, result, "the result without a message around it");
        if schema.has(name) {
            schema.check(name, result);
        }
        if version == V2026_07_28 {
            assert_eq!(result["resultType"], "complete");
            let server = &result["_meta"]["io.modelcontextprotocol/serverInfo"];
            assert_eq!(server["name"], "notes");
            schema.check("Implementation", server);
        } else {
            assert_eq!(result.get("resultType"), None);
            assert_eq!(result.get("ttlMs"), None);
            assert_eq!(result.get("cacheScope"), None);
        }
        check(version, result);
    }
}

fn capabilities() -> ServerCapabilities {
    let list = ListChangedCapability { list_changed: true };
    ServerCapabilities {
        completions: Some(CompletionsCapability::default()),
        logging: Some(LoggingCapability::default()),
        prompts: Some(list),
        resources: Some(ResourcesCapability {
            subscribe: true,
            list_changed: true,
        }),
        tools: Some(list),
        extensions: json!({"com.example/x": {}}).as_object().unwrap().clone(),
        ..ServerCapabilities::default()
    }
}

fn hint() -> CacheHint {
    CacheHint {
        ttl: Duration::from_micros(60_000_900),
        scope: CacheScope::Public,
    }
}

fn cached(version: ProtocolVersion, result: &Value) {
    if version == V2026_07_28 {
        assert_eq!(
            (&result["ttlMs"], &result["cacheScope"]),
            (&json!(60_000), &json!("public"))
        );
    }
}

fn meta() -> Meta {
    json!({"com.example/k": [1], "io.modelcontextprotocol/serverInfo": "forged", "dev.mcp/x": 1})
        .as_object()
        .unwrap()
        .clone()
}

fn blocks() -> Vec<ContentBlock> {
    let annotations = Some(
        Annotations::new()
            .with_priority(0.5)
            .with_audience(Role::User)
            .with_last_modified("2026-01-01T00:00:00Z"),
    );
    let mut text = TextContent::new("a \"quoted\"\nline");
    let mut image = ImageContent::new([0_u8], "image/png");
    let mut audio = AudioContent::new([0_u8], "audio/wav");
    let mut link = ResourceLink::new("notes:///1", "one");
    let mut contents = ResourceContents::text("notes:///2", "two");
    for slot in [
        &mut text.meta,
        &mut image.meta,
        &mut audio.meta,
        &mut link.meta,
        &mut contents.meta,
    ] {
        *slot = Some(meta());
    }
    link.icons = vec![icon()];
    link.size = Some(3);
    let mut resource = EmbeddedResource::new(contents);
    for slot in [
        &mut text.annotations,
        &mut image.annotations,
        &mut audio.annotations,
        &mut link.annotations,
        &mut resource.annotations,
    ] {
        slot.clone_from(&annotations);
    }
    vec![
        "plain".into(),
        text.into(),
        image.into(),
        audio.into(),
        link.into(),
        resource.into(),
    ]
}

#[test]
fn the_size_of_an_identity_is_the_bytes_that_it_adds_to_a_result() {
    let size_with = |name: &str| {
        let identity = Identity::new(Implementation::new(name, "1"));
        let id = id();
        let reply = ResponseContext {
            id: Some(&id),
            version: ProtocolVersion::LATEST,
            identity: &identity,
        };
        let mut out = Vec::new();
        empty(&mut out, reply);
        out.len() - identity.size()
    };
    assert_eq!(size_with("a"), size_with(&"a".repeat(1_000)));
}

#[test]
fn empty_results_are_empty_in_the_legacy_era() {
    results("EmptyResult", empty, |version, result| {
        if version != V2026_07_28 {
            assert_eq!(*result, json!({}));
        }
    });
}

#[test]
fn initialize_results_contain_only_members_of_their_version() {
    let (identity, id) = (identity(), id());
    for version in ProtocolVersion::ALL
        .into_iter()
        .filter(|version| version.era() == Era::Legacy)
    {
        let reply = ResponseContext {
            id: Some(&id),
            version,
            identity: &identity,
        };
        let message = written(|out| initialize(out, reply, &capabilities(), Some("Search first.")));
        Schema::of(version).check("InitializeResult", &message["result"]);
        assert_eq!(message["result"]["protocolVersion"], version.as_str());
        assert_eq!(
            message["result"]["serverInfo"].get("icons").is_some(),
            version == V2025_11_25
        );
        assert_eq!(
            message["result"]["capabilities"]
                .get("completions")
                .is_some(),
            version != V2024_11_05
        );
        let bare = written(|out| initialize(out, reply, &ServerCapabilities::default(), None));
        Schema::of(version).check("InitializeResult", &bare["result"]);
        assert_eq!(bare["result"]["capabilities"], json!({}));
    }
}

#[test]
fn discovery_lists_every_version_newest_first() {
    let (identity, id) = (identity(), id());
    let reply = ResponseContext {
        id: Some(&id),
        version: V2026_07_28,
        identity: &identity,
    };
    for (offered, text) in [
        (capabilities(), Some("Search first.")),
        (ServerCapabilities::default(), None),
    ] {
        let message = written(|out| discover(out, reply, &offered, text, hint()));
        Schema::of(V2026_07_28).check("DiscoverResult", &message["result"]);
        assert_eq!(message["result"]["supportedVersions"][0], "2026-07-28");
        cached(V2026_07_28, &message["result"]);
    }
}

fn page<T: crate::shape::ShapeForVersion + Serialize + Clone>(
    item: &T,
    version: ProtocolVersion,
) -> String {
    let mut item = item.clone();
    item.shape(version);
    serde_json::to_string(&item).unwrap()
}

type Render<'a> = Box<dyn Fn(ProtocolVersion) -> String + 'a>;

#[test]
fn list_pages_are_wrapped() {
    let mut resource = Resource::new("notes:///1", "one").with_size(3);
    let mut template = ResourceTemplate {
        uri_template: "notes:///{id}".to_owned(),
        name: "note".to_owned(),
        ..ResourceTemplate::default()
    };
    let mut prompt = Prompt {
        name: "review".to_owned(),
        ..Prompt::default()
    };
    prompt.arguments = vec![PromptArgument {
        name: "a".to_owned(),
        title: Some("A".to_owned()),
        required: Some(true),
        ..PromptArgument::default()
    }];
    let tool: Tool = serde_json::from_str(r#"{"name":"add","title":"Add","inputSchema":{"type":"object","properties":{"a":{"type":"integer"},"b":true}},"outputSchema":{"type":"object","properties":{"c":true}},"annotations":{"readOnlyHint":true}}"#).unwrap();
    for (title, icons, slot) in [
        (&mut resource.title, &mut resource.icons, &mut resource.meta),
        (&mut template.title, &mut template.icons, &mut template.meta),
        (&mut prompt.title, &mut prompt.icons, &mut prompt.meta),
    ] {
        *title = Some("Title".to_owned());
        *icons = vec![icon()];
        *slot = Some(meta());
    }
    let cases: [(&str, &str, Render<'_>); 4] = [
        (
            "ListToolsResult",
            "tools",
            Box::new(|version| page(&tool, version)),
        ),
        (
            "ListPromptsResult",
            "prompts",
            Box::new(|version| page(&prompt, version)),
        ),
        (
            "ListResourcesResult",
            "resources",
            Box::new(|version| page(&resource, version)),
        ),
        (
            "ListResourceTemplatesResult",
            "resourceTemplates",
            Box::new(|version| page(&template, version)),
        ),
    ];
    for (name, key, render) in cases {
        results(
            name,
            |out, reply| {
                list(
                    out,
                    reply,
                    &format!(r#""{key}":[{}],"nextCursor":"c""#, render(reply.version)),
                    hint(),
                );
            },
            |version, result| {
                cached(version, result);
                assert_eq!(result["nextCursor"], "c");
            },
        );
        results(
            name,
            |out, reply| list(out, reply, &format!(r#""{key}":[]"#), CacheHint::default()),
            |_, _| {},
        );
    }
}

// Covers: META-07
#[test]
fn tool_results_match_the_schema_of_each_version() {
    let result = CallToolResult {
        meta: Some(meta()),
        is_error: true,
        ..CallToolResult::new(blocks())
    };
    results(
        "CallToolResult",
        |out, reply| tool_result(out, reply, &mut result.clone(), OutputRoot::Objects),
        |version, result| {
            assert_eq!(result["isError"], true);
            assert_eq!(result["_meta"]["com.example/k"], json!([1]));
            assert_eq!(result["_meta"].get("dev.mcp/x"), None);
            if version != V2026_07_28 {
                assert_eq!(
                    result["_meta"].get("io.modelcontextprotocol/serverInfo"),
                    None
                );
            }
        },
    );
    results(
        "CallToolResult",
        |out, reply| {
            let mut result = CallToolResult::default();
            tool_result(out, reply, &mut result, OutputRoot::Objects);
        },
        |version, result| {
            if version != V2026_07_28 {
                assert_eq!(*result, json!({"content": []}));
            }
        },
    );
}

#[test]
fn structured_content_is_one_line_and_left_out_for_versions_without_it() {
    for (text, root) in [
        ("{\n \"a\":\r\n 1}", OutputRoot::Objects),
        ("{\"a\": 1}", OutputRoot::Any),
        ("[1]", OutputRoot::Any),
        ("null", OutputRoot::Objects),
    ] {
        let structured = serde_json::value::RawValue::from_string(text.to_owned()).unwrap();
        results(
            "CallToolResult",
            |out, reply| {
                let mut result = CallToolResult {
                    structured_content: Some(structured.clone()),
                    ..CallToolResult::default()
                };
                tool_result(out, reply, &mut result, root);
            },
            |version, result| {
                let given: Value = serde_json::from_str(text).unwrap();
                let whole = root == OutputRoot::Objects && given.is_object();
                let expected = match version {
                    V2024_11_05 | V2025_03_26 => None,
                    V2025_06_18 | V2025_11_25 if !whole => Some(json!({"result": given})),
                    _ => Some(given),
                };
                assert_eq!(
                    result.get("structuredContent"),
                    expected.as_ref(),
                    "{version:?}"
                );
                let said = result["content"][0]["text"].as_str().unwrap();
                assert_eq!(
                    serde_json::from_str::<Value>(said).unwrap(),
                    serde_json::from_str::<Value>(text).unwrap()
                );
            },
        );
    }
}

#[test]
fn prompt_results_match_the_schema_of_each_version() {
    let messages: Vec<_> = blocks().into_iter().map(PromptMessage::assistant).collect();
    let whole = GetPromptResult {
        description: Some("d".to_owned()),
        meta: Some(meta()),
        ..GetPromptResult::new(messages)
    };
    for prompt in [whole, GetPromptResult::default()] {
        results(
            "GetPromptResult",
            |out, reply| prompt_result(out, reply, prompt.clone()),
            |_, _| {},
        );
    }
}

#[test]
fn resource_results_match_the_schema_of_each_version() {
    let mut text = ResourceContents::text("notes:///1", "one").with_mime_type("text/plain");
    text.meta = Some(meta());
    let mut whole = ReadResourceResult::default();
    whole.contents = vec![text, ResourceContents::blob("notes:///2", [1])];
    whole.meta = Some(meta());
    for resource in [whole, ReadResourceResult::default()] {
        results(
            "ReadResourceResult",
            |out, reply| resource_result(out, reply, resource.clone(), hint()),
            cached,
        );
    }
}

#[test]
fn completions_hold_a_hundred_values_at_most() {
    let long = Completion {
        values: vec!["\"".to_owned(); 101],
        total: Some(101),
        has_more: Some(true),
    };
    for (value, count) in [(long, 100), (Completion::default(), 0)] {
        results(
            "CompleteResult",
            |out, reply| completion(out, reply, &value),
            |_, result| {
                assert_eq!(
                    result["completion"]["values"].as_array().unwrap().len(),
                    count
                );
            },
        );
    }
}

#[test]
fn the_result_of_a_listen_request_contains_its_subscription_id() {
    let identity = identity();
    for raw in ["0", r#""""#, r#""a""#] {
        let id = RequestId::from_valid(raw);
        let reply = ResponseContext {
            id: Some(&id),
            version: V2026_07_28,
            identity: &identity,
        };
        let message = written(|out| listen_result(out, reply));
        Schema::of(V2026_07_28).check("SubscriptionsListenResult", &message["result"]);
        assert_eq!(
            message["result"]["_meta"]["io.modelcontextprotocol/subscriptionId"],
            message["id"]
        );
        assert_eq!(message["id"].to_string(), raw);
    }
}

#[test]
fn errors_have_the_id_if_there_is_one() {
    for version in ProtocolVersion::ALL {
        let schema = Schema::of(version);
        let name = if schema.has("JSONRPCErrorResponse") {
            "JSONRPCErrorResponse"
        } else {
            "JSONRPCError"
        };
        let message = written(|out| {
            error(
                out,
                Some(&id()),
                &errors::resource_not_found(version, "notes:///1"),
            );
        });
        schema.check(name, &message);
        let message = written(|out| error(out, None, &ErrorObject::invalid_request("\"no\"")));
        assert_eq!(
            message,
            json!({"jsonrpc": "2.0", "error": {"code": -32600, "message": "\"no\""}})
        );
        if version >= V2025_11_25 {
            schema.check(name, &message);
        }
    }
}

#[test]
fn modern_errors_fit_their_schemas() {
    let schema = Schema::of(V2026_07_28);
    for (name, object) in [
        (
            "UnsupportedProtocolVersionError",
            errors::unsupported_version("1999-01-01"),
        ),
        (
            "MissingRequiredClientCapabilityError",
            errors::missing_capability(V2026_07_28, json!({"elicitation": {"url": {}}})),
        ),
        (
            "HeaderMismatchError",
            errors::header_mismatch("Mcp-Name", "is missing"),
        ),
        ("InvalidParamsError", errors::unknown_tool("x", None)),
        ("MethodNotFoundError", errors::method_not_found("x")),
    ] {
        let message = written(|out| error(out, Some(&id()), &object));
        // Some of these schemas describe the error object, others the whole response.
        let whole = schema.0[schema.1][name]["properties"]
            .get("error")
            .is_some();
        schema.check(name, if whole { &message } else { &message["error"] });
    }
}

#[test]
fn notifications_match_the_schema_of_each_version_that_has_them() {
    let id = id();
    for version in ProtocolVersion::ALL {
        let schema = Schema::of(version);
        let check = |name: &str, message: &Value| {
            schema.check(name, message);
            schema.check("ServerNotification", message);
        };
        for (token, at, total) in [
            ("0", 1.0, Some(3.0)),
            (r#""t""#, 0.25, None),
            ("-7", 1e300, Some(f64::NAN)),
        ] {
            let message = written(|out| progress(out, version, token, at, total, Some("half")));
            check("ProgressNotification", &message);
            assert_eq!(
                message["params"].get("message").is_some(),
                version != V2024_11_05
            );
            assert_eq!(message["params"].get("total").is_some(), total == Some(3.0));
        }
        for level in LoggingLevel::ALL {
            check(
                "LoggingMessageNotification",
                &written(|out| log(out, level, Some("db"), r#"{"a":[1,null]}"#)),
            );
            check(
                "LoggingMessageNotification",
                &written(|out| log(out, level, None, "null")),
            );
        }
        let subscription = (version == V2026_07_28).then_some(&id);
        for (kind, name) in [
            (ListKind::Tools, "ToolListChangedNotification"),
            (ListKind::Prompts, "PromptListChangedNotification"),
            (ListKind::Resources, "ResourceListChangedNotification"),
        ] {
            let message = written(|out| list_changed(out, kind, subscription));
            check(name, &message);
            assert_eq!(message.get("params").is_some(), subscription.is_some());
        }
        check(
            "ResourceUpdatedNotification",
            &written(|out| resource_updated(out, "notes:///1", subscription)),
        );
        check(
            "CancelledNotification",
            &written(|out| cancelled(out, &id, "the server stops")),
        );
        if version == V2026_07_28 {
            for filter in [
                ListenFilter::default(),
                ListenFilter {
                    extensions: vec![
                        ExtensionFilter {
                            member: "gardenChanged".into(),
                            keys: None,
                        },
                        ExtensionFilter {
                            member: "gardenBeds".into(),
                            keys: Some(vec!["roses".into()]),
                        },
                    ],
                    tools: true,
                    prompts: true,
                    resources: true,
                    uris: vec!["notes:///1".into()],
                },
            ] {
                check(
                    "SubscriptionsAcknowledgedNotification",
                    &written(|out| acknowledged(out, &filter, &id)),
                );
            }
        }
    }
}

#[test]
fn progress_that_is_no_number_is_not_written() {
    for at in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let mut out = Vec::new();
        progress(&mut out, V2026_07_28, "1", at, None, None);
        assert!(out.is_empty());
    }
}

#[test]
fn whole_numbers_are_written_without_a_fraction() {
    for (value, text) in [
        (0.0, "0"),
        (-0.0, "0"),
        (50.0, "50"),
        (-3.0, "-3"),
        (0.5, "0.5"),
        (1e15, "1000000000000000"),
        (1e300, "1e+300"),
    ] {
        let mut out = Vec::new();
        write_number(&mut out, value);
        assert_eq!(String::from_utf8(out).unwrap(), text);
    }
}

fn example(name: &str) -> Value {
    let text = fs::read_to_string(format!("{FOLDER}/wire/2026-07-28/{name}.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

#[test]
fn the_encoder_reproduces_the_notification_examples_of_the_specification() {
    let id = RequestId::from_valid(r#""listen-1""#);
    let filter = ListenFilter {
        tools: true,
        uris: vec!["file:///project/config.json".into()],
        ..ListenFilter::default()
    };
    for (name, message) in [
        (
            "SubscriptionsAcknowledgedNotification/listen-acknowledged",
            written(|out| acknowledged(out, &filter, &id)),
        ),
        (
            "ToolListChangedNotification/tools-list-changed",
            written(|out| list_changed(out, ListKind::Tools, Some(&id))),
        ),
        (
            "PromptListChangedNotification/prompts-list-changed",
            written(|out| list_changed(out, ListKind::Prompts, Some(&id))),
        ),
        (
            "ResourceListChangedNotification/resources-list-changed",
            written(|out| list_changed(out, ListKind::Resources, Some(&id))),
        ),
        (
            "ProgressNotification/progress-message",
            written(|out| {
                progress(
                    out,
                    V2026_07_28,
                    "\"oivaizmir\"",
                    50.0,
                    Some(100.0),
                    Some("Reticulating splines..."),
                );
            }),
        ),
        (
            "CancelledNotification/user-requested-cancellation",
            written(|out| {
                cancelled(
                    out,
                    &RequestId::from_valid("\"123\""),
                    "User requested cancellation",
                );
            }),
        ),
    ] {
        assert_eq!(message, example(name), "{name}");
    }
}

#[test]
fn the_request_examples_of_the_specification_contain_a_valid_claim() {
    for (name, member) in [
        ("CallToolRequest/call-tool-request", Some(Member::Arguments)),
        ("CompleteRequest/completion-request", Some(Member::Ref)),
        ("DiscoverRequest/server-discover-request", None),
        ("GetPromptRequest/get-prompt-request", Some(Member::Name)),
        (
            "ReadResourceRequest/read-resource-request",
            Some(Member::Uri),
        ),
        ("ListToolsRequest/list-tools-request", None),
        (
            "SubscriptionsListenRequest/listen-for-list-changes",
            Some(Member::Notifications),
        ),
    ] {
        let text = example(name).to_string();
        let Ok(Incoming::Message(message)) = parse(text.as_bytes(), &ParseLimits::ROOMY) else {
            panic!("{name}")
        };
        let claim = claim(&message.params, &KnownClientInfo::default());
        let VersionClaim::Valid(modern) = claim else {
            panic!("{name}: {claim:?}")
        };
        assert_eq!(modern.version, V2026_07_28);
        drop(modern.capabilities());
        assert!(
            member.is_none_or(|member| message.params.get(member).is_some()),
            "{name}"
        );
    }
}

#[test]
fn a_result_of_an_extension_is_the_same_with_shared_members() {
    let identity = Identity::new(Implementation::new("test", "1"));
    let id = RequestId::from_valid("1");
    let meta: Meta = [("com.example/a".to_owned(), json!(1))]
        .into_iter()
        .collect();
    for version in ProtocolVersion::ALL {
        for meta in [None, Some(&meta)] {
            for cache in [None, Some(CacheHint::default())] {
                let reply = ResponseContext {
                    id: Some(&id),
                    version,
                    identity: &identity,
                };
                let (mut whole, mut shared) = (b"before".to_vec(), b"before".to_vec());
                extension_result(
                    &mut whole,
                    reply,
                    ("complete", r#"{"a":[1],"b":{}}"#),
                    meta,
                    cache,
                );
                let gap = extension_result_with_gap(&mut shared, reply, "complete", meta, cache);
                let (before, after) = gap.parts(&shared);
                let parts = [before, br#"a":[1],"b":{}"#, after].concat();
                assert_eq!(parts, whole);
                gap.fill(&mut shared, br#"a":[1],"b":{}"#);
                assert_eq!(shared, whole);
            }
        }
    }
}
