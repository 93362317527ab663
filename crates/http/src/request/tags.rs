//! The tags by which a request selects definitions: the `tags` query parameter and the `X-MCP-Tags` header.
//!
//! Both restrict the set of definitions that the server and the caller's permissions allow. The header's name resembles
//! the headers that clients of hosted servers use to select groups of tools. It does not start with `Mcp-`, because the
//! protocol reserves that prefix.

use std::borrow::Cow;

use hyper::Uri;
use mcp_core::context::Principal;
use mcp_core::dispatch::Dispatcher;
use mcp_core::handler::tags::TagSelection;
use mcp_schema::template::decode;

use crate::request::RequestHeaders;
use crate::response::HttpRefusal;

/// Query parameter that contains tags.
const PARAMETER: &str = "tags";

/// Reads a request's selection from its URL and headers. Most requests do not have a selection.
pub(crate) fn read_selection(
    dispatcher: &Dispatcher,
    uri: &Uri,
    headers: &RequestHeaders<'_>,
    caller: Option<&Principal>,
) -> Result<Option<TagSelection>, HttpRefusal> {
    if uri.query().is_none() && headers.tags.is_none() {
        return Ok(None);
    }
    let refuse = |problem: &str| HttpRefusal::bad_request(&format!("`tags`: {problem}"));
    let in_query = decoded_query_tags(uri).map_err(refuse)?;
    let header = headers.tags.map(hyper::header::HeaderValue::to_str);
    let header = header.transpose();
    let in_header = header.map_err(|_| refuse("the header `X-MCP-Tags` is not ASCII"))?;
    let lists = in_query.as_deref().into_iter().chain(in_header);
    let selection = dispatcher.read_selection(lists, caller.cloned());
    selection.map_err(|problem| refuse(&problem))
}

/// Returns the decoded value of the query parameter.
fn decoded_query_tags(uri: &Uri) -> Result<Option<Cow<'_, str>>, &'static str> {
    let Some(text) = raw_query_tags(uri)? else {
        return Ok(None);
    };
    let decoded = decode(text).ok_or("the percent-encoding is invalid")?;
    Ok(Some(decoded.into()))
}

/// Returns the value of the query parameter as it was sent.
pub(crate) fn raw_query_tags(uri: &Uri) -> Result<Option<&str>, &'static str> {
    let pairs = uri.query().unwrap_or_default().split('&');
    let mut values = pairs.filter_map(|pair| match pair.split_once('=') {
        Some((PARAMETER, value)) => Some(value),
        None if pair == PARAMETER => Some(""),
        _ => None,
    });
    let first = values.next();
    match values.next() {
        // If both were used, it would be unclear whether the two lists are alternatives or must both match.
        Some(_) => Err("the parameter occurs more than once; write one list, such as `tags=a,b`"),
        None => Ok(first),
    }
}
