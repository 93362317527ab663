//! `#[expose]` on variants of every form, under conditions, and on all of them.

#![deny(warnings)]

use std::fmt;

use mcp_runtime::prelude::*;

#[expose]
#[derive(Debug)]
pub enum Some {
    #[expose]
    Unit,
    #[expose]
    Tuple(u8),
    #[mcp_runtime::expose]
    Named {
        id: u8,
    },
    #[expose]
    #[cfg(any())]
    Absent,
    Hidden,
}

#[expose]
#[derive(Debug)]
pub enum All {
    #[expose]
    A,
    #[expose]
    B,
}

impl fmt::Display for Some {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

impl fmt::Display for All {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

impl std::error::Error for Some {}
impl std::error::Error for All {}
