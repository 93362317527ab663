//! The first messages on a connection, and the claims in each request of the modern era.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{Era, Link, Session};

pub(super) const MODERN: &str = "2026-07-28";
pub(super) const LEGACY: &str = "2025-11-25";
const META: &str = "io.modelcontextprotocol";
/// Maximum length in characters of the reason for a refusal, which is shown on every page.
const MAX_REASON: usize = 1_000;

fn client() -> Value {
    json!({"name": "mcp-dev", "version": env!("CARGO_PKG_VERSION")})
}

fn capabilities(tasks: bool) -> Value {
    let mut extensions = json!({
        "io.modelcontextprotocol/ui": {"mimeTypes": ["text/html;profile=mcp-app"]},
        "io.modelcontextprotocol/skills": {},
    });
    // In the legacy era, tasks are not an extension, and a client that can only create tasks does not declare anything.
    if tasks {
        extensions["io.modelcontextprotocol/tasks"] = json!({});
    }
    json!({"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}, "extensions": extensions})
}

/// Adds the claims to a request's parameters if its era requires claims.
pub(super) fn claim(era: Era, tasks: bool, params: Value) -> Option<Value> {
    if era == Era::Legacy {
        return (!params.is_null()).then_some(params);
    }
    let mut params = if params.is_object() {
        params
    } else {
        json!({})
    };
    let meta = &mut params["_meta"];
    if !meta.is_object() {
        *meta = json!({});
    }
    meta[format!("{META}/protocolVersion")] = json!(MODERN);
    meta[format!("{META}/clientInfo")] = client();
    meta[format!("{META}/clientCapabilities")] = capabilities(tasks);
    Some(params)
}

/// Performs the handshake and returns the status that pages show.
pub(super) async fn shake(session: &Arc<Session>) -> Result<Value, String> {
    let (method, params) = match session.era {
        Era::Modern => ("server/discover", Value::Null),
        Era::Legacy => {
            let params = json!({"protocolVersion": LEGACY, "capabilities": capabilities(false), "clientInfo": client()});
            ("initialize", params)
        }
    };
    if let Link::Http(link) = &session.link {
        // Version 2025-11-25 must be negotiated before requests can use it.
        link.set_version((session.era == Era::Modern).then_some(MODERN));
    }
    let mut pending = session.send(method, params, Vec::new()).await?;
    let reply = session.reply(&mut pending).await?;
    let text = session
        .hub
        .text(reply.response)
        .ok_or("the response is no longer available")?;
    let mut message: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    if let Some(error) = message.get("error") {
        let error: String = error.to_string().chars().take(MAX_REASON).collect();
        return Err(format!("{method} was refused: {error}"));
    }
    let result = message.get_mut("result").map(Value::take);
    let Some(mut result) = result.filter(Value::is_object) else {
        return Err(format!("the result of {method} is not an object"));
    };
    let version = match session.era {
        Era::Modern => {
            let served = result["supportedVersions"].as_array();
            if !served.is_some_and(|served| served.contains(&json!(MODERN))) {
                return Err(format!(
                    "the server supports only {}",
                    result["supportedVersions"]
                ));
            }
            MODERN.to_owned()
        }
        Era::Legacy => {
            let version = result["protocolVersion"]
                .as_str()
                .unwrap_or(LEGACY)
                .to_owned();
            if let Link::Http(link) = &session.link {
                link.set_version(Some(&version));
            }
            session
                .notify("notifications/initialized", Value::Null)
                .await;
            version
        }
    };
    listen(session, &result).await?;
    let server = match session.era {
        Era::Modern => result["_meta"][format!("{META}/serverInfo")].clone(),
        Era::Legacy => result["serverInfo"].take(),
    };
    Ok(json!({
        "state": "ready",
        "version": version,
        "server": server,
        "capabilities": result["capabilities"],
        "instructions": result["instructions"],
    }))
}

/// Subscribes to changes to the server's lists.
async fn listen(session: &Arc<Session>, result: &Value) -> Result<(), String> {
    match (session.era, &session.link) {
        (Era::Legacy, Link::Http(link)) => link.listen(session),
        (Era::Legacy, Link::Stdio(_)) => {}
        (Era::Modern, _) => {
            let mut filter = json!({});
            for list in ["tools", "prompts", "resources"] {
                if result["capabilities"][list]["listChanged"] == true {
                    filter[format!("{list}ListChanged")] = json!(true);
                }
            }
            if filter != json!({}) {
                let params = json!({"notifications": filter});
                // The request is answered only when the server ends the subscription, so the answer is not awaited.
                session
                    .send("subscriptions/listen", params, Vec::new())
                    .await?;
            }
        }
    }
    Ok(())
}
