//! What the measurements share: what a client sends and how it checks answers, and servers written by hand for the same
//! tools.

pub mod by_hand;
pub mod client;
pub mod connection;
pub mod process;
