//! Types that authors use: each as an argument, as a field and as a result, in both eras; and the text of results.

mod json_reader;
mod lent;
mod other_crates;
mod refused;
mod results;
mod types;

use mcp_runtime::prelude::*;
use mcp_runtime::server::Selected;

fn server() -> Server {
    Server::new("values", "1").only(Selected::tag("values"))
}
