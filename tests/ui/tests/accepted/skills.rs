#![deny(warnings)]

mod renamed {
    pub(crate) use mcp_runtime as framework;
}

#[test]
fn a_folder_is_given_to_several_servers() {
    let folder = mcp_runtime::skills!("skills/fine");
    let same = ::mcp_runtime::skills!("skills/fine", crate = renamed::framework);
    let _ = mcp_runtime::new_server!().with(folder.ttl(std::time::Duration::from_secs(1)));
    let _ = mcp_runtime::new_server!().with(same);
}
