//! The weather, from a stand-in for the real service.

use serde_json::json;
use tests::Version;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpListener;

use super::start;

const ANSWER: &str = r#"{"latitude": 52.5, "current": {"time": "2026-07-28T12:00", "interval": 900,
    "temperature_2m": 21.5, "wind_speed_10m": 7, "relative_humidity_2m": 40}}"#;

/// Starts a service that answers every request based on its latitude; returns its URL.
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
                _ if request.contains("apikey=k3y") => ("429 Too Many Requests", ""),
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
    // Connections are accepted but never answered.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let variables = [("WEATHER_URL", url.as_str()), ("NO_PROXY", "127.0.0.1")];
    let mut process = start("weather", &variables, Version::V2026_07_28).await;
    let client = &mut process.client;
    let place = json!({"latitude": 52.5, "longitude": 13.4});
    let text = client.refused("current_weather", place).await;
    assert!(text.contains("did not answer in time"), "{text}");
}

#[tokio::test]
async fn a_key_from_the_environment_reaches_the_service() {
    let url = service().await;
    for version in Version::ERAS {
        let variables = [
            ("WEATHER_URL", url.as_str()),
            ("WEATHER_API_KEY", "k3y"),
            ("NO_PROXY", "127.0.0.1"),
        ];
        let mut process = start("weather", &variables, version).await;
        let place = json!({"latitude": 52.5, "longitude": 13.4});
        // The service answers only this key with 429.
        let text = process.client.refused("current_weather", place).await;
        assert!(text.contains("in a minute"), "{text}");
    }
}

/// Runs the example without a client; returns its exit code, its output and its log.
fn run(arguments: &[&str], variables: &[(&str, &str)]) -> (Option<i32>, String, String) {
    let mut command = std::process::Command::new(tests::binary("weather"));
    command.args(arguments).envs(variables.iter().copied());
    let output = tests::run::output(&mut command);
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (
        output.status.code(),
        text(output.stdout),
        text(output.stderr),
    )
}

#[test]
fn the_help_lists_the_environment_even_if_it_is_wrong() {
    let (code, out, _) = run(&["--help"], &[("WEATHER_URL", "gopher://")]);
    assert_eq!(code, Some(0));
    for line in [
        "  WEATHER_URL      URL of the weather service (string, default https://api.open-meteo.com)\n",
        "  WEATHER_API_KEY  Key for the weather service, for paying customers (string, secret)\n",
    ] {
        assert!(out.contains(line), "{out}");
    }
}

#[test]
fn a_server_does_not_start_in_a_wrong_environment() {
    let wrong = [("WEATHER_URL", "gopher://"), ("WEATHER_APIKEY", "k3y")];
    for arguments in [&[][..], &["resources"], &["--http", "127.0.0.1:0"]] {
        let (code, out, err) = run(arguments, &wrong);
        assert_eq!((code, &*out), (Some(1), ""), "{err}");
        assert!(err.contains("`WEATHER_URL`: "), "{err}");
        assert!(
            err.contains("variable=\"WEATHER_APIKEY\" meant=\"WEATHER_API_KEY\""),
            "{err}"
        );
        assert!(!err.contains("k3y"), "{err}");
    }
}

#[test]
fn commands_that_read_only_definitions_need_no_valid_environment() {
    for command in ["tools", "prompts", "templates", "--describe"] {
        let (code, out, err) = run(&[command], &[("WEATHER_URL", "gopher://")]);
        assert_eq!(code, Some(0), "{command}: {out}{err}");
    }
    let (_, out, _) = run(&["tools"], &[("WEATHER_URL", "gopher://")]);
    assert!(out.contains("current_weather("), "{out}");
}
