//! Authors' mistakes, and the rules that apply to all questions of a call.

use mcp_runtime::Limits;
use serde_json::json;
use tests::Version;

use super::{able, client, client_of, refusal, server, text};

// Covers: COMP-06
#[tokio::test]
async fn a_completer_cannot_send_input_requests() {
    for version in Version::ERAS {
        let (mut client, _) = client(version).await;
        let reference = json!({"type": "ref/prompt", "name": "completed"});
        let params = json!({"ref": reference, "argument": {"name": "what", "value": ""}});
        let result = client.request("completion/complete", params).await.unwrap();
        assert_eq!(result["completion"]["values"], json!(["false true"]));
        assert_eq!(client.asked, []);
    }
}

#[tokio::test]
async fn misuse_of_elicitations_is_an_error_in_both_eras() {
    for version in Version::ERAS {
        let (mut client, _) = client(version).await;
        let text = refusal(&mut client, "inside_once").await;
        assert!(text.contains("inside `once`"), "{text}");
        let text = refusal(&mut client, "twice_once").await;
        assert!(text.contains("is used twice"), "{text}");
        assert_eq!(client.asked, []);
    }
}

#[tokio::test]
async fn a_call_has_the_same_id_in_all_of_its_rounds() {
    for version in Version::ERAS {
        let (mut client, _) = client(version).await;
        let mut seen = Vec::new();
        for _ in 0..2 {
            let ids = text(&mut client, "call_id").await;
            let (first, last) = ids.split_once(' ').unwrap();
            if version.is_modern() {
                assert_eq!(first, last);
            }
            seen.push(last.to_owned());
        }
        assert_ne!(seen[0], seen[1]);
    }
}

#[tokio::test]
async fn too_many_concurrent_input_requests_are_an_error() {
    let limits = Limits::default().with(|limits| limits.elicitation.max_open = 2);
    for version in Version::ERAS {
        let server = server().limits(limits.clone());
        let mut client = client_of(server, version, able()).await;
        let text = refusal(&mut client, "three_kinds").await;
        assert!(text.contains("more than 2 questions"), "{text}");
    }
}

#[tokio::test]
async fn missing_sealing_keys_are_an_error_at_startup() {
    let (transport, _stream) = mcp_runtime::transport::memory();
    let server = server().sealing_keys_from_env("NO_SUCH_VARIABLE");
    let error = server.serve(transport).await.unwrap_err();
    assert!(error.to_string().contains("NO_SUCH_VARIABLE"), "{error}");
}
