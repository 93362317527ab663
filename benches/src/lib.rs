//! Code shared by the benchmarks: a client's requests and its checks of the answers, and handwritten servers with the
//! same tools.

pub mod by_hand;
pub mod client;
pub mod connection;
pub mod data;
pub mod process;
