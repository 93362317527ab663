//! The files that the guide shows for operating a cluster, with real processes instead of containers: Redis with the
//! settings, instances with the arguments and variables, and nginx with the configuration.

use std::collections::HashMap;
use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};
use tests::client::PATIENCE;
use tests::http::{Request, Response, send};
use tests::run::free_address;
use tests::wait::until;
use tokio::net::TcpStream;
use tokio::process::{Child, Command};
use tokio::time::timeout;

use crate::calls::{answer, call, until_method};
use crate::instance::{Group, Instance, LEGACY, echo, modern_echo, text};
use crate::support::RedisServer;
use crate::tasks::TaskClient;

const PASSWORD: &str = "change-me";

/// Reads one of the files that the guide shows.
fn read(name: &str) -> String {
    let path = format!("{}/../examples/cluster/{name}", env!("CARGO_MANIFEST_DIR"));
    fs::read_to_string(path).unwrap()
}

/// Parses the documents of a YAML file.
fn yaml(name: &str) -> Vec<Value> {
    let text = read(name);
    let documents = text.split("\n---\n");
    let parse =
        |text| serde_saphyr::from_str(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    documents.map(parse).collect()
}

fn strings(list: &Value) -> Vec<String> {
    let list = list
        .as_array()
        .unwrap_or_else(|| panic!("not a list: {list}"));
    list.iter()
        .map(|item| item.as_str().unwrap().to_owned())
        .collect()
}

/// Replaces a text that must occur.
fn swap(text: &str, from: &str, to: &str) -> String {
    assert!(text.contains(from), "no `{from}` in: {text}");
    text.replace(from, to)
}

/// Starts a Redis with these arguments on a port, where it needs the password.
fn redis(arguments: &[String]) -> (RedisServer, u16) {
    let port = free_address().port();
    let port_text = port.to_string();
    let mut options: Vec<_> = arguments.iter().map(String::as_str).collect();
    options.extend(["--bind", "127.0.0.1", "--port", &port_text]);
    let redis = RedisServer::with(&options);
    assert_eq!(
        redis.tell(&["CONFIG", "GET", "maxmemory-policy"]).trim(),
        "maxmemory-policy\nnoeviction"
    );
    assert_eq!(
        redis.tell(&["CONFIG", "GET", "appendfsync"]).trim(),
        "appendfsync\nalways"
    );
    (redis, port)
}

/// Starts nginx with the configuration of the guide, in front of these instances. It listens on the returned address.
async fn nginx(folder: &Path, instances: &[&Instance]) -> (Child, SocketAddr) {
    let address = free_address();
    let mut configuration = swap(
        &read("nginx.conf"),
        "listen 80;",
        &format!("listen {address};"),
    );
    for (number, instance) in (1..).zip(instances) {
        let name = format!("notes-{number}:8000");
        configuration = swap(&configuration, &name, &instance.address().to_string());
    }
    // Only the files of this nginx are elsewhere.
    let kinds = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
    let folders = kinds.map(|kind| format!("{kind}_temp_path {}/{kind};", folder.display()));
    let folders = format!("http {{\n access_log off; {}", folders.concat());
    let configuration = swap(&configuration, "http {\n", &folders);
    fs::write(folder.join("nginx.conf"), configuration).unwrap();
    let user = if rustix::process::getuid().is_root() {
        "user root;"
    } else {
        ""
    };
    let path = std::env::var("PATH").unwrap_or_default();
    let child = Command::new("nginx")
        .env("PATH", format!("{path}:/usr/sbin"))
        .arg("-e")
        .arg(folder.join("nginx.log"))
        .arg("-p")
        .arg(folder)
        .args(["-c", "nginx.conf", "-g"])
        .arg(format!(
            // Without a master, there is no worker that would go on after it.
            "daemon off; master_process off; pid {}/nginx.pid; {user}",
            folder.display()
        ))
        .stdout(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .expect("nginx has to be installed; on Debian: apt-get install nginx-light");
    until(async || TcpStream::connect(address).await.is_ok()).await;
    (child, address)
}

#[tokio::test]
#[ignore = "needs a redis-server and nginx: tests/redis/run"]
async fn the_files_for_compose_and_nginx_make_a_cluster() {
    let file = yaml("compose.yaml").remove(0);
    let services = &file["services"];
    let command = strings(&services["redis"]["command"]);
    let (program, arguments) = command.split_first().unwrap();
    assert_eq!(program, "redis-server");
    let arguments: Vec<_> = arguments
        .iter()
        .map(|argument| argument.replace("${REDIS_PASSWORD:?}", PASSWORD))
        .collect();
    let (redis, port) = redis(&arguments);
    let group = Group { redis };
    let mut instances = Vec::new();
    for name in ["notes-1", "notes-2"] {
        let entrypoint = strings(&services[name]["entrypoint"]).join(" ");
        let arguments = swap(&entrypoint, "0.0.0.0:8000", "127.0.0.1:0");
        let arguments: Vec<_> = arguments.split(' ').skip(1).collect();
        let url = services[name]["environment"]["REDIS_URL"].as_str().unwrap();
        let url = swap(
            &swap(url, "${REDIS_PASSWORD:?}", PASSWORD),
            "redis:6379",
            &format!("127.0.0.1:{port}"),
        );
        instances.push(group.instance_as(&arguments, &[("REDIS_URL", &url)]).await);
    }
    let published = services["nginx"]["ports"][0].as_str().unwrap();
    assert!(published.ends_with(":80"), "nginx listens on port 80");
    let (_nginx, proxy) = nginx(&group.redis.folder(), &instances.iter().collect::<Vec<_>>()).await;
    drive(&group, proxy, instances).await;
}

#[tokio::test]
#[ignore = "needs a redis-server and nginx: tests/redis/run"]
async fn a_user_with_the_permissions_in_the_guide_is_enough() {
    let page = format!(
        "{}/../docs/operating-a-cluster.md",
        env!("CARGO_MANIFEST_DIR")
    );
    let page = fs::read_to_string(page).unwrap();
    let mut lines = page.lines();
    let command = lines.find(|line| line.starts_with("ACL SETUSER")).unwrap();
    let command = swap(&swap(command, "{notes}", "{mcp}"), "PASSWORD", PASSWORD);
    let group = Group::start();
    let words: Vec<_> = command.split(' ').collect();
    assert_eq!(group.redis.tell(&words).trim(), "OK");
    let url = format!("{}?user=notes&pass={PASSWORD}", group.redis.url());
    let variables = [("REDIS_URL", &*url)];
    let instances = vec![
        group.instance_with(&variables).await,
        group.instance_with(&variables).await,
    ];
    let (_nginx, proxy) = nginx(&group.redis.folder(), &instances.iter().collect::<Vec<_>>()).await;
    // A task as well.
    let client = TaskClient::Modern;
    let id = client.start(&instances[0]).await;
    until(async || group.done().len() == 2).await;
    drive(&group, proxy, instances).await;
    let survivor = group.instance_with(&variables).await;
    until(async || client.status(&survivor, &id).await == "completed").await;
    // Its user can neither see other data nor remove all.
    let denied = |words: &[&str]| {
        let user = ["--user", "notes", "--pass", PASSWORD, "--no-auth-warning"];
        let said = group.redis.tell(&[&user[..], words].concat());
        assert!(said.starts_with("NOPERM"), "{words:?}: {said}");
    };
    denied(&["GET", "{other}:probe"]);
    denied(&["PUBLISH", "{other}:changes", "x"]);
    denied(&["KEYS", "*"]);
    denied(&["FLUSHALL"]);
    denied(&["CONFIG", "GET", "requirepass"]);
}

/// Uses the cluster as clients of both eras do, and goes on when an instance dies.
async fn drive(group: &Group, proxy: SocketAddr, mut instances: Vec<Instance>) {
    let session = instances[0]
        .session_of_client(&json!({"elicitation": {}}))
        .await;
    let ask = async |request: &Request| message(send(proxy, request).await).await;
    for _ in 0..4 {
        assert_eq!(text(&ask(&echo(&session)).await), "still here");
        assert_eq!(text(&ask(&modern_echo()).await), "still here");
    }
    // The answer reaches the other instance, because each gets every other request.
    let mut stream = send(proxy, &call(&session, "ask")).await;
    let (question, _) = until_method(&mut stream, "elicitation/create").await;
    assert_eq!(send(proxy, &answer(&session, &question)).await.status, 202);
    let answered = timeout(PATIENCE, stream.next()).await.unwrap().unwrap();
    assert_eq!(text(&answered), "Hello, Ada!");
    // Events are not held back.
    let mut stream = send(proxy, &call(&session, "report")).await;
    until_method(&mut stream, "notifications/progress").await;
    group.go_on();
    assert_eq!(text(stream.all().await.last().unwrap()), "reported");
    instances.remove(0).kill().await;
    for _ in 0..4 {
        assert_eq!(text(&ask(&echo(&session)).await), "still here");
        assert_eq!(text(&ask(&modern_echo()).await), "still here");
    }
}

async fn message(mut response: Response) -> Value {
    assert_eq!(response.status, 200);
    response.message().await
}

/// Returns the only object of this kind with this name.
fn object<'a>(objects: &'a [Value], kind: &str, name: &str) -> &'a Value {
    let mut found = objects
        .iter()
        .filter(|object| object["kind"] == kind && object["metadata"]["name"] == name);
    let first = found.next().unwrap_or_else(|| panic!("no {kind} {name}"));
    assert_eq!(found.next(), None);
    first
}

