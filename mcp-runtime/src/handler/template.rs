//! RFC 6570 templates, matched in reverse.

/// A template.
#[derive(Debug)]
pub(crate) struct UriTemplate;

impl UriTemplate {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let _ = text;
        todo!()
    }
    pub(crate) fn variables(&self) -> &[String] {
        todo!()
    }
    pub(crate) fn matches(&self, uri: &str) -> Option<Vec<(&str, String)>> {
        let _ = uri;
        todo!()
    }
    pub(crate) fn specificity(&self) -> usize {
        todo!()
    }
}
