//! The first part of a large result, the other parts, and requests for parts that do not exist.

use serde_json::{Value, json};
use tests::Version;

use super::{has_structured_content, id_of, read, rows, server, text, whole};
use crate::support::connect;

// Covers: TOOL-13, TOOL-14, TOOL-16
#[tokio::test]
async fn a_large_list_is_kept_and_read_in_parts_that_fit() {
    let all = serde_json::to_value(rows(500)).unwrap();
    for version in Version::ALL {
        let mut client = connect(server(), version).await;
        let small = client.tool("report", json!({"count": 3})).await;
        assert_eq!(
            small.get("structuredContent").is_some(),
            has_structured_content(version)
        );
        let parsed: Value = serde_json::from_str(text(&small, 0)).unwrap();
        assert_eq!(parsed.as_array().unwrap().len(), 3);

        let large = client.tool("report", json!({"count": 500})).await;
        assert!(large.to_string().len() < 4_000, "{large}");
        assert!(large.to_string().len() > 3_000, "it uses what it may");
        assert_eq!(large.get("structuredContent"), None);
        assert_ne!(large["isError"], true);
        let note = text(&large, 1);
        let size = all.to_string().len();
        for part in [
            format!("The result of `report` is too large to return at once: {size} bytes"),
            "a JSON list of 500 objects with the fields `id`, `name`, `note`".into(),
            "rows 0 to ".into(),
            "kept for 10 minutes".into(),
        ] {
            assert!(note.contains(&part), "{part} in {note}");
        }
        let id = id_of(&large);
        let mut read_rows: Vec<Value> = serde_json::from_str(text(&large, 0)).unwrap();
        let mut parts = 0;
        while read_rows.len() < 500 {
            let part = read(&mut client, &id, json!({"offset": read_rows.len()})).await;
            assert!(part.to_string().len() < 4_000, "{part}");
            let rows: Vec<Value> = serde_json::from_str(text(&part, 0)).unwrap();
            assert!(!rows.is_empty());
            read_rows.extend(rows);
            let follows = !text(&part, 1).contains("nothing follows");
            assert_eq!(follows, read_rows.len() < 500);
            parts += 1;
        }
        assert!(parts < 20);
        assert_eq!(json!(read_rows), all);

        let contents = whole(&mut client, &id).await;
        assert_eq!(contents["mimeType"], "application/json");
        let parsed: Value = serde_json::from_str(contents["text"].as_str().unwrap()).unwrap();
        assert_eq!(parsed, all);
        if has_structured_content(version) {
            let link = &large["content"][2];
            assert_eq!(link["type"], "resource_link");
            assert_eq!(link["uri"], contents["uri"]);
            assert_eq!(link["size"], size);
        } else {
            assert!(text(&large, 2).contains(contents["uri"].as_str().unwrap()));
        }
    }
}

#[tokio::test]
async fn rows_inside_an_object_stay_tables_and_have_fields() {
    for version in Version::ERAS {
        let mut client = connect(server(), version).await;
        let large = client.tool("table", json!({"count": 300})).await;
        assert!(text(&large, 0).starts_with("|id|name|note|\n|-|-|-|\n|0|\"row\"<br>0|"));
        let shape = "a JSON object whose member `rows` is a list of 300 objects with the fields `id`, `name`, `note`, \
                     alongside `title`, `tags`";
        assert!(text(&large, 1).contains(shape), "{large}");
        let id = id_of(&large);
        let part = json!({"offset": 298, "fields": ["name"]});
        let part = read(&mut client, &id, part).await;
        assert_eq!(
            text(&part, 0),
            "|name|\n|-|\n|\"row\"<br>298|\n|\"row\"<br>299|"
        );
        assert_eq!(text(&part, 1), "[rows 298 to 299 of 300; nothing follows]");
        let part = json!({"unit": "bytes", "limit": 19});
        let part = read(&mut client, &id, part).await;
        assert_eq!(text(&part, 0), "{\"title\":\"All rows\"");
    }
}

