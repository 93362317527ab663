//! RFC 6570 templates, matched in reverse.
