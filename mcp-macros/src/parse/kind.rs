//! Kinds of handlers.

/// The kind of a handler, as determined by its attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Tool,
    Prompt,
    Resource,
    ResourceTemplate,
    Completer,
}

impl Kind {
    /// Returns the kind for a marker attribute such as `#[tool]` or `#[mcp_runtime::tool(…)]`, or `None` for any other
    /// attribute.
    pub(crate) fn of_attribute(attribute: &syn::Attribute) -> Option<Self> {
        let name = &attribute.path().segments.last()?.ident;
        [
            Self::Tool,
            Self::Prompt,
            Self::Resource,
            Self::ResourceTemplate,
            Self::Completer,
        ]
        .into_iter()
        .find(|kind| name == kind.attribute())
    }

    /// Returns the name of the attribute.
    pub(crate) fn attribute(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Prompt => "prompt",
            Self::Resource => "resource",
            Self::ResourceTemplate => "resource_template",
            Self::Completer => "completer",
        }
    }

    /// Returns the noun that error messages use for this kind of handler.
    pub(crate) fn noun(self) -> &'static str {
        match self {
            Self::ResourceTemplate => "resource template",
            other => other.attribute(),
        }
    }
}
