//! An extension of the protocol: a typed method, a notification that clients ask for, and a result type.

use mcp_runtime::extension::{Extension, ExtensionMethod, ExtensionResult, FilterMember};
use mcp_runtime::middleware::CallOutput;
use mcp_runtime::prelude::*;

const GARDEN: &str = "com.example/garden";

/// The parameters of `garden/water`, and of the notification about it.
#[data]
struct Watering {
    bed: String,
    litres: f64,
}

async fn water(watering: Watering, ctx: Context) -> Result<Json<Watering>> {
    let notify = ctx.server().notify();
    notify.extension_key("notifications/garden/watered", &watering.bed, &watering);
    Ok(Json(watering))
}

fn garden() -> Extension {
    let watered = FilterMember::keys("gardenBeds");
    Extension::new(GARDEN)
        .settings(json!({"unit": "litre"}))
        .method(ExtensionMethod::new("garden/water", water).mirrored_name("bed"))
        .notification("notifications/garden/watered", watered)
        // A client that supports the extension receives a time estimate; all other clients wait.
        .result_type("tools/call", "estimate")
        .middleware(async |call, next| {
            if call.name() != "harvest" || call.context().extension(GARDEN).is_none() {
                return next.run(call).await;
            }
            let estimate = ExtensionResult::new(json!({"minutes": 30}))?;
            Ok(CallOutput::Extension(estimate.result_type("estimate")))
        })
}

/// Harvests everything that is ripe.
#[tool]
fn harvest() -> &'static str {
    "seven tomatoes"
}

#[mcp_runtime::main]
async fn main() -> Result<(), mcp_runtime::Error> {
    new_server!().with(garden()).run().await
}
