use mcp_runtime::prelude::*;

#[expose]
#[derive(Debug)]
enum Options {
    #[expose(always)]
    A,
    #[expose = "always"]
    B,
}

#[expose]
#[derive(Debug)]
enum Fields {
    A(#[expose] String),
    B {
        #[expose]
        reason: String,
    },
}

#[expose]
#[derive(Debug)]
enum NotAnError {
    #[expose]
    A,
    B,
}

#[expose]
#[derive(Debug)]
enum Generic<T> {
    #[expose]
    A,
    B(T),
}

fn main() {}
