//! Code shared by the measurements: the requests of a client and its check of answers, and servers written by hand for the same
//! tools.

pub mod by_hand;
pub mod client;
pub mod connection;
pub mod process;
