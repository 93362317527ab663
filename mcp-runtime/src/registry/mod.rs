//! Definitions and erased handlers, validated once; a change makes a new snapshot.
