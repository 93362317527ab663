//! The request behind a call: headers, addresses, sessions and extensions, and the values that handlers read from them.

mod awaited;
mod derived_state;
mod environment;
mod headers;
mod lazy_state;
mod mounted;
mod principal_header;
mod proxies;

pub(crate) use lazy_state::mount;
use mcp_runtime::handler::RequestInfo;
use mcp_runtime::prelude::*;
use mcp_runtime::server::Selected;

use crate::fixture;

/// Describes everything except headers.
#[tool(tags("request"))]
fn describe(request: &RequestInfo) -> String {
    let show = |value: Option<String>| value.unwrap_or_else(|| "-".to_owned());
    format!(
        "{} path={} query={} session={} peer={} client={} trusted={}",
        request.protocol_version().as_str(),
        show(request.path().map(str::to_owned)),
        show(request.query().map(str::to_owned)),
        request.session_id().is_some(),
        show(request.peer_addr().map(|peer| peer.ip().to_string())),
        show(request.client_ip().map(|client| client.to_string())),
        request.is_from_trusted_proxy(),
    )
}

/// Returns a header.
#[tool(tags("request"))]
fn header(ctx: &Context, name: &str) -> Result<String> {
    Ok(ctx.request().header(name)?.unwrap_or("-").to_owned())
}

/// Returns a header that only a proxy may set.
#[tool(tags("request"))]
async fn trusted_header(ctx: Context, name: String) -> Result<String> {
    Ok(ctx
        .request()
        .trusted_header(&name)?
        .unwrap_or("-")
        .to_owned())
}

fn server() -> Server {
    fixture::server().only(Selected::tag("request"))
}
