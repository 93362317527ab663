//! One message in, one decision out; calls under way; change notices. No I/O.
