//! `completions`: a script that completes command lines in a shell, and the hidden command that the script calls back
//! with the words typed so far.
//!
//! The scripts are short and only handle how their shell passes words and accepts candidates, so they remain valid when
//! the server changes. The words to complete are determined here (`candidates.rs`), whereas names and values come from
//! the server.

mod candidates;

use std::path::Path;

use candidates::{Candidate, CommandLine, LastWord, candidates, parse};
use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgMatches, Command};

use crate::server::Server;
use crate::server::command_line::call::{argument_text, given_arguments};
use crate::server::command_line::print;
use crate::server::command_line::session::CommandResult;

/// The command that scripts call, which exits with status 1 if the shell should complete a file name instead.
const CALLBACK: &str = "__complete";

/// The shells and their scripts.
const SCRIPTS: [(&str, &str); 3] = [
    ("bash", include_str!("script.bash")),
    ("zsh", include_str!("script.zsh")),
    ("fish", include_str!("script.fish")),
];

pub(super) fn with_commands(command: Command) -> Command {
    let shell = || {
        Arg::new("shell")
            .value_name("SHELL")
            .required(true)
            .value_parser(PossibleValuesParser::new(SCRIPTS.map(|(shell, _)| shell)))
            .help("The shell")
    };
    command
        .subcommand(
            Command::new("completions")
                .about("Print a script that lets a shell complete commands, names and values")
                .long_about(
                    "Prints a script that lets a shell complete commands, options, names of tools, prompts and resources, and the \
                     values of their arguments. The shell must be able to find the program by its name. Load the script in the \
                     shell's start-up file:\n\n  bash  source <(my-server completions bash)\n  zsh   source <(my-server completions zsh)\n  \
                     fish  my-server completions fish | source",
                )
                .arg(shell()),
        )
        .subcommand(
            Command::new(CALLBACK)
                .hide(true)
                .arg(shell())
                .arg(Arg::new("arguments").num_args(0..)),
        )
}

pub(super) fn is_command(name: &str) -> bool {
    matches!(name, "completions" | CALLBACK)
}

/// Runs one of the commands. `grammar` defines all commands.
pub(super) async fn run(
    name: &str,
    server: Server,
    grammar: &Command,
    matches: &ArgMatches,
) -> CommandResult {
    let shell = argument_text(matches, "shell");
    if name != CALLBACK {
        let program = std::env::args_os().next().unwrap_or_default();
        let program = Path::new(&program).file_stem().unwrap_or_default();
        print::line(&script(shell, &program.to_string_lossy())?);
        return Ok(true);
    }
    let (line, last) = match (shell, &*given_arguments(matches)) {
        ("bash", [breaks, line]) => parse(line, breaks),
        (_, [words @ .., last]) => (words.to_vec(), LastWord::whole(last)),
        _ => return Ok(false),
    };
    let line = CommandLine::read(grammar, &line);
    let mut found = match candidates(server, grammar, &line, &last.text).await {
        Ok(Some(found)) => found,
        Ok(None) => return Ok(false),
        // A server that cannot start does not have candidates, and completing file names would be wrong.
        Err(_) => return Ok(true),
    };
    found.retain(|candidate| {
        candidate.value.starts_with(&last.text) && !candidate.value.contains(char::is_control)
    });
    let lines: Vec<_> = found
        .iter()
        .filter_map(|candidate| match shell {
            "bash" => last.rest_of(&candidate.value),
            _ => Some(described(candidate)),
        })
        .collect();
    if !lines.is_empty() {
        print::line(&lines.join("\n"));
    }
    Ok(true)
}

/// Returns the script for a program with this name.
fn script(shell: &str, program: &str) -> Result<String, String> {
    let is_plain = |c: char| c.is_alphanumeric() || "._+-".contains(c);
    if program.is_empty() || !program.chars().all(is_plain) {
        return Err(format!(
            "no shell can complete a program named `{program}`; rename it"
        ));
    }
    let function = program.replace(|c: char| !c.is_ascii_alphanumeric(), "_");
    let script = SCRIPTS.iter().find(|(name, _)| *name == shell);
    let script = script.map_or("", |(_, script)| script);
    Ok(script
        .replace("FUNCTION", &format!("_mcp_{function}"))
        .replace("PROGRAM", program))
}

/// Returns a candidate and its description in the form that the zsh and fish scripts expect.
fn described(candidate: &Candidate) -> String {
    let about = print::first_line(&candidate.about);
    let about: String = about.chars().filter(|c| !c.is_control()).collect();
    format!("{}\t{about}", candidate.value)
}

#[cfg(test)]
mod tests {
    use clap::Command;
    use serde_json::json;

    use super::{CommandLine, SCRIPTS, parse, script};
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
    fn bash_completions_start_after_the_last_word_break() {
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
    fn completed_values_come_from_the_schema() {
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
}
