//! Tools from the rows of a table: each row is a saved search, and its owner sees it as a tool.
use mcp_runtime::Caller;
use mcp_runtime::dynamic::{Arguments, DynamicTool};
use mcp_runtime::extension::{SourceAnswer, SourceRequest, SourceTool, ToolSource};
use mcp_runtime::handler::Page;
use mcp_runtime::prelude::*;

/// The table: the owner, name and query of each search. Searches without an owner are for everybody.
const TABLE: [(&str, &str, &str); 3] = [
    ("", "search_open", "is:open"),
    ("ada", "search_mine", "assignee:ada"),
    ("bob", "search_late", "due:yesterday"),
];

struct Searches;

/// The rows that a caller may see, as tools. The user who started the process sees all of them.
fn tools_for(caller: &Caller) -> impl Iterator<Item = SourceTool> {
    let who = caller.principal().map_or("", |who| who.subject());
    let rows = TABLE.iter();
    let rows = rows.filter(move |(owner, ..)| caller.is_trusted() || ["", who].contains(owner));
    rows.map(|&(_, name, query)| {
        let search =
            move |_: Arguments, _: Context| async move { format!("nothing for `{query}`") };
        let schema = json!({"type": "object", "properties": {}, "additionalProperties": false});
        let tool = DynamicTool::new(name, schema, search);
        tool.description(format!("Searches for `{query}`")).into()
    })
}

impl ToolSource for Searches {
    fn name(&self) -> &'static str {
        "searches"
    }

    fn list(&self, request: &SourceRequest<'_>, _: Option<&str>) -> SourceAnswer<Page<SourceTool>> {
        let tools: Vec<_> = tools_for(request.caller()).collect();
        SourceAnswer::ready(Page::new(tools))
    }

    fn resolve(&self, request: &SourceRequest<'_>, name: &str) -> SourceAnswer<Option<SourceTool>> {
        SourceAnswer::ready(tools_for(request.caller()).find(|tool| tool.name() == name))
    }

    fn reserves(&self, name: &str) -> Option<String> {
        let is_search = name.starts_with("search_");
        is_search.then(|| "names with `search_` are for saved searches".into())
    }
}

#[mcp_runtime::main]
async fn main() -> Result<(), mcp_runtime::Error> {
    new_server!().tool_source(Searches).run().await
}
