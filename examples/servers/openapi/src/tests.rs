//! The tools, against a small API in the test.

use axum::body::Bytes;
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::{Json, Router};
use mcp_runtime::prelude::{json, new_server};
use mcp_runtime::serde_json::{self, Value};
use mcp_runtime::testing::TestClient;
use tokio::net::TcpListener;

use crate::document::operations;
use crate::settings::{Settings, SetupError};
use crate::{add_tools, api::Api};

/// A document with the given paths and schemas.
fn document(paths: &Value, schemas: &Value) -> Value {
    json!({
        "openapi": "3.0.3",
        "info": {"title": "Pets", "version": "1"},
        "servers": [{"url": "/{version}", "variables": {"version": {"default": "v1"}}}],
        "paths": paths,
        "components": {"schemas": schemas},
    })
}

fn pets() -> Value {
    let id = json!({"name": "id", "in": "path", "required": true, "schema": {"type": "string"}});
    let paths = json!({
        "/pets": {
            "get": {
                "operationId": "listPets", "tags": ["read"], "summary": "Lists pets",
                "parameters": [
                    {"name": "limit", "in": "query", "description": "At most", "schema": {"type": "integer", "minimum": 0, "exclusiveMinimum": true}},
                    {"name": "tag[]", "in": "query", "schema": {"type": "array", "items": {"type": "string"}}},
                    {"name": "X-Trace", "in": "header", "schema": {"type": "string"}},
                ],
            },
            "post": {
                "operationId": "pets.add",
                "requestBody": {"required": true, "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Pet"}}}},
            },
        },
        "/pets/{id}": {
            "parameters": [id],
            "get": {"operationId": "getPet", "tags": ["read"]},
            "delete": {},
        },
    });
    let schemas = json!({
        "Pet": {
            "type": "object", "required": ["id", "name"],
            "properties": {
                "id": {"type": "integer", "readOnly": true},
                "name": {"$ref": "#/components/schemas/Name"},
                "owner": {"type": "string", "nullable": true, "example": "Ada"},
            },
        },
        "Name": {"type": "string", "minLength": 1, "pattern": "^(?=look)"},
    });
    document(&paths, &schemas)
}

/// Answers with the request, except for a few paths.
async fn answer(method: Method, uri: Uri, headers: HeaderMap, body: Bytes) -> Response {
    let header = |name: &str| headers.get(name).map(|value| value.to_str().unwrap());
    match uri.path() {
        "/openapi.json" if header("authorization").is_none() => Json(pets()).into_response(),
        "/v1/pets/missing" => (StatusCode::NOT_FOUND, "no such pet ".repeat(100)).into_response(),
        "/v1/pets/away" => (
            StatusCode::FOUND,
            [(header::LOCATION, "http://127.0.0.1:1/")],
        )
            .into_response(),
        "/v1/pets/gone" => StatusCode::NO_CONTENT.into_response(),
        "/v1/pets/plain" => "a pet".into_response(),
        "/v1/pets/image" => [0xff, 0xd8].into_response(),
        "/v1/pets/huge" => " ".repeat(3 << 20).into_response(),
        "/v1/pets/list" => Json(json!([1, 2])).into_response(),
        _ => Json(json!({
            "method": method.as_str(),
            "uri": uri.to_string(),
            "authorization": header("authorization"),
            "trace": header("x-trace"),
            "body": String::from_utf8(body.to_vec()).unwrap(),
        }))
        .into_response(),
    }
}

async fn start_api() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let app = Router::new().fallback(answer);
    tokio::spawn(async { axum::serve(listener, app).await });
    url
}

fn settings(values: Value) -> Settings {
    serde_json::from_value(values).unwrap()
}

/// Starts the API; returns a client of a server whose tools are those of its document.
async fn client() -> TestClient {
    let url = format!("{}/openapi.json", start_api().await);
    let settings = settings(json!({"document": url, "token": "t0ken"}));
    TestClient::both(add_tools(new_server!(), &settings).await.unwrap()).await
}

/// The problems of a document.
fn problems(paths: &Value, schemas: &Value) -> String {
    let settings = settings(json!({"document": "api.json"}));
    let found = operations(&document(paths, schemas), &settings);
    found
        .err()
        .map_or_else(String::new, |error| error.to_string())
}

#[tokio::test]
async fn each_operation_is_a_tool_with_its_schema_and_hints() {
    let tools = client().await.tools().await;
    let tool = |name: &str| tools.iter().find(|tool| tool.name == name).unwrap();
    assert_eq!(tools.len(), 4);
    let list = tool("listPets");
    assert_eq!(list.title.as_deref(), Some("Lists pets"));
    assert_eq!(
        list.annotations.as_ref().unwrap().read_only_hint,
        Some(true)
    );
    let schema = serde_json::from_str::<Value>(list.input_schema.get()).unwrap();
    let limit = json!({"type": "integer", "exclusiveMinimum": 0, "description": "At most"});
    assert_eq!(schema["properties"]["limit"], limit);
    assert_eq!(schema["properties"]["tag"]["type"], "array");
    let schema = serde_json::from_str::<Value>(tool("pets_add").input_schema.get()).unwrap();
    let body = json!({
        "type": "object", "required": ["name"],
        "properties": {"name": {"type": "string", "minLength": 1}, "owner": {"type": ["string", "null"]}},
    });
    assert_eq!(schema["properties"]["body"], body);
    assert_eq!(schema["required"], json!(["body"]));
    let delete = tool("delete_pets_id").annotations.as_ref().unwrap();
    assert_eq!(
        (delete.destructive_hint, delete.idempotent_hint),
        (Some(true), Some(true))
    );
}

