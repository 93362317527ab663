//! The tenant of a call, from what a client cannot choose: its access token, or a header that the gateway sets.

use mcp_runtime::prelude::*;
use mcp_runtime::server::States;
use uuid::Uuid;

use crate::store::Store;

/// Everything in the database belongs to one of these, and every query names it.
#[derive(Clone, Copy, Debug)]
pub struct Tenant(pub Uuid);

impl AsyncFromContext for Tenant {
    async fn from_context(ctx: &Context) -> Result<Self> {
        let claims = ctx.principal().map(Principal::claims);
        let claimed = claims.and_then(|claims| claims.get("tenant")?.as_str());
        let name = match claimed {
            Some(name) => name,
            None => match ctx.request().trusted_header("x-tenant")? {
                Some(name) => name,
                None => bail!("the request belongs to no tenant; this is a mistake of the gateway"),
            },
        };
        let store = State::<Store>::from_context(ctx)?;
        Ok(store.tenant(name).await?)
    }

    fn check(states: &States) -> Result<(), String> {
        State::<Store>::check(states)
    }
}