#[tokio::test]
async fn text_is_cut_between_lines_and_images_stay() {
    for version in Version::ERAS {
        let mut client = connect(server(), version).await;
        let large = client.tool("lines", json!({"count": 1_000})).await;
        assert!(large.to_string().len() < 4_000);
        let first = text(&large, 0);
        assert!(first.starts_with("line 0: 🦀\r\nline 1: 🦀\r\n") && first.ends_with("\r\n"));
        assert!(text(&large, 1).contains("text of 1000 lines"), "{large}");
        let id = id_of(&large);
        let part = read(&mut client, &id, json!({"offset": 998, "limit": 1})).await;
        assert_eq!(text(&part, 0), "line 998: 🦀\r\n");
        assert_eq!(
            text(&part, 1),
            "[lines 998 to 998 of 1000; the next ones begin at `offset` 999]"
        );
        assert_eq!(whole(&mut client, &id).await["mimeType"], "text/plain");

        let drawn = client
            .tool("draw", json!({"words": 2_000, "pixels": 300}))
            .await;
        let images = drawn["content"].as_array().unwrap();
        let images = images.iter().filter(|block| block["type"] == "image");
        assert_eq!(images.count(), 1);
        assert!(text(&drawn, 0).starts_with("first\nword word "));
        // One line that is larger than a part: the directions say where its rest is.
        let note = text(&drawn, 1);
        let (_, rest) = note.split_once("the rest begins at `offset` ").unwrap();
        let rest: usize = rest.split(' ').next().unwrap().parse().unwrap();
        assert_eq!(rest, text(&drawn, 0).len());
        // Without room for any text, there is nothing to keep.
        let refused = json!({"words": 1, "pixels": 4_000});
        let refused = client.refused("draw", refused).await;
        assert_eq!(
            refused,
            "the result is larger than 4000 bytes, so ask for less"
        );
    }
}

#[tokio::test]
async fn only_a_result_that_does_not_fit_is_shortened() {
    for version in Version::ERAS {
        let mut client = connect(server(), version).await;
        // The first result takes up about 3,500 bytes, the second one 4,200.
        for (count, fits) in [(200, true), (240, false)] {
            let result = client.tool("lines", json!({"count": count})).await;
            let lines = text(&result, 0).lines().count();
            assert_eq!(lines == count, fits, "{result}");
            let blocks = result["content"].as_array().unwrap().len();
            assert_eq!(blocks == 1, fits, "{result}");
        }
    }
}

#[tokio::test]
async fn parts_that_do_not_exist_are_explained() {
    for version in Version::ALL {
        let mut client = connect(server(), version).await;
        let id = id_of(&client.tool("report", json!({"count": 500})).await);
        for (arguments, expected) in [
            (
                json!({"offset": 500}),
                "`offset` 500 is beyond the end: the result has 500 rows",
            ),
            (
                json!({"offset": 18_446_744_073_709_551_615_u64}),
                "`offset` 18446744073709551615 is beyond the end: the result has 500 rows",
            ),
            (
                json!({"fields": ["nmae"]}),
                "no row has the field `nmae`; did you mean `name`?",
            ),
            (
                json!({"fields": ["id"], "unit": "lines"}),
                "`fields` selects fields of rows, so it needs the unit `rows`",
            ),
        ] {
            let mut arguments = arguments;
            arguments["result_id"] = id.as_str().into();
            assert_eq!(client.refused("read_result", arguments).await, expected);
        }
        for arguments in [
            json!({"offset": -1}),
            json!({"offset": 1.5}),
            json!({"limit": 0}),
            json!({"limit": -3}),
            json!({"unit": "pages"}),
            json!({"fields": "id"}),
            json!({"fields": [1]}),
            json!({"page": 2}),
        ] {
            let mut arguments = arguments;
            arguments["result_id"] = id.as_str().into();
            let params = json!({"name": "read_result", "arguments": arguments});
            if let Ok(result) = client.request("tools/call", params).await {
                assert_eq!(result["isError"], true, "{arguments}: {result}");
            }
        }
        let huge = json!({"limit": 1_000_000_000_000_u64, "fields": []});
        let part = read(&mut client, &id, huge).await;
        assert!(part.to_string().len() < 4_000);
    }
}

#[tokio::test]
async fn a_kept_result_is_read_under_an_equivalent_uri() {
    for version in Version::ERAS {
        let mut client = connect(server(), version).await;
        let large = client.tool("report", json!({"count": 500})).await;
        let id = id_of(&large);
        let plain = whole(&mut client, &id).await;
        let uri = json!({"uri": format!("MCP-RESULT:///{id}")});
        let again = client.ok("resources/read", uri).await;
        assert_eq!(again["contents"][0]["text"], plain["text"]);
    }
}
