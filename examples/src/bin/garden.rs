//! A small garden: the server of docs/first-server.md, with the tests of docs/testing.md.

use mcp_runtime::prelude::*;

/// The plants in the garden.
#[data(input)]
#[derive(Clone, Copy, Debug)]
#[serde(rename_all = "lowercase")]
enum Plant {
    Basil,
    Rose,
}

/// Waters a plant.
#[tool]
fn water(
    /// Name of the plant
    plant: Plant,
    /// Amount of water, in litres
    #[arg(range(0.1..=5.0), default = 1.0)]
    litres: f64,
) -> String {
    format!("{plant:?} has had {litres} litres")
}

/// The form a person fills in before something is dug out.
#[derive(Elicit)]
struct Sure {
    /// Really dig it out?
    really: bool,
}

/// Digs a plant out, after asking.
#[tool(destructive)]
async fn dig_out(
    ctx: Context,
    /// Name of the plant
    plant: Plant,
) -> Result<String> {
    let sure: Sure = ctx
        .elicit(format!("{plant:?} will be gone for good."))
        .await?;
    if !sure.really {
        bail!("{plant:?} stays");
    }
    ctx.progress((1, 1, "digging"));
    Ok(format!("{plant:?} is gone"))
}

/// The care that a plant needs.
#[resource_template("garden:///{plant}", mime_type = "text/plain")]
fn needs(plant: Plant) -> &'static str {
    match plant {
        Plant::Basil => "sun, and water every day",
        Plant::Rose => "sun, and patience",
    }
}

/// Asks how to look after a plant.
#[prompt]
fn care(
    /// Name of the plant
    plant: Plant,
) -> String {
    format!("How do I look after my {plant:?}?")
}

fn server() -> Server {
    Server::new("garden", "0.1.0").instructions("Read what a plant needs before you water it.")
}

#[mcp_runtime::main]
async fn main() -> Result<(), mcp_runtime::Error> {
    server().run().await
}

#[cfg(test)]
mod tests {
    use mcp_runtime::testing::{Notification, Response, TestClient};

    use super::*;

    #[tokio::test]
    async fn plants_are_watered() {
        let client = TestClient::both(server()).await;
        let watered = client
            .call("water", json!({"plant": "rose"}))
            .await
            .unwrap();
        assert_eq!(watered.text(), "Rose has had 1 litres");
        let refused = client
            .call("water", json!({"plant": "rose", "litres": 9}))
            .await
            .unwrap();
        assert_eq!(refused.error_text(), "/litres: 9 is more than 5");
        client.call("dance", json!({})).await.unwrap_err();
    }

    #[tokio::test]
    async fn nothing_is_dug_out_without_asking() {
        let client = TestClient::both(server()).await;
        client.answer(Sure { really: true });
        let gone = client
            .call("dig_out", json!({"plant": "basil"}))
            .await
            .unwrap();
        assert_eq!(gone.text(), "Basil is gone");
        assert_eq!(client.asked()[0].message(), "Basil will be gone for good.");
        assert_eq!(
            client.notifications().await,
            [Notification::Progress((1, 1, "digging").into())]
        );

        client.answer(Sure { really: false });
        let stays = client
            .call("dig_out", json!({"plant": "basil"}))
            .await
            .unwrap();
        assert_eq!(stays.error_text(), "Basil stays");

        client.answer(Response::decline());
        let declined = client
            .call("dig_out", json!({"plant": "basil"}))
            .await
            .unwrap();
        assert_eq!(declined.error_text(), "the user declined");
    }

    #[tokio::test]
    async fn a_plant_says_what_it_needs() {
        let client = TestClient::both(server()).await;
        let needs = client.read("garden:///rose").await.unwrap();
        assert_eq!(needs.text(), "sun, and patience");
        let care = client
            .prompt("care", json!({"plant": "rose"}))
            .await
            .unwrap();
        assert_eq!(care.text(), "How do I look after my Rose?");
        let plants = client
            .complete_prompt("care", "plant", "ba", json!({}))
            .await
            .unwrap();
        assert_eq!(plants.values, ["basil"]);
    }

    #[tokio::test]
    async fn clients_see_what_they_saw_before() {
        TestClient::both(server())
            .await
            .assert_surface("surface/garden.json")
            .await;
    }
}
