//! `manifest` and `bundle`: the information that the registry and hosts get about a server.

use std::fs;

use serde_json::{Value, json};

use super::{Scratch, run_in};

#[test]
fn the_manifest_says_what_the_program_knows() {
    let scratch = Scratch::new("manifest");
    scratch.write("weather.mcpb", "abc");
    let manifest = |more: &[&str]| {
        let common = ["manifest", "--repository", "https://github.com/you/weather"];
        run_in(scratch.path(), "weather", &[&common, more].concat())
    };
    let url = "https://github.com/you/weather/releases/download/v1/weather.mcpb";
    let said = manifest(&[
        "--description",
        "Tells the weather",
        "--cargo",
        "--oci",
        "ghcr.io/you/weather:1.0.0",
        "--mcpb",
        &format!("{url}=weather.mcpb"),
        "--remote",
        "https://weather.example.com/mcp",
    ])
    .good();
    let variables = json!([
        {"name": "WEATHER_URL", "isRequired": false, "isSecret": false, "description": "URL of the weather service",
         "format": "string", "default": "https://api.open-meteo.com"},
        {"name": "WEATHER_API_KEY", "isRequired": false, "isSecret": true, "format": "string",
         "description": "Key for the weather service, for paying customers"},
    ]);
    let transport = json!({"type": "stdio"});
    // The digest is that of `abc` from FIPS 180-4.
    let digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert_eq!(
        serde_json::from_str::<Value>(&said).unwrap(),
        json!({
            "$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
            "name": "io.github.you/weather",
            "description": "Tells the weather",
            "version": "1.0.0",
            "repository": {"url": "https://github.com/you/weather", "source": "github"},
            "packages": [
                {"registryType": "cargo", "identifier": "weather", "version": "1.0.0", "transport": transport, "environmentVariables": variables},
                {"registryType": "oci", "identifier": "ghcr.io/you/weather:1.0.0", "transport": transport, "environmentVariables": variables},
                {"registryType": "mcpb", "identifier": url, "version": "1.0.0", "fileSha256": digest, "transport": transport, "environmentVariables": variables},
            ],
            "remotes": [{"type": "streamable-http", "url": "https://weather.example.com/mcp"}],
        })
    );
    assert_eq!(
        manifest(&["--readme-line"]).good(),
        "mcp-name: io.github.you/weather\n"
    );
    let written = [
        "--description",
        "W",
        "--cargo=my-weather",
        "--output",
        "server.json",
    ];
    manifest(&written).good();
    let file: Value = serde_json::from_str(&scratch.read("server.json")).unwrap();
    assert_eq!(file["packages"][0]["identifier"], "my-weather");
    let complaint = manifest(&written).bad();
    assert!(
        complaint.contains("server.json already exists; use `--force` to replace it"),
        "{complaint}"
    );
    manifest(&[&written[..], &["--force"]].concat()).good();
}

#[test]
fn a_manifest_that_the_registry_would_refuse_is_not_printed() {
    let scratch = Scratch::new("no-manifest");
    let long = "x".repeat(101);
    for (arguments, problem) in [
        (
            &["--cargo", "--description", "W"][..],
            "the registry needs a name",
        ),
        (
            &["--name", "weather", "--cargo", "--description", "W"],
            "/name",
        ),
        (
            &["--name", "a/b", "--cargo"],
            "the server has no description",
        ),
        (
            &["--name", "a/b", "--cargo", "--description", &long],
            "/description",
        ),
        (
            &["--name", "a/b", "--description", "W"],
            "specify how to get the server",
        ),
        (
            &[
                "--name",
                "a/b",
                "--description",
                "W",
                "--oci",
                "ghcr.io:80/you/x",
            ],
            "has no tag",
        ),
        (
            &[
                "--name",
                "a/b",
                "--description",
                "W",
                "--mcpb",
                "https://github.com/you/x.mcpb",
            ],
            "URL=FILE",
        ),
        (
            &[
                "--name",
                "a/b",
                "--description",
                "W",
                "--mcpb",
                "https://x.com/x.mcpb=x",
            ],
            "must be the URL of a GitHub or GitLab release",
        ),
        (
            &[
                "--name",
                "a/b",
                "--description",
                "W",
                "--mcpb",
                "https://github.com/you/x.mcpb=none",
            ],
            "none: ",
        ),
        (
            &[
                "--name",
                "a/b",
                "--description",
                "W",
                "--remote",
                "example.com",
            ],
            "/remotes/0",
        ),
        (
            &[
                "--name",
                "a/b",
                "--description",
                "W",
                "--cargo",
                "--repository",
                "ssh://x",
            ],
            "not a GitHub or GitLab URL",
        ),
    ] {
        let ran = run_in(
            scratch.path(),
            "weather",
            &[&["manifest"], arguments].concat(),
        );
        assert_eq!(ran.out, "", "{arguments:?}");
        let complaint = ran.bad();
        assert!(complaint.contains(problem), "{arguments:?}: {complaint}");
    }
}