#[tokio::test]
async fn arguments_become_the_path_the_query_headers_and_the_body() {
    let client = client().await;
    let arguments = json!({"limit": 5, "tag": ["a&b", "c"], "X-Trace": "1"});
    let sent = client.call("listPets", arguments).await.unwrap().json();
    assert_eq!(sent["uri"], "/v1/pets?limit=5&tag%5B%5D=a%26b&tag%5B%5D=c");
    assert_eq!(
        (&sent["trace"], &sent["authorization"]),
        (&json!("1"), &json!("Bearer t0ken"))
    );
    let arguments = json!({"body": {"name": "look", "owner": null}});
    let sent = client.call("pets_add", arguments).await.unwrap().json();
    assert_eq!(
        (&sent["method"], &sent["body"]),
        (&json!("POST"), &json!(r#"{"name":"look","owner":null}"#))
    );
    let refused = client
        .call("pets_add", json!({"body": {"name": ""}}))
        .await
        .unwrap();
    assert!(
        refused.error_text().contains("name"),
        "{}",
        refused.error_text()
    );
    let refused = client
        .call("listPets", json!({"X-Trace": "1\r\nhost: x"}))
        .await
        .unwrap();
    assert!(refused.error_text().contains("line break"));
}

#[tokio::test]
async fn no_value_changes_the_path() {
    let client = client().await;
    for (id, path) in [
        ("a/b", "/v1/pets/a%2Fb"),
        ("../secrets", "/v1/pets/..%2Fsecrets"),
        ("%2e%2e", "/v1/pets/%252e%252e"),
        ("x?y#z", "/v1/pets/x%3Fy%23z"),
        ("{id}", "/v1/pets/%7Bid%7D"),
    ] {
        let sent = client
            .call("getPet", json!({"id": id}))
            .await
            .unwrap()
            .json();
        assert_eq!(sent["uri"], path);
    }
    for id in ["", ".", ".."] {
        let refused = client.call("getPet", json!({"id": id})).await.unwrap();
        assert!(refused.error_text().contains("another path"));
    }
}

#[tokio::test]
async fn responses_are_results_or_errors_that_a_model_can_act_on() {
    let client = client().await;
    let get = async |id: &str| client.call("getPet", json!({"id": id})).await.unwrap();
    assert_eq!(get("list").await.json(), json!([1, 2]));
    assert_eq!(get("plain").await.text(), "a pet");
    assert_eq!(
        get("gone").await.text(),
        "status 204 No Content, without content"
    );
    let missing = get("missing").await.error_text();
    assert!(
        missing.starts_with("status 404 Not Found: no such pet") && missing.len() < 600,
        "{missing}"
    );
    assert!(get("away").await.error_text().contains("not followed"));
    assert!(get("image").await.error_text().contains("not text"));
    assert!(get("huge").await.error_text().contains("ask for less"));
}

#[tokio::test]
async fn an_api_that_is_down_is_an_error_without_its_url() {
    let settings = settings(json!({"document": "x", "base_url": "http://127.0.0.1:1/"}));
    let api = Api::new(&settings, &pets()).unwrap();
    let operations = operations(&pets(), &settings).unwrap();
    let error = api
        .call(&operations[0], &serde_json::Map::new())
        .await
        .unwrap_err();
    let error = format!("{error:?}");
    assert!(
        error.contains("try again later") && !error.contains("127.0.0.1"),
        "{error}"
    );
}

#[test]
fn operations_are_selected_by_tag_and_id() {
    let names = |values: Value| -> Result<Vec<String>, SetupError> {
        let found = operations(&pets(), &settings(values))?;
        Ok(found.into_iter().map(|operation| operation.tool).collect())
    };
    let selected = names(json!({"document": "x", "tags": ["read"], "without": ["getPet"]}));
    assert_eq!(selected.unwrap(), ["listPets"]);
    let selected = names(json!({"document": "x", "operations": ["pets.add"]}));
    assert_eq!(selected.unwrap(), ["pets_add"]);
    let error = names(json!({"document": "x", "operations": ["getPets"]})).unwrap_err();
    assert!(
        error.to_string().contains("did you mean `getPet`?"),
        "{error}"
    );
}

#[test]
fn references_without_a_target_and_recursive_ones_are_reported_together() {
    let body = |name: &str| json!({"content": {"application/json": {"schema": {"$ref": format!("#/components/schemas/{name}")}}}});
    let paths = json!({
        "/a": {"post": {"operationId": "a", "requestBody": body("None")}},
        "/b": {"post": {"operationId": "b", "requestBody": body("Node")}},
        "/c": {"post": {"operationId": "c", "requestBody": {"$ref": "other.json#/x"}}},
        "/d": {"post": {"operationId": "d", "requestBody": body("L0")}},
        "/e": {"$ref": "#/paths/~1e"},
    });
    let mut schemas =
        json!({"Node": {"properties": {"next": {"$ref": "#/components/schemas/Node"}}}, "L20": {}});
    for level in 0..20 {
        let next = json!({"$ref": format!("#/components/schemas/L{}", level + 1)});
        schemas[format!("L{level}")] = json!({"anyOf": [next, next]});
    }
    let problems = problems(&paths, &schemas);
    for expected in [
        "operation `a`: body: `#/components/schemas/None` does not exist in the document; `OPENAPI_WITHOUT=a` leaves it out",
        "operation `b`: body: its schema is recursive (`#/components/schemas/Node` → `#/components/schemas/Node`)",
        "operation `c`: `other.json#/x` is in another document",
        "operation `d`: body: its schema has more than 5000 parts",
        "path `/e`: its `$ref` leads to itself",
    ] {
        assert!(
            problems.contains(expected),
            "{expected} is not in\n{problems}"
        );
    }
}

#[test]
fn other_mistakes_in_a_document_are_reported() {
    let get = |operation: Value| json!({"get": operation});
    let parameter = |value: Value| json!({"operationId": "x", "parameters": [value]});
    let id = json!({"name": "id", "in": "path", "schema": {}});
    for (paths, expected) in [
        (
            json!({"/a": get(json!({"operationId": "x y"})), "/b": get(json!({"operationId": "x.y"}))}),
            "would both be the tool `x_y`",
        ),
        (
            json!({"/a/{id}": get(json!({}))}),
            "a variable without a parameter",
        ),
        (json!({"/a": get(parameter(id))}), "no variable `{id}`"),
        (
            json!({"/a": get(parameter(json!({"name": "q", "in": "cookie", "required": true})))}),
            "requires the cookie `q`",
        ),
        (
            json!({"/a": get(parameter(json!({"name": "q", "in": "body"})))}),
            "`in` is none of",
        ),
        (
            json!({"/a": get(parameter(json!({"in": "query"})))}),
            "has no name",
        ),
        (
            json!({"/a": get(parameter(json!({"name": "q", "in": "query", "style": "matrix"})))}),
            "style `matrix`",
        ),
        (
            json!({"/a": get(parameter(json!({"name": "q", "in": "query", "schema": 1})))}),
            "`1` is not a schema",
        ),
        (
            json!({"/a": get(json!({"servers": [{"url": "https://x"}]}))}),
            "`servers` of its own",
        ),
        (
            json!({"/a": get(json!({"requestBody": {"required": true, "content": {"text/csv": {}}}}))}),
            "not JSON",
        ),
        (json!({}), "select no operation"),
    ] {
        let problems = problems(&paths, &json!({}));
        assert!(
            problems.contains(expected),
            "{expected} is not in\n{problems}"
        );
    }
    let settings = settings(json!({"document": "x"}));
    for (document, expected) in [
        (json!([]), "not an OpenAPI document"),
        (json!({"swagger": "2.0"}), "convert the document"),
        (
            json!({"openapi": "4.0.0"}),
            "OpenAPI 4.0.0 is not supported",
        ),
        (json!({"openapi": "3.1.0"}), "no `paths`"),
    ] {
        let error = operations(&document, &settings).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    }
}

#[tokio::test]
async fn a_document_does_not_choose_the_host_that_gets_the_token() {
    let with = |server: &str, values: Value| {
        let document = json!({"servers": [{"url": server}]});
        Api::new(&settings(values), &document)
            .err()
            .map(|error| error.to_string())
    };
    let url = "https://docs.example.com/openapi.json";
    let error = with("https://evil.example.com", json!({"document": url})).unwrap();
    assert!(error.contains("another host"), "{error}");
    let error = with(
        "https://evil.example.com",
        json!({"document": "x", "token": "t"}),
    )
    .unwrap();
    assert!(error.contains("which host gets OPENAPI_TOKEN"), "{error}");
    let error = with("/v1", json!({"document": "x"})).unwrap();
    assert!(error.contains("set OPENAPI_BASE_URL"), "{error}");
    let error = with("file:///etc", json!({"document": "x"})).unwrap();
    assert!(error.contains("not an HTTP URL"), "{error}");
    assert_eq!(
        with("https://api.example.com", json!({"document": "x"})),
        None
    );
    let missing = settings(json!({"document": "missing.json"}))
        .read_document()
        .await;
    assert!(missing.unwrap_err().to_string().contains("missing.json"));
    let yaml = settings(json!({"document": "Cargo.toml"}))
        .read_document()
        .await;
    assert!(yaml.unwrap_err().to_string().contains("convert YAML"));
}
