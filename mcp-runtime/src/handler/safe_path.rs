//! A relative path that cannot leave its directory.
