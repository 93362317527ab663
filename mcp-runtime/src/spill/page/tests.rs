use serde_json::{Value, json};

use super::*;

fn page(text: &str, is_json: bool, request: &PageRequest, room: usize) -> Result<PageText, String> {
    Document::read(text, is_json).page(request, room)
}

fn from(offset: usize) -> PageRequest {
    PageRequest {
        offset,
        ..PageRequest::default()
    }
}

/// Reads a whole result, page by page.
fn all_pages(text: &str, is_json: bool, unit: Unit, room: usize) -> Vec<PageText> {
    let mut pages: Vec<PageText> = Vec::new();
    loop {
        let request = PageRequest {
            unit: Some(unit),
            ..from(pages.last().and_then(PageText::next).unwrap_or_default())
        };
        let page = page(text, is_json, &request, room).unwrap();
        assert!(
            escaped_size(&page.text) <= room,
            "{page:?} is larger than {room}"
        );
        let is_last = page.next().is_none();
        pages.push(page);
        if is_last {
            return pages;
        }
    }
}

#[test]
fn pages_of_rows_are_json_and_together_they_are_the_whole() {
    let rows: Vec<Value> = (0..50)
        .map(|id| json!({"id": id, "note": "\"é\n".repeat(id % 7)}))
        .collect();
    for text in [
        json!(rows).to_string(),
        json!({"total": 50, "rows": rows}).to_string(),
    ] {
        for room in [100, 317, 100_000] {
            let pages = all_pages(&text, true, Unit::Rows, room);
            let read = pages.iter().flat_map(|page| {
                assert_eq!(page.end, PageEnd::Whole);
                serde_json::from_str::<Vec<Value>>(&page.text).unwrap()
            });
            assert_eq!(read.collect::<Vec<_>>(), rows);
        }
    }
}

#[test]
fn pages_of_lines_and_bytes_end_at_boundaries_and_together_they_are_the_whole() {
    let text = "line \"one\"\r\n\n🦀🦀🦀\nlast".repeat(9);
    for room in [24, 40, 1_000] {
        for unit in [Unit::Lines, Unit::Bytes] {
            let pages = all_pages(&text, false, unit, room);
            let read: String = pages.into_iter().map(|page| page.text).collect();
            assert_eq!(read, text, "{unit:?} in {room}");
        }
    }
}

#[test]
fn the_rest_of_a_row_that_is_larger_than_a_page_is_found_by_its_bytes() {
    let large = "é\"".repeat(200);
    let text = json!([{"a": 1}, {"large": large}, {"a": 2}]).to_string();
    let first = page(&text, true, &from(1), 100).unwrap();
    assert_eq!((first.count, first.next()), (1, Some(2)));
    let PageEnd::CutAt(rest) = first.end else {
        panic!("{:?}", first.end);
    };
    assert!(text[..rest].ends_with(&first.text));
    let request = PageRequest {
        unit: Some(Unit::Bytes),
        ..from(rest)
    };
    let second = page(&text, true, &request, 100_000).unwrap();
    assert_eq!(
        first.text + second.text.strip_suffix(",{\"a\":2}]").unwrap(),
        json!({"large": large}).to_string()
    );
}

#[test]
fn fields_are_selected_and_unknown_ones_explained() {
    let text = r#"{"rows":[{"id":1,"name":"a"},{"id":2,"extra":[1]}]}"#;
    let request = |fields: &[&str]| PageRequest {
        fields: fields.iter().map(|&field| field.to_owned()).collect(),
        ..PageRequest::default()
    };
    let read = |fields: &[&str]| page(text, true, &request(fields), 1_000).map(|page| page.text);
    assert_eq!(
        read(&["extra", "id"]).unwrap(),
        "[{\"id\":1},\n{\"id\":2,\"extra\":[1]}]"
    );
    for (fields, problem) in [
        (
            ["nmae"],
            "no row has the field `nmae`; did you mean `name`?",
        ),
        (
            ["zzz"],
            "no row has the field `zzz`; there are `id`, `name`, `extra`",
        ),
    ] {
        assert_eq!(read(&fields).unwrap_err(), problem);
    }
    let problem = page("[1,2]", true, &request(&["a"]), 1_000).unwrap_err();
    assert_eq!(
        problem,
        "`fields` selects fields of objects, but the rows have none"
    );
    let bytes = PageRequest {
        unit: Some(Unit::Bytes),
        ..request(&["id"])
    };
    let problem = page(text, true, &bytes, 1_000).unwrap_err();
    assert_eq!(
        problem,
        "`fields` selects fields of rows, so it needs the unit `rows`"
    );
}

#[test]
fn offsets_beyond_the_end_and_missing_rows_are_explained() {
    for (text, is_json, request, problem) in [
        (
            "[1,2]",
            true,
            from(2),
            "`offset` 2 is beyond the end: the result has 2 rows",
        ),
        (
            "a\nb",
            false,
            from(usize::MAX),
            "`offset` 18446744073709551615 is beyond the end: the result has 2 lines",
        ),
        (
            "{\"a\":1}",
            true,
            from(7),
            "`offset` 7 is beyond the end: the result has 7 bytes",
        ),
        (
            "text",
            false,
            PageRequest {
                unit: Some(Unit::Rows),
                ..PageRequest::default()
            },
            "the result has no rows; use the unit `lines`",
        ),
    ] {
        assert_eq!(page(text, is_json, &request, 1_000).unwrap_err(), problem);
    }
    assert_eq!(page("[]", true, &from(0), 1_000).unwrap().text, "[]");
}

#[test]
fn a_limit_ends_a_page_early_and_even_the_smallest_room_makes_progress() {
    let limited = |unit, limit| PageRequest {
        unit: Some(unit),
        limit: Some(limit),
        ..PageRequest::default()
    };
    let read = |request: &PageRequest, room| page("🦀\nab\n", false, request, room).unwrap();
    assert_eq!(read(&limited(Unit::Lines, 1), 100).text, "🦀\n");
    assert_eq!(read(&limited(Unit::Bytes, 5), 100).text, "🦀\n");
    assert_eq!(read(&limited(Unit::Bytes, usize::MAX), 100).count, 8);
    assert_eq!(read(&limited(Unit::Bytes, 1), 100).text, "🦀");
    assert_eq!(read(&limited(Unit::Bytes, 8), 1).text, "🦀");
}
