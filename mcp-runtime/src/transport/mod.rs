//! Framing and bytes: stdio, byte streams, memory.
