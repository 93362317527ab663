//! The weather, from a stand-in for the service.

use serde_json::json;
use tests::Version;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpListener;

use super::start;

const ANSWER: &str = r#"{"latitude": 52.5, "current": {"time": "2026-07-28T12:00", "interval": 900,
    "temperature_2m": 21.5, "wind_speed_10m": 7, "relative_humidity_2m": 40}}"#;

/// Answers every request by its latitude; returns its URL.
async fn service() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let mut stream = BufReader::new(stream);
            let mut request = String::new();
            while !request.ends_with("\r\n\r\n") {
                stream.read_line(&mut request).await.unwrap();
            }
            let latitude = request
                .split_once("latitude=")
                .and_then(|(_, rest)| rest.split('&').next())
                .unwrap_or_default();
            let (status, body) = match latitude {
                "52.5" => ("200 OK", ANSWER),
                "1" => ("200 OK", "{}"),
                "2" => ("429 Too Many Requests", ""),
                "3" => ("400 Bad Request", ""),
                _ => ("500 Internal Server Error", "secret"),
            };
            let answer = format!(
                "HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
                body.len()
            );
            stream.write_all(answer.as_bytes()).await.unwrap();
        }
    });
    url
}

#[tokio::test]
async fn the_weather_is_typed_and_failures_say_what_to_do() {
    let url = service().await;
    for version in Version::ERAS {
        let variables = [("WEATHER_URL", url.as_str()), ("NO_PROXY", "127.0.0.1")];
        let mut process = start("weather", &variables, version).await;
        let client = &mut process.client;
        let place = |latitude: f64| json!({"latitude": latitude, "longitude": 13.4});

        let (tools, _) = client.list("tools/list", "tools").await;
        assert_eq!(tools[0]["annotations"]["openWorldHint"], true);
        let result = client.tool("current_weather", place(52.5)).await;
        let expected =
            json!({"time": "2026-07-28T12:00", "temperature": 21.5, "wind": 7.0, "humidity": 40});
        assert_eq!(result["structuredContent"], expected);

        for (latitude, fault) in [
            (1.0, "internal error"),
            (2.0, "in a minute"),
            (3.0, "one nearby"),
            (4.0, "internal error"),
            (91.0, "/latitude"),
        ] {
            let text = client.refused("current_weather", place(latitude)).await;
            assert!(text.contains(fault), "{latitude}: {text}");
            assert!(
                !text.contains("secret") && !text.contains("127.0.0.1"),
                "{text}"
            );
        }
    }
}

#[tokio::test]
async fn a_service_that_does_not_answer_is_not_waited_for() {
    // Connections are taken, and nothing is said.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let variables = [("WEATHER_URL", url.as_str()), ("NO_PROXY", "127.0.0.1")];
    let mut process = start("weather", &variables, Version::V2026_07_28).await;
    let client = &mut process.client;
    let place = json!({"latitude": 52.5, "longitude": 13.4});
    let text = client.refused("current_weather", place).await;
    assert!(text.contains("did not answer in time"), "{text}");
}
