//! The header in which a trusted proxy names a request's principal.

use hyper::header::HeaderName;

use crate::context::{HttpParts, Principal};
use crate::http::response::refusal::HttpRefusal;

/// Maximum length of a principal's name, in bytes. The name is part of the keys of stores.
const MAX_BYTES: usize = 256;

/// The name of the header.
pub(super) struct PrincipalHeader(HeaderName);

impl PrincipalHeader {
    /// Returns `None` if this is not a valid name for a header.
    pub(super) fn new(name: &str) -> Option<Self> {
        name.parse().ok().map(Self)
    }

    /// Returns the principal of a request, or `None` if the request has no such header or does not come from a trusted
    /// proxy. A value that does not name exactly one principal is an error, because a default would give the request to
    /// another principal.
    pub(super) fn read(&self, request: &HttpParts) -> Result<Option<Principal>, HttpRefusal> {
        if !request.is_from_trusted_proxy() {
            return Ok(None);
        }
        let mut values = request.parts.headers.get_all(&self.0).iter();
        let Some(value) = values.next() else {
            return Ok(None);
        };
        let name = std::str::from_utf8(value.as_bytes()).map(str::trim_ascii);
        let problem = match name {
            // Some proxies append their value to the client's, with a comma in between.
            Ok(name) if name.contains(',') => "names more than one principal",
            _ if values.next().is_some() => "names more than one principal",
            Ok("") => "is empty",
            Ok(name) if name.len() > MAX_BYTES => "is too long",
            Ok(name) if name.contains(char::is_control) => "has a control character",
            Err(_) => "is not UTF-8",
            // The issuer keeps these principals apart from those that the program or an authorization server names.
            Ok(name) => return Ok(Some(Principal::new(name).with_issuer(self.0.as_str()))),
        };
        let refusal = format!("header `{}` {problem}", self.0);
        Err(HttpRefusal::bad_request(&refusal))
    }
}
