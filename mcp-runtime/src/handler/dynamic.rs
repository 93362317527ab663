//! Definitions known only at run time.
