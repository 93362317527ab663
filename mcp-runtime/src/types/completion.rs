//! Completion: what may come next in an argument.

use serde::{Deserialize, Serialize};

/// Candidates for an argument, best first.
///
/// Source: revision 2026-07-28, schema `CompleteResult`, member `completion`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Completion {
    /// At most 100 candidates.
    pub values: Vec<String>,
    /// How many there are in all, which may be more than `values` holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
    /// Whether there are more than `values` holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub has_more: Option<bool>,
}

/// What is being completed: an argument of a prompt, or a variable of a resource template.
///
/// Source: revision 2026-07-28, schema `PromptReference` and `ResourceTemplateReference`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", try_from = "Reference")]
#[non_exhaustive]
pub enum CompletionReference {
    /// The prompt of this name.
    #[serde(rename = "ref/prompt")]
    Prompt {
        /// Its name.
        name: String,
    },
    /// The resource template, or a resource of it, at this address.
    #[serde(rename = "ref/resource")]
    Resource {
        /// The template as listed, or an address it matches.
        uri: String,
    },
}

/// Any reference as it comes: read at once, where a tagged enum would be put aside first and read a second time.
#[derive(Deserialize)]
struct Reference {
    r#type: String,
    name: Option<String>,
    uri: Option<String>,
}

impl TryFrom<Reference> for CompletionReference {
    type Error = String;

    fn try_from(Reference { r#type, name, uri }: Reference) -> Result<Self, String> {
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
