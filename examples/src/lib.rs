//! One small program per idea; see `src/bin`.
