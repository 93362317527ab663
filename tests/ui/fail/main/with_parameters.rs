#[mcp_runtime::main]
async fn main(arguments: Vec<String>) -> Result<(), String> {
    Err(arguments.concat())
}
