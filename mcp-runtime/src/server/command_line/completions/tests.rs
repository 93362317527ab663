//! Tests for lines that are being typed, and for the scripts.

use clap::Command;
use serde_json::json;

use super::line::{CommandLine, parse};
use super::{SCRIPTS, script};
use crate::server::command_line::completions::candidates::of_tool;
use crate::types::Implementation;

const BREAKS: &str = " \t\n\"'@><=;|&(:";

fn grammar() -> Command {
    super::super::command(super::super::Grammar {
        identity: &Implementation::new("server", "1"),
        environment: "",
        has_tasks: true,
    })
}

#[test]
fn bash_gets_what_follows_its_own_break() {
    for (line, candidate, expected) in [
        ("garden ca", "call", Some("call ")),
        ("garden call water plant=", "plant=rose", Some("rose ")),
        ("garden call water plant=ro", "plant=rose", Some("rose ")),
        ("garden call water ", "plant=", Some("plant=")),
        (
            "garden read garden:///r",
            "garden:///rose",
            Some("///rose "),
        ),
        ("garden call t text=a@b", "text=a@bc", Some("a@bc ")),
        ("garden call t text=a", "text=a b$c", Some("a\\ b\\$c ")),
        ("garden call t text='a", "text=a b", Some("a b")),
        ("garden call t 'text=a", "text=a b", Some("text=a b")),
        ("garden call t text='a", "text=a'b", None),
        (
            "garden call t \"text=a",
            "text=a\"$b",
            Some("text=a\\\"\\$b"),
        ),
    ] {
        let (_, last) = parse(line, BREAKS);
        assert_eq!(last.rest_of(candidate).as_deref(), expected, "{line}");
    }
    let (words, last) = parse("  garden call  'a b'\\ c d\\", BREAKS);
    assert_eq!(words, ["call", "a b c"]);
    assert_eq!(last.text, "d");
    assert_eq!(parse("", BREAKS).0, Vec::<String>::new());
}

#[test]
fn words_are_commands_options_and_arguments() {
    let grammar = grammar();
    let read = |line: &str| {
        let words: Vec<_> = line.split(' ').map(str::to_owned).collect();
        let line = CommandLine::read(&grammar, &words);
        let option = line.awaiting.map(|option| option.get_id().to_string());
        let command = if line.is_program {
            ""
        } else {
            line.command.get_name()
        };
        (
            command.to_owned(),
            line.given.join(" "),
            option.unwrap_or_default(),
            line.common.join(" "),
        )
    };
    let expected = |command: &str, given: &str, option: &str, common: &str| {
        (
            command.to_owned(),
            given.to_owned(),
            option.to_owned(),
            common.to_owned(),
        )
    };
    for (line, what) in [
        ("call", expected("call", "", "", "")),
        ("--json call add a=1", expected("call", "add a=1", "", "")),
        ("call add call", expected("call", "add call", "", "")),
        ("call --answer", expected("call", "", "answer", "")),
        ("call --answer a=b add", expected("call", "add", "", "")),
        (
            "--tags a call --as=me add",
            expected("call", "add", "", "--tags=a --as=me"),
        ),
        (
            "tools --protocol-version",
            expected("tools", "", "protocol-version", ""),
        ),
        ("unknown --unknown -x", expected("", "unknown", "", "")),
    ] {
        assert_eq!(read(line), what, "{line}");
    }
}

#[test]
fn values_are_those_of_the_schema() {
    let schema = json!({
        "properties": {
            "plant": {"$ref": "#/$defs/Plant", "description": "The plant"},
            "maybe": {"anyOf": [{"$ref": "#/$defs/Plant"}, {"type": "null"}]},
            "sure": {"type": "boolean"},
            "size": {"oneOf": [{"const": 1, "title": "One"}, {"const": "x"}]},
            "photo": {"type": "string", "format": "base64"},
            "loop": {"$ref": "#/$defs/Loop"},
        },
        "$defs": {"Plant": {"enum": ["basil", "rose"]}, "Loop": {"anyOf": [{"$ref": "#/$defs/Loop"}]}},
    });
    let of = |given: &[&str], typed: &str| {
        let given: Vec<_> = given.iter().map(|&word| word.to_owned()).collect();
        let found = of_tool(&schema, &given, typed)?;
        let values = found.into_iter().map(|candidate| candidate.value);
        Some(values.collect::<Vec<_>>().join(" "))
    };
    let all = "plant= maybe= sure= size= photo= loop=";
    assert_eq!(of(&[], "").as_deref(), Some(all));
    assert_eq!(of(&["plant=rose"], "m").as_deref(), Some(&all[7..]));
    for (typed, expected) in [
        ("plant=r", Some("plant=basil plant=rose")),
        ("maybe=", Some("maybe=basil maybe=rose")),
        ("sure=", Some("sure=true sure=false")),
        ("size=", Some("size=1 size=x")),
        ("loop=", Some("")),
        ("none=", Some("")),
        ("photo=@a", None),
        ("@a", None),
    ] {
        assert_eq!(of(&[], typed).as_deref(), expected, "{typed}");
    }
}

#[test]
fn scripts_are_made_for_the_name_of_the_program() {
    for (shell, _) in SCRIPTS {
        let text = script(shell, "my-server").unwrap();
        assert!(text.contains("_mcp_my_server") && text.contains(" my-server"));
        assert!(
            !text.contains("PROGRAM") && !text.contains("FUNCTION"),
            "{text}"
        );
        for wrong in ["", "a b", "a;b", "$(a)", "a'b"] {
            script(shell, wrong).unwrap_err();
        }
    }
}
