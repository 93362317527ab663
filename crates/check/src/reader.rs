//! How a server is read: requests, and lists with several pages.

use std::collections::BTreeSet;
use std::future::Future;

use serde_json::{Value, json};

/// A connection to the server that is judged.
pub trait ServerReader: Sync {
    /// Sends a request and returns its result, or the reason why there is none. Questions that the server asks before
    /// it answers are answered as the implementation sees fit.
    fn request(
        &self,
        method: &str,
        params: Value,
    ) -> impl Future<Output = Result<Value, String>> + Send;
}

/// Maximum number of items in a list. Only a list that never ends exceeds it.
const MAX_ITEMS: usize = 200_000;

/// Returns the items on all pages of a method's result.
///
/// # Errors
///
/// Returns the reason why a page cannot be read, or why the list does not end.
pub async fn read_all_pages(
    reader: &impl ServerReader,
    method: &str,
    member: &str,
) -> Result<Vec<Value>, String> {
    let mut items = Vec::new();
    let mut cursors = BTreeSet::new();
    let mut params = json!({});
    loop {
        let mut page = reader.request(method, params).await?;
        match page.get_mut(member).map(Value::take) {
            Some(Value::Array(more)) => items.extend(more),
            _ => return Err(format!("the result of {method} has no list of `{member}`")),
        }
        if items.len() > MAX_ITEMS {
            return Err(format!("{method} lists more than {MAX_ITEMS} items"));
        }
        match page.get_mut("nextCursor").map(Value::take) {
            None | Some(Value::Null) => return Ok(items),
            Some(cursor) => {
                // Also with pages that are empty, the list has to end.
                if !cursors.insert(cursor.to_string()) {
                    return Err(format!(
                        "{method} does not end: it returns the same cursor again"
                    ));
                }
                params = json!({"cursor": cursor});
            }
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use super::*;

    /// A server that is a function.
    pub(crate) struct Answers<F>(pub(crate) F);

    impl<F: Fn(&str, &Value) -> Result<Value, String> + Sync> ServerReader for Answers<F> {
        fn request(
            &self,
            method: &str,
            params: Value,
        ) -> impl Future<Output = Result<Value, String>> + Send {
            std::future::ready((self.0)(method, &params))
        }
    }

    /// Returns the value of a future that is ready.
    pub(crate) fn ready<T>(future: impl Future<Output = T>) -> T {
        match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(value) => value,
            Poll::Pending => panic!("the future is not ready"),
        }
    }

    #[test]
    fn a_list_is_read_to_its_end() {
        let server = Answers(|method: &str, params: &Value| {
            assert_eq!(method, "tools/list");
            let start = params["cursor"]
                .as_str()
                .map_or(0, |cursor| cursor.parse().unwrap());
            let tools: Vec<u64> = (start..start + 100).collect();
            let next = (start + 100 < 5_000).then(|| (start + 100).to_string());
            Ok(json!({"tools": tools, "nextCursor": next}))
        });
        let tools = ready(read_all_pages(&server, "tools/list", "tools")).unwrap();
        assert_eq!(tools.len(), 5_000);
        assert!(
            tools
                .iter()
                .enumerate()
                .all(|(at, tool)| tool.as_u64() == Some(at as u64))
        );
    }

    #[test]
    fn a_list_that_is_wrong_has_a_reason() {
        for (page, reason) in [
            (json!({"tools": []}), None),
            (json!({"tools": {}}), Some("has no list of `tools`")),
            (json!([]), Some("has no list of `tools`")),
            (json!(null), Some("has no list of `tools`")),
            (
                json!({"tools": [], "nextCursor": "a"}),
                Some("returns the same cursor again"),
            ),
            (json!({"tools": [1], "nextCursor": null}), None),
        ] {
            let server = Answers(|_: &str, _: &Value| Ok(page.clone()));
            let read = ready(read_all_pages(&server, "tools/list", "tools"));
            assert_eq!(read.is_err(), reason.is_some(), "{page}");
            if let (Err(read), Some(reason)) = (read, reason) {
                assert!(read.contains(reason), "{page}: {read}");
            }
        }
        let endless = Answers(|_: &str, params: &Value| {
            let next = params["cursor"].as_u64().unwrap_or_default() + 1;
            Ok(json!({"tools": vec![json!(1); 50_000], "nextCursor": next}))
        });
        let read = ready(read_all_pages(&endless, "tools/list", "tools"));
        assert!(read.unwrap_err().contains("more than 200000 items"));
    }
}