#[tokio::test]
#[ignore = "needs a redis-server: tests/redis/run"]
async fn the_file_for_kubernetes_fits_together_and_its_programs_start() {
    let objects = yaml("kubernetes.yaml");
    let secret = &object(&objects, "Secret", "notes-redis")["stringData"];
    let pods: HashMap<_, _> = [("Deployment", "notes"), ("StatefulSet", "notes-redis")]
        .into_iter()
        .map(|(kind, name)| {
            let spec = &object(&objects, kind, name)["spec"];
            let labels = &spec["template"]["metadata"]["labels"];
            assert_eq!(*labels, spec["selector"]["matchLabels"]);
            let service = &object(&objects, "Service", name)["spec"];
            assert_eq!(service["selector"], *labels);
            let container = &spec["template"]["spec"]["containers"][0];
            assert_eq!(
                service["ports"][0]["targetPort"],
                container["ports"][0]["name"]
            );
            for variable in container["env"].as_array().unwrap() {
                let reference = &variable["valueFrom"]["secretKeyRef"];
                assert_eq!(reference["name"], "notes-redis");
                assert!(
                    secret[reference["key"].as_str().unwrap()].is_string(),
                    "{reference}"
                );
            }
            (name, spec["template"]["spec"].clone())
        })
        .collect();
    let budget = &object(&objects, "PodDisruptionBudget", "notes")["spec"];
    assert_eq!(
        budget["selector"],
        object(&objects, "Deployment", "notes")["spec"]["selector"]
    );

    let container = &pods["notes-redis"]["containers"][0];
    assert_eq!(container["command"], json!(["redis-server"]));
    let password = secret["password"].as_str().unwrap();
    assert_eq!(password, PASSWORD);
    let arguments = strings(&container["args"]);
    let arguments: Vec<_> = arguments
        .iter()
        .map(|argument| argument.replace("$(REDISCLI_AUTH)", password))
        .collect();
    let (redis, port) = redis(&arguments);
    let group = Group { redis };

    let pod = &pods["notes"];
    let container = &pod["containers"][0];
    assert_eq!(container["env"][0]["name"], "REDIS_URL");
    let url = secret["url"].as_str().unwrap();
    let url = swap(url, "notes-redis:6379", &format!("127.0.0.1:{port}"));
    let command = strings(&container["command"]).join(" ");
    let arguments = swap(&command, "0.0.0.0:8000", "127.0.0.1:0");
    let arguments: Vec<_> = arguments.split(' ').skip(1).collect();
    let instance = group.instance_as(&arguments, &[("REDIS_URL", &url)]).await;
    assert_eq!(
        container["ports"][0],
        json!({"name": "http", "containerPort": 8000})
    );
    for probe in ["livenessProbe", "readinessProbe"] {
        let path = container[probe]["httpGet"]["path"].as_str().unwrap();
        assert_eq!(container[probe]["httpGet"]["port"], "http");
        // Probes have no host name that the server allows.
        let request = Request::new("GET", LEGACY)
            .to(path)
            .header("Host", "10.0.0.1:8000");
        assert_eq!(instance.send(&request).await.status, 200, "{path}");
    }
    let call = modern_echo().header("Host", "mcp.example.com");
    assert_eq!(text(&instance.message(&call).await.1), "still here");
}
