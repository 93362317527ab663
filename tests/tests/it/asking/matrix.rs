//! The same handlers over every link and in every protocol version: the questions asked, the outcome of each call, and
//! proof that anything in a `once` block ran only once.

use serde_json::{Value, json};
use tests::asking::{Ledger, Name, Setup};
use tests::{Answer, Link, Served, Version};

use super::across_versions::{AcrossVersions, Outcomes};

/// A call, the answers given along the way, and the expected outcome.
#[derive(Clone)]
struct Flow {
    name: &'static str,
    method: &'static str,
    params: Value,
    answers: Vec<Answer>,
    comes_to: Comes,
    /// The number of questions asked, and the number of rounds.
    asked: usize,
    rounds: usize,
    /// The number of runs of each `once` block: before the question, between questions, in each turn, and at the end.
    done: [usize; 4],
    /// The first and the last protocol version in which the client can be asked this.
    versions: (Version, Version),
}

const DONE: [&str; 4] = ["before", "between", "row", "after"];

#[derive(Clone, Copy)]
enum Comes {
    Says(&'static str),
    Refuses(&'static str),
}
use Comes::{Refuses, Says};

impl Flow {
    /// A call of a tool that asks people one question and succeeds.
    fn tool(name: &'static str, tool: &str, answers: impl Into<Vec<Answer>>) -> Self {
        let params = json!({"name": tool, "arguments": {}});
        Self::of(name, "tools/call", params, answers)
    }

    fn of(
        name: &'static str,
        method: &'static str,
        params: Value,
        answers: impl Into<Vec<Answer>>,
    ) -> Self {
        let answers = answers.into();
        Self {
            name,
            method,
            params,
            comes_to: Says(""),
            asked: answers.len(),
            rounds: answers.len(),
            answers,
            done: [1, 0, 0, 1],
            versions: (Version::V2025_06_18, Version::V2026_07_28),
        }
    }

    fn says(mut self, text: &'static str) -> Self {
        self.comes_to = Says(text);
        self
    }

    fn refuses(mut self, text: &'static str) -> Self {
        self.comes_to = Refuses(text);
        self.done[3] = 0;
        self
    }

    fn rounds(mut self, rounds: usize) -> Self {
        self.rounds = rounds;
        self
    }

    fn done(mut self, between: usize, rows: usize) -> Self {
        (self.done[1], self.done[2]) = (between, rows);
        self
    }

    fn since(mut self, first: Version) -> Self {
        self.versions.0 = first;
        self
    }

    fn only(mut self, first: Version, last: Version) -> Self {
        self.versions = (first, last);
        self
    }
}

fn ada() -> Answer {
    Answer::accept(json!({"name": "Ada"}))
}

fn sure(sure: bool) -> Answer {
    Answer::accept(json!({ "sure": sure }))
}

fn roots() -> Answer {
    Answer::Result(json!({"roots": [{"uri": "file:///r", "name": "R"}]}))
}

fn flows() -> Vec<Flow> {
    use Version::{V2024_11_05, V2025_06_18, V2025_11_25, V2026_07_28};
    let nonsense = || Answer::Result(json!({"action": 5}));
    let prompt = |name, answer| {
        let params = json!({"name": "asking_prompt"});
        Flow::of(name, "prompts/get", params, [answer])
    };
    let read =
        |name, uri, answer| Flow::of(name, "resources/read", json!({ "uri": uri }), [answer]);
    let declined = "the user declined";
    let dismissed = "the user dismissed the question without answering";
    let url = json!({"name": "somewhere", "arguments": {"url": "https://pay.example/1"}});
    vec![
        Flow::tool("one question", "one", [ada()]).says("Hello, Ada!"),
        Flow::tool("two in sequence", "two_in_sequence", [ada(), sure(true)])
            .says("Ada true 1")
            .done(1, 0),
        Flow::tool("two at once", "two_at_once", [ada(), sure(true)])
            .says("Ada true 1")
            .rounds(1)
            .done(1, 0),
        Flow::tool(
            "a loop",
            "until_sure",
            [sure(false), sure(false), sure(true)],
        )
        .says("after 3")
        .done(0, 3),
        Flow::tool(
            "three kinds",
            "three_kinds",
            [ada(), Answer::said("Paris"), roots()],
        )
        .says("Ada Paris file:///r")
        .rounds(1),
        Flow::tool("no person", "no_person", [Answer::said("Here"), roots()])
            .says("Here 1")
            .since(V2024_11_05),
        Flow::tool("from a task", "from_elsewhere", [ada()]).says("Ada"),
        Flow::tool("beside work", "beside_work", [ada()]).says("Ada"),
        prompt("a prompt", ada()).says("Tell me about Ada."),
        read("a resource", "ask://me", ada()).says("Ada"),
        read("a template", "ask://about/book", ada()).says("book Ada"),
        Flow::of(
            "an address",
            "tools/call",
            url.clone(),
            [Answer::Result(json!({"action": "accept"}))],
        )
        .says("paid")
        .since(V2025_11_25),
        Flow::of(
            "an address declined",
            "tools/call",
            url,
            [Answer::decline()],
        )
        .refuses(declined)
        .since(V2025_11_25),
        Flow::tool("declined", "one", [Answer::decline()]).refuses(declined),
        Flow::tool("dismissed", "one", [Answer::cancel()]).refuses(dismissed),
        Flow::tool("declining told", "outcome", [Answer::decline()]).says("declined"),
        Flow::tool("dismissing told", "outcome", [Answer::cancel()]).says("cancelled"),
        prompt("a prompt declined", Answer::decline()).refuses(declined),
        read("a resource declined", "ask://me", Answer::decline()).refuses(declined),
        read("a template dismissed", "ask://about/book", Answer::cancel()).refuses(dismissed),
        Flow::tool(
            "nonsense first",
            "one",
            [nonsense(), Answer::Result(json!([])), ada()],
        )
        .says("Hello, Ada!"),
        Flow::tool(
            "a bad form first",
            "one",
            [Answer::accept(json!({"name": ""})), ada()],
        )
        .says("Hello, Ada!"),
        Flow::tool(
            "answered twice",
            "one",
            [Answer::Twice(
                json!({"action": "accept", "content": {"name": "Ada"}}),
                json!({"action": "accept", "content": {"name": "Bo"}}),
            )],
        )
        .says("Hello, Ada!"),
        // The modern era has no errors here: a missing answer is asked for again.
        Flow::tool("an error", "one", [Answer::Error(-32603, "no".into())])
            .refuses("the client could not answer: no (-32603)")
            .only(V2025_06_18, V2025_11_25),
        Flow::tool(
            "no answer at first",
            "one",
            [Answer::Error(-32603, "no".into()), ada()],
        )
        .says("Hello, Ada!")
        .only(V2026_07_28, V2026_07_28),
        Flow::tool(
            "a model refused",
            "no_person",
            [Answer::Error(-1, "User rejected".into())],
        )
        .refuses(declined)
        .only(V2024_11_05, V2025_11_25),
    ]
}

async fn play(flow: &Flow, link: Link, version: Version, hostile: bool) -> (Outcomes, Ledger) {
    let setup = Setup {
        store: hostile,
        ..Setup::default()
    };
    let mut served = Served::start(link, &setup).await;
    let mut client = AcrossVersions::of([served.client(version)]);
    for answer in &flow.answers {
        client = client.reply(answer.clone());
    }
    if hostile {
        client = client.hostile("decoy");
    }
    let outcomes = client.request(flow.method, flow.params.clone()).await;
    served.ended().await;
    (outcomes, setup.ledger)
}

/// Plays every flow in these protocol versions.
#[allow(
    clippy::print_stdout,
    reason = "says which flow it was, when one fails"
)]
async fn play_all(versions: &[Version], hostile: bool) {
    for (link, version) in Link::visits(versions) {
        for flow in flows() {
            let (first, last) = flow.versions;
            if version > last || (first.is_modern() && !version.is_modern()) {
                continue;
            }
            println!("{} over {link:?} in {}", flow.name, version.date());
            let (outcomes, ledger) = play(&flow, link, version, hostile).await;
            if version < first {
                // The reason is stated plainly before anything is asked.
                let expected = "the client does not declare required capabilities: elicitation";
                outcomes.refuses(expected).asked(0);
                assert_eq!((ledger.count("before"), ledger.count("after")), (1, 0));
            } else {
                let outcomes = outcomes.asked(flow.asked).rounds(flow.rounds);
                match flow.comes_to {
                    Says(text) => outcomes.says(text),
                    Refuses(text) => outcomes.refuses(text),
                };
                assert_eq!(DONE.map(|what| ledger.count(what)), flow.done);
            }
        }
    }
}

// Covers: MRTR-01, MRTR-02, MRTR-03, MRTR-05, MRTR-06, MRTR-07, MRTR-16, REQ-01, REQ-02, REQ-05, REQ-06, ELIC-04
// Covers: ELIC-10, ROOT-01, ROOT-03, TOOL-19, PROMPT-07, RES-10, CACHE-06
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_elicitation_flow_agrees_on_every_transport_and_version() {
    play_all(&Version::ALL, false).await;
}

// Covers: MRTR-08, MRTR-09
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn invalid_and_repeated_rounds_do_not_change_any_flow() {
    play_all(&[Version::V2026_07_28], true).await;
}

#[tokio::test]
async fn a_test_answers_with_typed_values_in_both_eras() {
    let setup = Setup::default();
    let name = "Ada".to_owned();
    AcrossVersions::both(tests::asking::server(&setup))
        .answer(Name { name })
        .call("one", json!({}))
        .await
        .says("Hello, Ada!")
        .asked(1)
        .rounds(1);
}
