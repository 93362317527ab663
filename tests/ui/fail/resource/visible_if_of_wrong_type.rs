use mcp_runtime::prelude::*;
use mcp_runtime::{Caller, Principal};

fn for_some(who: &Principal) -> bool {
    who.has_scope("staff")
}

async fn later(caller: &Caller) -> bool {
    caller.is_trusted()
}

#[resource("room://staff", visible_if = for_some)]
fn room() -> String {
    String::new()
}

#[resource("room://later", visible_if = later)]
fn later_room() -> String {
    String::new()
}

#[resource("room://closure", visible_if = |caller: &Caller| caller.is_trusted())]
fn closed_room() -> String {
    String::new()
}

fn main() {}
