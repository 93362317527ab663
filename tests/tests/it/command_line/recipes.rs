//! `recipe`: files for containers, Kubernetes and systemd, which the tests read with parsers for these formats.

use std::process::Command;
#[cfg(unix)]
use std::process::Stdio;

use serde_json::{Value, json};
#[cfg(unix)]
use tests::process::Program;

use super::{Scratch, run};

fn recipe(kind: &str) -> String {
    run(
        "weather",
        &["recipe", kind, "--host", "weather.example.com"],
    )
    .good()
}

/// Parses the documents of a YAML file.
fn yaml(text: &str) -> Vec<Value> {
    let documents = text.split("\n---\n");
    documents
        .map(|text| serde_saphyr::from_str(text).unwrap_or_else(|error| panic!("{error}\n{text}")))
        .collect()
}

#[test]
fn compose_takes_the_file() {
    let file = yaml(&recipe("compose")).remove(0);
    assert_eq!(
        file,
        json!({"services": {"weather": {
            "build": ".",
            "image": "weather:1.0.0",
            "restart": "unless-stopped",
            "ports": ["127.0.0.1:8000:8000"],
            "environment": ["WEATHER_URL", "WEATHER_API_KEY"],
            "stop_grace_period": "10s",
            "read_only": true,
            "cap_drop": ["ALL"],
            "security_opt": ["no-new-privileges:true"],
        }}})
    );
}

#[test]
fn kubernetes_takes_the_file() {
    let files = yaml(&recipe("kubernetes"));
    let [deployment, service] = &files[..] else {
        panic!("{files:?}");
    };
    assert_eq!(deployment["kind"], "Deployment");
    assert_eq!(
        service["spec"],
        json!({"selector": {"app": "weather"}, "ports": [{"name": "http", "port": 80, "targetPort": "http"}]})
    );
    let template = &deployment["spec"]["template"];
    assert_eq!(
        template["metadata"]["labels"],
        deployment["spec"]["selector"]["matchLabels"]
    );
    assert_eq!(template["spec"]["terminationGracePeriodSeconds"], 10);
    let container = &template["spec"]["containers"][0];
    assert_eq!(
        container["command"],
        json!(["weather", "--http", "--allow-host", "weather.example.com"])
    );
    assert_eq!(
        container["env"],
        json!([
            {"name": "HOST", "value": "0.0.0.0"},
            {"name": "PORT", "value": "8000"},
            {"name": "WEATHER_URL", "valueFrom": {"configMapKeyRef": {"name": "weather", "key": "WEATHER_URL", "optional": true}}},
            {"name": "WEATHER_API_KEY", "valueFrom": {"secretKeyRef": {"name": "weather", "key": "WEATHER_API_KEY", "optional": true}}},
        ])
    );
    assert_eq!(
        container["livenessProbe"],
        json!({"httpGet": {"path": "/livez", "port": "http"}})
    );
    assert_eq!(container["readinessProbe"]["httpGet"]["path"], "/readyz");
}

/// Needs `systemd-analyze`; passes if it is not installed.
#[test]
fn systemd_takes_the_file() {
    let unit = recipe("systemd");
    let program = tests::binary("weather");
    let unit = unit.replace("/usr/local/bin/weather", program.to_str().unwrap());
    assert!(
        unit.contains("--allow-host weather.example.com\n"),
        "{unit}"
    );
    assert!(
        unit.contains("\nEnvironmentFile=-/etc/weather/environment\n"),
        "{unit}"
    );
    assert!(
        unit.contains("\nStateDirectory=weather\n")
            && unit.contains("\nWorkingDirectory=%S/weather\n"),
        "{unit}"
    );
    let scratch = Scratch::new("unit");
    scratch.write("weather.service", &unit);
    let path = scratch.path().join("weather.service");
    let mut command = Command::new("systemd-analyze");
    let checked = tests::run::output_if_installed(command.arg("verify").arg(path));
    if let Some(checked) = checked {
        let said = String::from_utf8_lossy(&checked.stderr);
        assert!(
            checked.status.success() && !said.contains("weather.service"),
            "{said}"
        );
    }
}

/// Runs a container's health check without a container.
#[cfg(unix)]
#[test]
fn the_health_check_tells_a_server_from_none() {
    let dockerfile = recipe("docker");
    let (_, check) = dockerfile.split_once(" CMD ").unwrap();
    let check: Vec<String> = serde_json::from_str(check.lines().next().unwrap()).unwrap();
    let mut server = Program::start(
        Command::new(tests::binary("weather"))
            .args(["--http", "127.0.0.1:0"])
            .stdin(Stdio::null())
            .stderr(Stdio::piped()),
    );
    let url = server.line();
    let port = url
        .trim()
        .trim_end_matches("/mcp")
        .rsplit(':')
        .next()
        .unwrap();
    let healthy = |path: &str| {
        let script = check[2].replace("/livez", path);
        let mut command = Command::new(&check[0]);
        let command = command.arg(&check[1]).arg(script).env("PORT", port);
        tests::run::output(command).status.success()
    };
    let found = [healthy("/livez"), healthy("/none")];
    drop(server);
    assert_eq!(found, [true, false]);
    assert!(!healthy("/livez"));
}

#[test]
fn a_file_is_written_where_it_is_told() {
    let scratch = Scratch::new("recipe");
    let write = |more: &[&str]| {
        let common = ["recipe", "docker", "--output", "Dockerfile"];
        super::run_in(scratch.path(), "hello", &[&common, more].concat())
    };
    write(&[]).good();
    let text = scratch.read("Dockerfile");
    assert!(
        text.contains("ENTRYPOINT [\"hello\",\"--http\",\"--allow-host\",\"mcp.example.com\"]"),
        "{text}"
    );
    assert!(write(&[]).bad().contains("use `--force` to replace it"));
    write(&["--force", "--port", "80"]).good();
    assert!(scratch.read("Dockerfile").contains("EXPOSE 80\n"));
}

#[test]
fn the_data_of_a_backend_is_kept_on_a_volume() {
    let scratch = Scratch::new("volume");
    let recipe = |kind: &str| {
        let mut command = Command::new(tests::binary("kept_tasks"));
        command
            .args(["recipe", kind])
            .env("KEPT_TASKS", scratch.path().join("tasks"));
        let output = tests::run::output(&mut command);
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let dockerfile = recipe("docker");
    let (before, after) = dockerfile.split_once("\nVOLUME /data\n").unwrap();
    assert!(before.ends_with("\nRUN install --directory --owner=65534 /data"));
    assert!(after.starts_with("WORKDIR /data\nUSER 65534:65534\n"));
    let compose = yaml(&recipe("compose")).remove(0);
    assert_eq!(compose["volumes"], json!({"data": {}}));
    let service = &compose["services"]["kept-tasks"];
    assert_eq!(service["volumes"], json!(["data:/data"]));
    assert!(recipe("kubernetes").contains("mount a PersistentVolumeClaim"));
    assert!(!self::recipe("docker").contains("/data"));
    assert!(!self::recipe("kubernetes").contains("PersistentVolumeClaim"));
}
