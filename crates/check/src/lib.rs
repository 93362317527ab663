//! Judges what a server declares: definitions that clients or models reject or that are hard to use
//! (`definitions`), pages of apps (`pages`) and skills that do not work, and changes that break clients (`surface`).
//! The report is text for people or JSON for programs (`report`).
//!
//! `mcp-dev check` uses it for any server, over the protocol, and `mcp_runtime::testing::check` for the author's own
//! server in a test. This crate does no I/O: a [`ServerReader`] sends the requests.
//!
//! This crate is an internal part of `mcp-runtime` and has no stable API. Depend on `mcp-runtime` instead, or use
//! `mcp-dev`.

#![forbid(unsafe_code)]

mod definitions;
mod finding;
mod narrowing;
mod pages;
mod reader;
mod report;
#[cfg(feature = "skills")]
mod skills;
mod surface;

pub use finding::Finding;
pub use pages::{ReadPage, read_pages};
pub use reader::{ServerReader, read_all_pages};
pub use report::{CheckReport, Judged};
#[cfg(feature = "skills")]
pub use skills::{ReadSkill, read_skills};
pub use surface::{Surface, SurfaceChange, SurfaceList, compare_surfaces};
