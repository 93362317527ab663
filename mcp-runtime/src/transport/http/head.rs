//! What is known of a request before its body is read.

use hyper::Uri;

use super::headers::Fields;
use crate::context::Principal;
use crate::telemetry::Origin;

/// What is known of a request before its body is read.
#[derive(Clone, Copy)]
pub(super) struct Head<'h> {
    pub(super) uri: &'h Uri,
    pub(super) headers: &'h Fields<'h>,
    /// Who is known to send it; nobody, if there were no credentials to be checked.
    pub(super) caller: Option<&'h Principal>,
    pub(super) origin: &'h Origin,
}