#[test]
fn the_same_files_make_the_same_bundle() {
    let scratch = Scratch::new("bundle");
    let bundle = |more: &[&str]| {
        let common = ["bundle", "--author", "You", "--description", "A garden"];
        run_in(scratch.path(), "garden", &[&common, more].concat())
    };
    let programs = [
        "--binary",
        "windows=garden.exe",
        "--binary",
        "linux=garden",
        "--binary=macos=garden-mac",
    ];
    scratch.write("garden", "\x7fELF…");
    scratch.write("garden.exe", "MZ…");
    fs::write(scratch.path().join("garden-mac"), b"\xcf\xfa\xed\xfe").unwrap();
    let said = bundle(&programs).good();
    let name = format!("garden-{}.mcpb", env!("CARGO_PKG_VERSION"));
    assert!(said.starts_with(&format!("Wrote {name}, ")), "{said}");
    assert!(!said.contains("debug build"), "{said}");
    let bytes = |name: &str| fs::read(scratch.path().join(name)).unwrap();
    // The order of the options and the modification times of the files make no difference.
    scratch.write("garden", "\x7fELF…");
    let reversed = [
        "--binary=macos=garden-mac",
        "--binary=linux=garden",
        "--binary=windows=garden.exe",
    ];
    bundle(&[&reversed[..], &["--output", "again.mcpb"]].concat()).good();
    assert_eq!(bytes(&name), bytes("again.mcpb"));
    // An existing file is kept unless replacing it is requested.
    scratch.write("again.mcpb", "mine");
    let complaint = bundle(&["--output", "again.mcpb"]).bad();
    assert!(
        complaint.contains("again.mcpb already exists; use `--force` to replace it"),
        "{complaint}"
    );
    assert_eq!(scratch.read("again.mcpb"), "mine");
    bundle(&[&programs[..], &["--output", "again.mcpb", "--force"]].concat()).good();
    assert_eq!(bytes(&name), bytes("again.mcpb"));
    // No partially written file remains.
    assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 5);
    for (arguments, problem) in [
        (&["--binary", "linux"][..], "PLATFORM=FILE"),
        (&["--binary", "plan9=garden"], "the platforms are"),
        (
            &["--binary", "windows=garden"],
            "is not a program for win32",
        ),
        (
            &["--binary", "linux=garden", "--binary", "linux=garden"],
            "two executables",
        ),
        (&["--binary", "linux=none"], "none: "),
        (&["--icon", "garden"], "is not a PNG image"),
        (
            &["--repository", "x", "--output", "no/directory"],
            "no/directory: ",
        ),
    ] {
        let complaint = bundle(arguments).bad();
        assert!(complaint.contains(problem), "{arguments:?}: {complaint}");
    }
}

#[test]
fn a_bundle_of_this_program_says_that_it_is_a_debug_build() {
    let scratch = Scratch::new("debug-bundle");
    let arguments = [
        "bundle",
        "--author",
        "You",
        "--description",
        "A",
        "-o",
        "a.mcpb",
    ];
    let said = run_in(scratch.path(), "garden", &arguments).good();
    assert!(said.contains("It contains a debug build."), "{said}");
}
