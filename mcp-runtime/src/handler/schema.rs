//! From Rust types to the schemas that model APIs accept.
