//! Rules that a server sets for all of its definitions, including those that are inserted while it runs.

/// The rules that a server sets for all of its definitions.
#[derive(Clone, Debug, Default)]
pub(crate) struct ServerRules {
    /// Reserved keys of `_meta` that the server's extensions define.
    pub(crate) meta_keys: Vec<String>,
    /// The scopes that a tag requires, which apply to all definitions with that tag.
    pub(crate) tag_scopes: Vec<(String, Vec<String>)>,
    /// Tags with their descriptions for models.
    pub(crate) tag_descriptions: Vec<(String, String)>,
}

impl ServerRules {
    /// Returns the tags that have a description. They are known even while no definition has them.
    pub(crate) fn described_tags(&self) -> impl Iterator<Item = &str> {
        self.tag_descriptions.iter().map(|(tag, _)| tag.as_str())
    }

    /// Returns the scopes that these tags require.
    pub(super) fn scopes<'r>(&'r self, tags: &'r [Box<str>]) -> impl Iterator<Item = &'r String> {
        let required = self.tag_scopes.iter();
        let required = required.filter(|(tag, _)| tags.iter().any(|known| **known == **tag));
        required.flat_map(|(_, scopes)| scopes)
    }
}
