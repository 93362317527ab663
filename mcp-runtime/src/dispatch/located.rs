//! Fills in the location of resource contents that do not specify one.

use std::borrow::Cow;

use crate::types::ReadResourceResult;

/// Fills in the URI and media type of contents without them. The definition's media type takes precedence over the
/// result's.
pub(super) fn with_location(
    mut result: ReadResourceResult,
    uri: &str,
    mime_type: Option<&str>,
) -> ReadResourceResult {
    let mime_type = mime_type.or(result.default_mime_type());
    for contents in &mut result.contents {
        if contents.uri.is_empty() {
            contents.uri = Cow::Owned(uri.to_owned());
        }
        if contents.mime_type.is_none() {
            contents.mime_type = mime_type.map(|mime_type| Cow::Owned(mime_type.to_owned()));
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::handler::output::Json;
    use crate::handler::resource::IntoResourceResult;
    use crate::types::ResourceContents;

    #[test]
    fn contents_without_an_address_are_from_the_one_that_was_read() {
        let mut result = ReadResourceResult::default();
        result.contents = vec![
            ResourceContents::text("", "a"),
            ResourceContents::text("b://b", "b").with_mime_type("x/y"),
        ];
        let result = with_location(result, "a://a", Some("text/plain"));
        let seen: Vec<_> = result
            .contents
            .iter()
            .map(|c| (&*c.uri, c.mime_type.as_deref()))
            .collect();
        assert_eq!(
            seen,
            [("a://a", Some("text/plain")), ("b://b", Some("x/y"))]
        );
    }

    #[test]
    fn the_media_type_of_the_definition_comes_before_that_of_json() {
        for (definition, expected) in [
            (None, "application/json"),
            (Some("application/geo+json"), "application/geo+json"),
        ] {
            let result = Json([1]).into_resource_result().unwrap();
            let result = with_location(result, "a://a", definition);
            assert_eq!(result.contents[0].mime_type.as_deref(), Some(expected));
        }
    }
}
