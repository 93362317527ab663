//! A Kubernetes Deployment and Service.
//!
//! Source: Kubernetes API, `apps/v1` and `v1`.

use std::fmt::Write as _;

use crate::server::command_line::publish::recipe::facts::{Recipe, about};

pub(super) fn manifests(recipe: &Recipe<'_>) -> String {
    let Recipe {
        label,
        image,
        port,
        stop_seconds,
        ..
    } = recipe;
    let command = recipe.command();
    format!(
        r#"# kubectl apply --filename this-file
{}apiVersion: apps/v1
kind: Deployment
metadata:
  name: "{label}"
  labels: {{ app: "{label}" }}
spec:
  # Several replicas need the same sealing keys, and shared stores if they have sessions.
  replicas: 1
  selector:
    matchLabels: {{ app: "{label}" }}
  template:
    metadata:
      labels: {{ app: "{label}" }}
    spec:
      # Time for calls to end after the stop signal.
      terminationGracePeriodSeconds: {stop_seconds}
      automountServiceAccountToken: false
      securityContext:
        runAsNonRoot: true
        runAsUser: 65534
        seccompProfile: {{ type: RuntimeDefault }}
      containers:
        - name: "{label}"
          image: "{image}"
          command: {command}
          ports: [{{ name: http, containerPort: {port} }}]
          env:
            - {{ name: HOST, value: "0.0.0.0" }}
            - {{ name: PORT, value: "{port}" }}
{}{}          securityContext:
            allowPrivilegeEscalation: false
            readOnlyRootFilesystem: true
            capabilities: {{ drop: [ALL] }}
---
apiVersion: v1
kind: Service
metadata:
  name: "{label}"
  labels: {{ app: "{label}" }}
spec:
  selector: {{ app: "{label}" }}
  ports: [{{ name: http, port: 80, targetPort: http }}]
"#,
        preparation(recipe),
        environment(recipe),
        probes(recipe),
    )
}

/// Returns a comment that explains how to create the objects to which variables refer.
fn preparation(recipe: &Recipe<'_>) -> String {
    let label = &recipe.label;
    let has = |is_secret: bool| {
        recipe
            .variables
            .iter()
            .any(|variable| variable.is_secret == is_secret)
    };
    let mut text = String::new();
    if has(true) {
        let _ = writeln!(
            text,
            "# kubectl create secret generic {label} --from-env-file secrets.env"
        );
    }
    if has(false) {
        let _ = writeln!(
            text,
            "# kubectl create configmap {label} --from-env-file settings.env"
        );
    }
    if recipe.keeps_data {
        text.push_str(
            "# The server keeps data. If it is in a file, mount a PersistentVolumeClaim at the folder of the file.\n",
        );
    }
    text
}

fn environment(recipe: &Recipe<'_>) -> String {
    let mut text = String::new();
    for variable in recipe.variables {
        let kind = if variable.is_secret {
            "secretKeyRef"
        } else {
            "configMapKeyRef"
        };
        let _ = writeln!(
            text,
            "            # {}\n            - name: \"{name}\"\n              valueFrom: {{ {kind}: {{ name: \"{}\", key: \"{name}\", optional: {} }} }}",
            about(variable),
            recipe.label,
            !variable.is_required,
            name = variable.name,
        );
    }
    text
}

fn probes(recipe: &Recipe<'_>) -> String {
    let Some((live, ready)) = recipe.probes else {
        return String::new();
    };
    format!(
        "          livenessProbe: {{ httpGet: {{ path: \"{live}\", port: http }} }}\n          \
         readinessProbe: {{ httpGet: {{ path: \"{ready}\", port: http }}, periodSeconds: 5 }}\n"
    )
}
