//! The parts of a request that are known before its body is read.

use hyper::Uri;

use super::headers::RequestHeaders;
use crate::context::Principal;
use crate::telemetry::Origin;

/// The parts of a request that are known before its body is read.
#[derive(Clone, Copy)]
pub(super) struct Head<'h> {
    pub(super) uri: &'h Uri,
    pub(super) headers: &'h RequestHeaders<'h>,
    /// The authenticated caller; `None` if there were no credentials to check.
    pub(super) caller: Option<&'h Principal>,
    pub(super) origin: &'h Origin,
}
