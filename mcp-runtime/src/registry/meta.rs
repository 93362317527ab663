//! Which `_meta` keys a program may use.
