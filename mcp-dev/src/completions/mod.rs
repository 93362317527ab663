//! `completions`: scripts that complete command lines in a shell: those of this program, and those of a server made with
//! mcp-runtime, with its commands, the names of its definitions, and the values of their arguments.
//!
//! The scripts for servers are short and only handle how their shell passes words and accepts candidates; they call a
//! hidden command of this program with the words typed so far. The words to complete are determined here
//! (`candidates.rs`). Names and commands come from what the program tells of itself, so no script has to be made anew
//! when a server changes, and values from the server's completers.

mod candidates;

use std::borrow::Cow;
use std::path::Path;
use std::time::Duration;

use anyhow::{Result, bail};
use candidates::{
    Candidate, CommandLine, CompletedServer, LastWord, candidates, known, of_position, parse,
};
use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, ArgMatches, Command};
use serde_json::Value;

use crate::describe::Program;
use crate::lines::say;

/// The command that prints scripts.
pub(crate) const NAME: &str = "completions";

/// The command that scripts call, which exits with status 1 if the shell should complete a file name instead.
pub(crate) const CALLBACK: &str = "__complete";

/// Maximum time that a program may take to describe itself while a user waits for the shell.
const PATIENCE: Duration = Duration::from_secs(5);

/// The shells that complete the command lines of servers, and their scripts.
const SCRIPTS: [(&str, &str); 3] = [
    ("bash", include_str!("script.bash")),
    ("zsh", include_str!("script.zsh")),
    ("fish", include_str!("script.fish")),
];

/// Returns the definitions of the commands.
pub(crate) fn commands() -> [Command; 2] {
    let shell = || {
        Arg::new("shell")
            .value_name("SHELL")
            .required(true)
            .value_parser(PossibleValuesParser::new(SCRIPTS.map(|(shell, _)| shell)))
            .help("The shell")
    };
    [
        Command::new(NAME)
            .about("Print a script that lets a shell complete commands, names and values")
            .long_about(
                "Prints a script that lets a shell complete the command lines of mcp-dev or, with PROGRAM, those of a server made \
                 with mcp-runtime: its commands and options, the names of its tools, prompts and resources, and the values of \
                 their arguments. The shell must be able to find the program and mcp-dev by their names. Load the script in the \
                 shell's start-up file:\n\n  bash  source <(mcp-dev completions bash -- my-server)\n  zsh   source <(mcp-dev completions \
                 zsh -- my-server)\n  fish  mcp-dev completions fish -- my-server | source",
            )
            .arg(shell())
            .arg(
                Arg::new("program")
                    .value_name("PROGRAM")
                    .last(true)
                    .help("A server's program"),
            ),
        Command::new(CALLBACK)
            .hide(true)
            .arg(shell())
            .arg(Arg::new("program").required(true))
            .arg(Arg::new("arguments").num_args(0..).last(true)),
    ]
}

/// Prints a script.
pub(crate) fn print(matches: &ArgMatches) -> Result<()> {
    let text = |name: &str| matches.get_one::<String>(name).map(String::as_str);
    let program = text("program").unwrap_or(OWN_NAME);
    say(&script(
        text("shell").unwrap_or_default(),
        &name_of(program),
    )?)
}

/// The name of this program.
const OWN_NAME: &str = "mcp-dev";

/// Returns the name by which a user starts a program.
fn name_of(program: &str) -> Cow<'_, str> {
    let name = Path::new(program).file_stem().unwrap_or_default();
    name.to_string_lossy()
}

