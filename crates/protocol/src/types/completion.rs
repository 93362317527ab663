//! Argument completion.

use serde::{Deserialize, Serialize};

/// Completion candidates for an argument, best first.
///
/// Source: revision 2026-07-28, schema `CompleteResult`, member `completion`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Completion {
    /// The candidates, at most 100.
    pub values: Vec<String>,
    /// The total number of candidates, which may exceed the number of `values`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
    /// `true` if there are more candidates than `values` contains.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub has_more: Option<bool>,
}

/// The target of a completion: a prompt or a resource template.
///
/// Source: revision 2026-07-28, schema `PromptReference` and `ResourceTemplateReference`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", try_from = "AnyReference")]
#[non_exhaustive]
pub enum CompletionReference {
    /// A prompt.
    #[serde(rename = "ref/prompt")]
    Prompt {
        /// The name of the prompt.
        name: String,
    },
    /// A resource template, or a resource that matches one.
    #[serde(rename = "ref/resource")]
    Resource {
        /// The URI template as listed, or a URI that matches it.
        uri: String,
    },
}

#[doc(hidden)]
impl CompletionReference {
    /// Returns `true` if the target is a prompt.
    #[must_use]
    pub fn is_prompt(&self) -> bool {
        matches!(self, Self::Prompt { .. })
    }

    /// Returns the name of the prompt, or the URI of the resource or template.
    #[must_use]
    pub fn target(&self) -> &str {
        match self {
            Self::Prompt { name } => name,
            Self::Resource { uri } => uri,
        }
    }
}

/// A reference whose type has not been checked. This type is read in a single pass, whereas a tagged enum would first
/// be buffered and then read a second time.
#[derive(Deserialize)]
struct AnyReference {
    r#type: String,
    name: Option<String>,
    uri: Option<String>,
}

impl TryFrom<AnyReference> for CompletionReference {
    type Error = String;

    fn try_from(AnyReference { r#type, name, uri }: AnyReference) -> Result<Self, String> {
        let missing = |field: &str| format!("missing field `{field}`");
        match r#type.as_str() {
            "ref/prompt" => {
                let name = name.ok_or_else(|| missing("name"))?;
                Ok(Self::Prompt { name })
            }
            "ref/resource" => {
                let uri = uri.ok_or_else(|| missing("uri"))?;
                Ok(Self::Resource { uri })
            }
            other => Err(format!(
                "unknown variant `{other}`, expected `ref/prompt` or `ref/resource`"
            )),
        }
    }
}
