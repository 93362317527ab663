//! `orders`: repeated calls.

use serde_json::json;
use tests::{Process, Version};

#[tokio::test]
async fn an_order_is_placed_once_however_often_it_is_called() {
    for version in Version::ERAS {
        let mut process = Process::start("orders", &[], version).await;
        let client = &mut process.client;
        client
            .refused("place_order", json!({"cart_id": "A-1", "item": ""}))
            .await;
        for _ in 0..3 {
            let order = json!({"cart_id": "A-1", "item": "a lamp"});
            let placed = client.text("place_order", order).await;
            assert_eq!(placed, "cart A-1 is order 1");
        }
        let other = json!({"cart_id": "A-1", "item": "a chair"});
        client.refused("place_order", other).await;
        assert_eq!(client.text("count_orders", json!({})).await, "1");
    }
}
