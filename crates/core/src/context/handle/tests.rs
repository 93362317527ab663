//! Tests that every action on a handle reaches its server.

use std::sync::Mutex;

use super::*;
use crate::context::{Caller, Principal};
use crate::handler::dynamic::Arguments;

/// Records the requested actions.
#[derive(Default)]
struct Recorder(Mutex<Vec<String>>);

impl Recorder {
    fn write(&self, line: String) {
        self.0.lock().unwrap().push(line);
    }
}

impl ServerControl for Recorder {
    fn notify(&self, change: ChangeNotification, audience: &NotifiedCallers) {
        let all = matches!(audience, NotifiedCallers::All);
        self.write(format!("{change:?}{}", if all { "" } else { " for some" }));
    }

    fn edit(&self, edit: Edit) -> Result<bool, Error> {
        self.write(format!("{:?} {:?}", edit.list, edit.steps));
        Ok(true)
    }

    fn names(&self, list: Capability) -> Vec<String> {
        vec![format!("{list:?}")]
    }

    fn shut_down(&self) {
        self.write("shut down".into());
    }
}

fn prompt(name: &str) -> DynamicPrompt {
    DynamicPrompt::new(name, |_: Arguments, _| async { String::new() })
}

#[test]
fn every_edit_of_a_handle_is_passed_to_the_server() {
    let recorder = Arc::new(Recorder::default());
    let server = ServerHandle(Arc::clone(&recorder) as Arc<dyn ServerControl>);
    server.prompts().insert(prompt("a")).unwrap();
    server.prompts().replace(prompt("a")).unwrap();
    assert!(server.tools().remove("t"));
    assert!(server.resources().disable("x:y"));
    assert!(server.resource_templates().enable("x:{y}"));
    assert_eq!(server.resource_templates().names(), ["Templates"]);
    let changed = server.prompts().edit(|prompts| {
        prompts.remove("a").insert(prompt("b"));
    });
    assert!(changed.unwrap());
    server.notify().tools_changed();
    server.notify().prompts_changed();
    server.notify().resources_changed();
    server.notify().resource_updated("x:y");
    server.notify().resource_updated("x:a b");
    let some = server.notify().for_callers(Caller::is_trusted);
    some.tools_changed();
    let alice = Principal::new("alice");
    server
        .notify()
        .for_principal(&alice)
        .resource_updated("x:y");
    server.shut_down();
    let lines = recorder.0.lock().unwrap().join("\n");
    expect_test::expect![[r#"
        Prompts [Insert(Prompt(DynamicPrompt { name: "a", .. }))]
        Prompts [Replace(Prompt(DynamicPrompt { name: "a", .. }))]
        Tools [Remove("t")]
        Resources [Disable("x:y")]
        Templates [Enable("x:{y}")]
        Prompts [Remove("a"), Insert(Prompt(DynamicPrompt { name: "b", .. }))]
        List(Tools)
        List(Prompts)
        List(Resources)
        Resource("x:y")
        List(Tools) for some
        Resource("x:y") for some
        shut down"#]]
    .assert_eq(&lines);
}
