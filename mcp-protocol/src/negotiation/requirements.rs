//! Compares required capabilities with the capabilities that a client declares.

use serde_json::{Map, Value};

use crate::ProtocolVersion;
use crate::types::{ClientCapabilities, ClientFeature};

/// Returns the `needed` features that the client lacks in this version, in the form of `ClientCapabilities`, or `None`
/// if it has all of them.
#[must_use]
pub fn missing_capabilities(
    capabilities: &ClientCapabilities,
    needed: &[ClientFeature],
    version: ProtocolVersion,
) -> Option<Value> {
    let mut required = Map::new();
    for feature in needed {
        if has_feature(capabilities, *feature, version) {
            continue;
        }
        let (name, detail) = match feature {
            ClientFeature::Sampling => ("sampling", None),
            ClientFeature::SamplingTools => ("sampling", Some("tools")),
            ClientFeature::Elicitation => (
                "elicitation",
                (version >= ProtocolVersion::V2025_11_25).then_some("form"),
            ),
            ClientFeature::ElicitationUrl => ("elicitation", Some("url")),
            ClientFeature::Roots => ("roots", None),
        };
        let entry = required
            .entry(name)
            .or_insert_with(|| Value::Object(Map::new()));
        if let (Value::Object(entry), Some(detail)) = (entry, detail) {
            entry.insert(detail.to_owned(), Value::Object(Map::new()));
        }
    }
    // Elicitation without a mode already implies forms, so the mode is omitted.
    if capabilities.elicitation.is_none()
        && let Some(Value::Object(entry)) = required.get_mut("elicitation")
        && entry.len() == 1
    {
        entry.shift_remove("form");
    }
    (!required.is_empty()).then_some(Value::Object(required))
}

fn has_feature(
    capabilities: &ClientCapabilities,
    feature: ClientFeature,
    version: ProtocolVersion,
) -> bool {
    let (sampling, elicitation) = (&capabilities.sampling, &capabilities.elicitation);
    match feature {
        ClientFeature::Sampling => sampling.is_some(),
        ClientFeature::Roots => capabilities.roots.is_some(),
        ClientFeature::SamplingTools => {
            version >= ProtocolVersion::V2025_11_25
                && sampling
                    .as_ref()
                    .is_some_and(|sampling| sampling.tools.is_some())
        }
        ClientFeature::Elicitation => elicitation.as_ref().is_some_and(|elicitation| {
            match version {
                ProtocolVersion::V2024_11_05 | ProtocolVersion::V2025_03_26 => false,
                // Modes were added later, so the capability alone implies forms.
                ProtocolVersion::V2025_06_18 => true,
                _ => elicitation.has_form(),
            }
        }),
        ClientFeature::ElicitationUrl => {
            version >= ProtocolVersion::V2025_11_25
                && elicitation
                    .as_ref()
                    .is_some_and(|elicitation| elicitation.url.is_some())
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use ClientFeature::{Elicitation, ElicitationUrl, Roots, Sampling, SamplingTools};
    use ProtocolVersion as V;

    // Covers: ELIC-01, META-05
    #[test]
    fn what_is_missing_has_the_shape_of_capabilities() {
        for (declared, needed, version, expected) in [
            (json!({}), &[][..], V::V2026_07_28, None),
            (json!({"sampling": {}}), &[Sampling], V::V2026_07_28, None),
            (
                json!({}),
                &[Sampling],
                V::V2026_07_28,
                Some(json!({"sampling": {}})),
            ),
            (
                json!({}),
                &[Roots],
                V::V2024_11_05,
                Some(json!({"roots": {}})),
            ),
            (
                json!({"sampling": {}}),
                &[Sampling, SamplingTools],
                V::V2026_07_28,
                Some(json!({"sampling": {"tools": {}}})),
            ),
            (
                json!({"elicitation": {}}),
                &[Elicitation],
                V::V2026_07_28,
                None,
            ),
            (
                json!({"elicitation": {}}),
                &[Elicitation],
                V::V2025_06_18,
                None,
            ),
            // In this version, a client that declares elicitation supports forms, no matter what it declares about
            // modes, which were added later.
            (
                json!({"elicitation": {"url": {}}}),
                &[Elicitation],
                V::V2025_06_18,
                None,
            ),
            (
                json!({"elicitation": {"url": {}}}),
                &[Elicitation],
                V::V2025_11_25,
                Some(json!({"elicitation": {"form": {}}})),
            ),
            (
                json!({"elicitation": {"url": {}}}),
                &[ElicitationUrl],
                V::V2025_06_18,
                Some(json!({"elicitation": {"url": {}}})),
            ),
            (
                json!({"elicitation": {}}),
                &[Elicitation],
                V::V2025_03_26,
                Some(json!({"elicitation": {}})),
            ),
            (
                json!({"elicitation": {}}),
                &[Elicitation],
                V::V2024_11_05,
                Some(json!({"elicitation": {}})),
            ),
            (
                json!({}),
                &[Elicitation],
                V::V2026_07_28,
                Some(json!({"elicitation": {}})),
            ),
            (
                json!({}),
                &[ElicitationUrl],
                V::V2026_07_28,
                Some(json!({"elicitation": {"url": {}}})),
            ),
            (
                json!({"elicitation": {"url": {}}}),
                &[Elicitation, ElicitationUrl],
                V::V2026_07_28,
                Some(json!({"elicitation": {"form": {}}})),
            ),
            (
                json!({}),
                &[Elicitation, ElicitationUrl, Roots],
                V::V2025_11_25,
                Some(json!({"elicitation": {"form": {}, "url": {}}, "roots": {}})),
            ),
        ] {
            let capabilities = serde_json::from_value(declared.clone()).unwrap();
            assert_eq!(
                missing_capabilities(&capabilities, needed, version),
                expected,
                "{declared} {needed:?} {version:?}"
            );
        }
    }
}