/// Prints the candidates for the words typed so far. Returns `false` if the shell should complete a file name. `own` are
/// the commands of this program.
pub(crate) async fn complete(matches: &ArgMatches, own: Command) -> Result<bool> {
    let text = |name: &str| matches.get_one::<String>(name).cloned().unwrap_or_default();
    let arguments = matches.get_many::<String>("arguments");
    let arguments: Vec<String> = arguments.into_iter().flatten().cloned().collect();
    let shell = text("shell");
    let (line, last) = match (shell.as_str(), arguments.as_slice()) {
        ("bash", [breaks, line]) => parse(line, breaks),
        (_, [words @ .., last]) => (words.to_vec(), LastWord::whole(last)),
        _ => return Ok(false),
    };
    let program = text("program");
    let found = if name_of(&program) == OWN_NAME {
        // What comes after it is a command of another program.
        let is_own = !line.iter().any(|word| word == "--");
        let line = CommandLine::read(&own, &line);
        let found = known(&line, &last.text).unwrap_or_else(|| of_position(&line));
        Ok(found.filter(|_| is_own))
    } else {
        let program = Program::from_words(vec![program]);
        let about = program.describe_within(PATIENCE).await?;
        let grammar = grammar(&about.command_line);
        let line = CommandLine::read(&grammar, &line);
        let server = CompletedServer {
            about: &about,
            program: program.words(),
        };
        candidates(&server, &line, &last.text).await
    };
    let mut found = match found {
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
        .filter_map(|candidate| match shell.as_str() {
            "bash" => last.rest_of(&candidate.value),
            _ => Some(described(candidate)),
        })
        .collect();
    if !lines.is_empty() {
        say(&(lines.join("\n") + "\n"))?;
    }
    Ok(true)
}

/// Returns the commands of a server as it describes them.
fn grammar(described: &Value) -> Command {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let list = |name: &str| described[name].as_array().into_iter().flatten();
    let argument = |described: &Value| {
        let mut argument = Arg::new(text(&described["name"])).help(text(&described["about"]));
        if let Some(value) = described["value"].as_str() {
            let values = described["values"].as_array().into_iter().flatten();
            let values: Vec<_> = values.map(text).collect();
            argument = argument.value_name(value.to_owned());
            if !values.is_empty() {
                argument = argument.value_parser(PossibleValuesParser::new(values));
            }
        } else {
            argument = argument.action(ArgAction::SetTrue);
        }
        argument.hide(described["hidden"] == true)
    };
    let options = list("options").map(|described| {
        let option = argument(described).long(text(&described["name"]));
        let short = described["short"]
            .as_str()
            .and_then(|short| short.chars().next());
        option.short(short)
    });
    Command::new(text(&described["name"]))
        .about(text(&described["about"]))
        .args(options)
        .args(list("arguments").map(argument))
        .subcommands(list("commands").map(grammar))
}

/// Returns the script for a program with this name.
fn script(shell: &str, program: &str) -> Result<String> {
    let is_plain = |c: char| c.is_alphanumeric() || "._+-".contains(c);
    if program.is_empty() || !program.chars().all(is_plain) {
        bail!("no shell can complete a program named `{program}`; rename it");
    }
    let function = program.replace(|c: char| !c.is_ascii_alphanumeric(), "_");
    let Some((_, script)) = SCRIPTS.iter().find(|(name, _)| *name == shell) else {
        bail!("only bash, zsh and fish complete the command lines of servers");
    };
    Ok(script
        .replace("FUNCTION", &format!("_mcp_{function}"))
        .replace("PROGRAM", program))
}

/// Returns a candidate and its description in the form that the zsh and fish scripts expect.
fn described(candidate: &Candidate) -> String {
    let about = candidate.about.lines().next().unwrap_or_default();
    let about: String = about.chars().filter(|c| !c.is_control()).collect();
    format!("{}\t{about}", candidate.value)
}

#[cfg(test)]
mod tests {
    use clap::Command;
    use serde_json::json;

    use super::candidates::of_tool;
    use super::{CommandLine, SCRIPTS, parse, script};

    const BREAKS: &str = " \t\n\"'@><=;|&(:";

    fn grammar() -> Command {
        super::grammar(&json!({
            "options": [{"name": "json"}, {"name": "tags", "value": "TAGS", "hidden": true}],
            "commands": [
                {"name": "tools", "options": [{"name": "protocol-version", "value": "DATE", "values": ["2025-11-25"]}]},
                {"name": "call", "options": [{"name": "answer", "value": "FIELD=VALUE"}, {"name": "as", "value": "SUBJECT"}]},
            ],
        }))
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
            )
        };
        let expected = |command: &str, given: &str, option: &str| {
            (command.to_owned(), given.to_owned(), option.to_owned())
        };
        for (line, what) in [
            ("call", expected("call", "", "")),
            ("--json call add a=1", expected("call", "add a=1", "")),
            ("call add call", expected("call", "add call", "")),
            ("call --answer", expected("call", "", "answer")),
            ("call --answer a=b add", expected("call", "add", "")),
            ("--tags a call --as=me add", expected("call", "add", "")),
            (
                "tools --protocol-version",
                expected("tools", "", "protocol-version"),
            ),
            ("unknown --unknown -x", expected("", "unknown", "")),
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
