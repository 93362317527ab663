//! Asks before it acts: a plan that is made once, a user who approves it, a model that summarizes it. The same code
//! works in every protocol version.
//!
//! Several instances behind one URL need the same keys: set `DEPLOY_STATE_KEYS` (`openssl rand -base64 32` generates
//! one).

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use mcp_runtime::backend::{Backend, MemoryOnceStore};
use mcp_runtime::bail;
use mcp_runtime::prelude::*;
use tokio::time::sleep;

/// Number of deployments so far.
#[derive(Default)]
struct Deployments(AtomicU32);

/// The form a user fills in.
#[derive(Elicit)]
struct Approval {
    /// Really deploy?
    approve: bool,
    /// Target environment
    #[arg(default = "staging")]
    target: Target,
    /// Number of instances
    #[arg(range(1..=10), default = 2)]
    instances: u32,
    /// A note for the log
    #[arg(length(..=200))]
    note: Option<String>,
}

#[derive(Clone, Copy, Debug, Elicit)]
enum Target {
    /// For the team
    #[arg(name = "staging")]
    Staging,
    /// For all users
    #[arg(name = "production")]
    Production,
}

impl Approval {
    fn of_the_model() -> Self {
        Self {
            approve: true,
            target: Target::Staging,
            instances: 2,
            note: Some("as the model says".to_owned()),
        }
    }
}

/// The steps of a deployment.
#[data]
struct Plan {
    version: u32,
    steps: Vec<String>,
}

/// Deploys a service, after asking.
#[tool(destructive)]
async fn deploy(
    ctx: Context,
    deployments: State<Deployments>,
    service: String,
    #[arg(
        description = "That the user approved, for clients that cannot ask them",
        default = false
    )]
    approved: bool,
) -> Result<String> {
    // The handler runs again when answers have arrived. Code that must not be repeated is wrapped in `once`.
    let plan = ctx.once("plan", async || make_plan(&deployments, &service).await);
    let plan = plan.await?;

    // Clients before 2025-06-18 cannot ask the user, so the model's word has to suffice.
    let approval = if approved && !ctx.can_elicit() {
        Approval::of_the_model()
    } else {
        ctx.elicit(format!("Deploy {service}? {}", plan.steps.join(", ")))
            .key("approval")
            .await?
    };
    if !approval.approve {
        bail!("not approved; nothing was deployed");
    }

    let done = ctx
        .once("deploy", async || carry_out(&plan, &approval).await)
        .await?;

    // Some clients have no model to ask.
    if !ctx.can_sample() {
        return Ok(done);
    }
    let question = SamplingRequest::user(format!("Say in one sentence: {done}")).max_tokens(200);
    Ok(ctx.sample(question).key("summary").await?.text())
}

/// Simulates something slow that should not be repeated.
async fn make_plan(deployments: &Deployments, service: &str) -> Result<Plan> {
    sleep(Duration::from_millis(10)).await;
    let version = deployments.0.fetch_add(1, Ordering::Relaxed) + 1;
    let steps = ["build", "test", "start"].map(|step| format!("{step} {service} v{version}"));
    Ok(Plan {
        version,
        steps: steps.into(),
    })
}

/// Simulates something that must not be repeated.
async fn carry_out(plan: &Plan, approval: &Approval) -> Result<String> {
    sleep(Duration::from_millis(10)).await;
    let Approval {
        target,
        instances,
        note,
        ..
    } = approval;
    let note = note.as_deref().unwrap_or("no note");
    Ok(format!(
        "v{} is on {target:?}, {instances} instances ({note})",
        plan.version
    ))
}

#[mcp_runtime::main]
async fn main() -> Result<(), mcp_runtime::Error> {
    let mut server = Server::new("deploy", "1.0.0")
        .state(Deployments::default())
        .backend(Backend::new().once(Arc::new(MemoryOnceStore::new())));
    if std::env::var_os("DEPLOY_STATE_KEYS").is_some() {
        server = server.sealing_keys_from_env("DEPLOY_STATE_KEYS");
    }
    server.run().await
}
