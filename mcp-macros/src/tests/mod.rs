//! What the macros emit.
