use mcp_runtime::prelude::*;
use mcp_runtime::{FromContext, HandlerError};

#[data(input)]
struct Tenant {
    name: String,
}

impl FromContext for Tenant {
    fn from_context(_: &Context) -> Result<Self, HandlerError> {
        bail!("there is none")
    }
}

#[tool]
fn greet(tenant: Tenant) -> String {
    tenant.name
}

fn main() {}
