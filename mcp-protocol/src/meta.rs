//! Keys in `_meta` that are reserved for the protocol.
//!
//! Specification: 2026-07-28, basic, "_meta".

/// Returns `true` if a key in `_meta` or the identifier of an extension has a prefix that is reserved for the protocol.
///
/// A prefix is reserved if its second label is `modelcontextprotocol` or `mcp`, as in `io.modelcontextprotocol/…` or
/// `com.mcp.tools/…`. Revision 2025-06-18 also reserves prefixes that start with one of these labels.
#[must_use]
pub fn is_reserved_meta_key(key: &str) -> bool {
    let Some((prefix, _)) = key.rsplit_once('/') else {
        return false;
    };
    let reserved = |label: Option<&str>| matches!(label, Some("modelcontextprotocol" | "mcp"));
    let mut labels = prefix.split('.');
    let first = labels.next();
    let second = labels.next();
    reserved(second) || (reserved(first) && second.is_some())
}

/// Returns `true` if the core protocol defines this key in `_meta` itself.
#[must_use]
pub fn is_core_meta_key(key: &str) -> bool {
    const NAMES: [&str; 6] = [
        "clientCapabilities",
        "clientInfo",
        "logLevel",
        "protocolVersion",
        "serverInfo",
        "subscriptionId",
    ];
    let name = key.strip_prefix("io.modelcontextprotocol/");
    name.is_some_and(|name| NAMES.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_label_of_the_prefix_reserves_a_key() {
        for (key, reserved) in [
            ("io.modelcontextprotocol/serverInfo", true),
            ("dev.mcp/x", true),
            ("com.mcp.tools/x", true),
            ("mcp.dev/x", true),
            ("com.example.mcp/x", false),
            ("com.example/x", false),
            ("mcp", false),
            ("ui", false),
            ("traceparent", false),
            ("", false),
        ] {
            assert_eq!(is_reserved_meta_key(key), reserved, "{key}");
        }
    }
}
