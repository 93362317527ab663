//! Requests for the methods of extensions, and the parts of core requests that extensions define.

use std::borrow::Cow;
use std::sync::Arc;

use crate::context::Caller;
use crate::context::RequestSource;
use crate::dispatch::Dispatcher;
use crate::dispatch::origin::RequestOrigin;
use crate::dispatch::prepared::PreparedCall;
use crate::dispatch::request::Request;
use crate::dispatch::request_outcome::RequestOutcome;
use crate::dispatch::target::{CallTarget, MethodTarget};
use crate::extension::FilterProblem;
use crate::jsonrpc::ErrorObject;
use crate::jsonrpc::{Params, each_member, unquote};
use crate::observe::CalledItem;
use crate::protocol::Method;
use crate::protocol::encode::ExtensionFilter;
use crate::protocol::negotiation::ModernMeta;
use crate::protocol::{ProtocolVersion, errors};

impl Dispatcher {
    /// Answers a request for a method that is not part of the core protocol in this version.
    ///
    /// A method that the caller cannot see is answered like a method that does not exist. A client that does not
    /// declare the extension is refused before any part of the request other than its method is read.
    pub(super) fn answer_extension<'m>(
        self: &Arc<Self>,
        name: &str,
        request: Request<'m>,
        origin: &RequestOrigin,
    ) -> Result<RequestOutcome<'m>, ErrorObject> {
        let method = self.settings.extensions.method(name, request.version);
        let method = method
            .filter(|method| method.callable.access.is_visible_to(&request.caller))
            .ok_or_else(|| errors::method_not_found(name))?;
        let extension = &method.extension;
        if !extension.is_open_to(&request.sender.capabilities(), request.version) {
            let error = errors::undeclared_extension(request.version, name, &extension.id);
            return Err(error);
        }
        method.callable.access.check_scopes(&request.caller)?;
        let target = MethodTarget {
            callable: Arc::clone(&method.callable),
            result_types: Arc::clone(&method.result_types),
            may_ask: method.forwards_questions && !request.version.is_modern(),
            is_built_in: method.is_built_in,
        };
        Ok(RequestOutcome::Call(PreparedCall {
            dispatcher: Arc::clone(self),
            logs: origin.logs.clone(),
            channel: origin.channel,
            target: CallTarget::Method(Arc::new(target)),
            arguments: request.params.raw().unwrap_or("{}").into(),
            request,
            source: RequestSource::Message,
        }))
    }

    /// Returns the extension method with this name, as observers see it.
    pub(super) fn called_method(&self, name: &str) -> CalledItem<'_> {
        let method = self
            .settings
            .extensions
            .method(name, ProtocolVersion::LATEST);
        method.map_or(CalledItem::Other, |method| {
            CalledItem::Method(&method.callable.name)
        })
    }

    /// Reads the members that extensions define in a listen filter. User code has not yet checked the keys.
    pub(super) fn extension_filter(
        &self,
        wanted: &str,
        request: &Request<'_>,
    ) -> Result<Vec<ExtensionFilter>, ErrorObject> {
        let extensions = &self.settings.extensions;
        if !extensions.has_filter_members() {
            return Ok(Vec::new());
        }
        let wanted = serde_json::from_str(wanted)
            .map_err(|error| errors::unparsable_member("notifications", &error))?;
        let client = request.sender.capabilities();
        let filters = extensions.read_filter(&wanted, (request.version, &client));
        filters.map_err(|problem| match problem {
            FilterProblem::NotStrings(name) => errors::invalid_member(name, "an array of strings"),
            FilterProblem::NotABoolean(name) => errors::invalid_member(name, "a boolean"),
            FilterProblem::Undeclared(id) => {
                errors::undeclared_extension(request.version, "subscriptions/listen", id)
            }
        })
    }

    /// Returns the part of a request's body that the `Mcp-Name` header mirrors.
    ///
    /// The header is not compared for a method that this caller cannot see or this client cannot use, so the request is
    /// answered as it would be without the header.
    pub(crate) fn mirrored_name<'m>(
        &self,
        (method, known): (&str, Option<Method>),
        params: &Params<'m>,
        (modern, caller): (&ModernMeta<'_>, &Caller),
    ) -> MirroredName<'m> {
        if let Some(method) = known {
            return match method.mirrored_member() {
                None => MirroredName::Nothing,
                Some(member) => params.string(member).ok().flatten().into(),
            };
        }
        let method = self.settings.extensions.method(method, modern.version);
        let Some((method, member)) =
            method.and_then(|method| Some((method, method.mirrored_name.as_deref()?)))
        else {
            return MirroredName::Nothing;
        };
        let is_usable = method.callable.access.is_visible_to(caller)
            && method
                .extension
                .is_open_to(&modern.capabilities(), modern.version);
        if !is_usable {
            return MirroredName::Nothing;
        }
        let mut value = None;
        if let Some(params) = params.raw() {
            each_member(params, |key, json| {
                if key == member.as_bytes() {
                    value = Some(json);
                }
            });
        }
        match value.and_then(|json| unquote(json).ok()) {
            Some(name) if !method.requires_name_header => MirroredName::Optional(name),
            name => name.into(),
        }
    }
}

/// The part of a request's body that the `Mcp-Name` header mirrors.
#[derive(Debug)]
pub(crate) enum MirroredName<'m> {
    /// The header is not used for this method.
    Nothing,
    /// The member is missing from the body or is not a string. This is reported later.
    Missing,
    Name(Cow<'m, str>),
    /// The name; the header may be missing.
    Optional(Cow<'m, str>),
}

impl<'m> From<Option<Cow<'m, str>>> for MirroredName<'m> {
    fn from(name: Option<Cow<'m, str>>) -> Self {
        name.map_or(Self::Missing, Self::Name)
    }
}
