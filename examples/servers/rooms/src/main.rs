//! Books meeting rooms. `rooms --help` lists the settings.

use mcp_runtime::prelude::*;
use rooms::Settings;

#[mcp_runtime::main]
async fn main() -> Result<(), mcp_runtime::Error> {
    let server = new_server!().env::<Settings>("ROOMS_");
    let settings = server.env_value::<Settings>()?;
    rooms::configure(server, &settings).run().await
}
