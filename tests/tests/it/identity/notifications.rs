//! A changed list is reported to the callers whose view of it changed.

use mcp_runtime::dynamic::{Arguments, DynamicTool};
use mcp_runtime::{Context, Principal};
use serde_json::json;
use tests::link::Hub;
use tests::{Client, Version};

use super::{ADMIN, Identity, READER, STAFF, server};

const CHANGED: &str = "notifications/tools/list_changed";

fn tool() -> DynamicTool {
    let run = async |_: Arguments, _: Context| "run";
    DynamicTool::new("dynamic", json!({"type": "object"}), run)
}

/// Connects a client that is notified of changes to the list of tools.
async fn listening(who: Identity, hub: &Hub, version: Version) -> Client {
    let mut client = who.connect(hub, version).await;
    if version.is_modern() {
        client
            .listen("tools", json!({"toolsListChanged": true}))
            .await;
    }
    client.pass().await;
    client
}

/// Makes a change and returns which clients are notified.
async fn told<const N: usize>(clients: &mut [Client; N], change: impl FnOnce()) -> [bool; N] {
    change();
    let mut told = [false; N];
    for (client, told) in clients.iter_mut().zip(&mut told) {
        client.pass().await;
        let all = client.drain().await;
        assert!(all.iter().all(|one| one["method"] == CHANGED), "{all:?}");
        *told = !all.is_empty();
    }
    told
}

// Covers: AUTH-11, TOOL-17, SUBS-04
#[tokio::test]
async fn callers_that_cannot_see_a_change_are_not_notified() {
    for version in Version::ALL {
        let server = server();
        let handle = server.handle();
        let hub = Hub::serve(server);
        let mut clients = [
            listening(Identity::Anonymous, &hub, version).await,
            listening(READER, &hub, version).await,
            listening(STAFF, &hub, version).await,
            listening(ADMIN, &hub, version).await,
            listening(Identity::Owner, &hub, version).await,
        ];
        let tools = handle.tools();
        let readers = [false, true, false, true, true];
        let staff = [false, false, true, true, true];
        let all = [true; 5];
        let insert = || tools.insert(tool().scopes(["notes:read"])).unwrap();
        assert_eq!(told(&mut clients, insert).await, readers);
        // Some callers saw it before; others see it now.
        let replace = || {
            let hidden = tool().visible_if(|caller| caller.has_scope("staff"));
            tools.replace(hidden).unwrap();
        };
        let either = [false, true, true, true, true];
        assert_eq!(told(&mut clients, replace).await, either);
        let disable = || assert!(tools.disable("dynamic"));
        assert_eq!(told(&mut clients, disable).await, staff);
        let remove = || assert!(tools.remove("dynamic"));
        assert_eq!(told(&mut clients, remove).await, [false; 5]);
        // Several changes cause a single notification to each caller who sees at least one of them.
        let batch = || {
            let edit = tools.edit(|batch| {
                let hidden = tool().visible_if(|caller| caller.has_scope("staff"));
                batch.insert(hidden).disable("write_note");
            });
            assert!(edit.unwrap());
        };
        assert_eq!(told(&mut clients, batch).await, staff);
        let open = || tools.replace(tool()).unwrap();
        assert_eq!(told(&mut clients, open).await, all);
        // If the program announces a change itself, all clients are notified.
        let said = || handle.notify().tools_changed();
        assert_eq!(told(&mut clients, said).await, all);
    }
}

/// Connects a client that is notified of changes to one resource and the list of resources.
async fn subscribed(who: Identity, hub: &Hub, version: Version) -> Client {
    let mut client = who.connect(hub, version).await;
    if version.is_modern() {
        let filter =
            json!({"resourcesListChanged": true, "resourceSubscriptions": ["identity:open"]});
        client.listen("resources", filter).await;
    } else {
        let uri = json!({"uri": "identity:open"});
        client.ok("resources/subscribe", uri).await;
    }
    client.pass().await;
    client
}

// Covers: SUBS-04
#[tokio::test]
async fn a_program_may_notify_one_principal_or_those_it_chooses() {
    for version in Version::ALL {
        let server = server();
        let notify = server.handle().notify();
        let hub = Hub::serve(server);
        let mut clients = [
            subscribed(Identity::Anonymous, &hub, version).await,
            subscribed(READER, &hub, version).await,
            subscribed(STAFF, &hub, version).await,
            subscribed(Identity::Owner, &hub, version).await,
        ];
        let reader = Principal::new("reader").with_issuer("tests");
        let staff = notify.for_callers(|caller| {
            let principal = caller.principal();
            principal.is_some_and(|who| who.subject() == "staff")
        });
        let chosen = [
            (notify.for_principal(&reader), [false, true, false, false]),
            (staff, [false, false, true, false]),
            (notify, [true; 4]),
        ];
        for (notifier, expected) in chosen {
            for send in [
                (|notifier| notifier.resource_updated("identity:open"))
                    as fn(&mcp_runtime::server::Notifier),
                mcp_runtime::server::Notifier::resources_changed,
            ] {
                send(&notifier);
                for (client, expected) in clients.iter_mut().zip(expected) {
                    client.pass().await;
                    let notifications = client.drain().await;
                    assert_eq!(
                        notifications.len(),
                        usize::from(expected),
                        "{notifications:?}"
                    );
                }
            }
        }
    }
}
