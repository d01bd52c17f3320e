use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use rmcp::{
    ClientHandler, ClientLifecycleMode, ClientServiceExt, ErrorData, RoleClient,
    model::*,
    service::{NotificationContext, RequestContext, RunningService, ServiceError, Subscription},
    transport::{StreamableHttpClientTransport, TokioChildProcess},
};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, BufReader, stdin},
    process,
    sync::Notify,
    task::JoinSet,
};

/// A line of standard input. See interop/src/clients/process.ts.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Command {
    id: u64,
    method: String,
    #[serde(default)]
    params: Value,
    timeout_ms: Option<u64>,
    #[serde(default)]
    progress: bool,
}

/// Answers the server's questions, and writes down its notifications.
struct Handler {
    answer: Mutex<ElicitResult>,
    /// The latest command that wants progress. The SDK chooses the progress tokens itself.
    reporting: AtomicU64,
}

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        let capabilities = ClientCapabilities::builder()
            .enable_elicitation()
            .enable_roots()
            .enable_sampling()
            .build();
        ClientConfig::new(capabilities, Implementation::new("interop-rust", "1.0.0"))
    }

    async fn create_message(
        &self,
        params: CreateMessageRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        let asked = params.messages[0].content.first().and_then(|content| content.as_text());
        let question = asked.map(|content| content.text.as_str()).unwrap_or_default();
        let message = SamplingMessage::assistant_text(format!("{question} bowline"));
        Ok(CreateMessageResult::new(message, "interop".into()))
    }

    async fn list_roots(&self, _: RequestContext<RoleClient>) -> Result<ListRootsResult, ErrorData> {
        Ok(ListRootsResult::new(vec![
            Root::new("file:///harbour").with_name("harbour"),
        ]))
    }

    async fn create_elicitation(
        &self,
        _: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        Ok(self.answer.lock().unwrap().clone())
    }

    async fn on_progress(&self, params: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        let report = json!({ "progress": params.progress, "total": params.total, "message": params.message });
        write(json!({ "id": self.reporting.load(Ordering::SeqCst), "progress": report }));
    }

    async fn on_logging_message(&self, params: LoggingMessageNotificationParam, _: NotificationContext<RoleClient>) {
        write(json!({ "log": params.data }));
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        write(json!({ "changed": "tools" }));
    }
}

type Client = RunningService<RoleClient, Handler>;

/// Why a command failed.
struct Failure {
    message: String,
    code: Option<i32>,
}

impl From<ServiceError> for Failure {
    fn from(error: ServiceError) -> Self {
        let code = match &error {
            ServiceError::McpError(error) => Some(error.code.0),
            _ => None,
        };
        Self {
            message: error.to_string(),
            code,
        }
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        Self {
            message: error.to_string(),
            code: None,
        }
    }
}

pub async fn drive(era: &str, target: &[&str]) -> anyhow::Result<()> {
    let client = Arc::new(connect(era, target).await?);
    let server = client.peer_info();
    let name = server
        .as_ref()
        .and_then(|info| info.server_info.as_ref())
        .map(|info| info.name.clone());
    write(json!({ "version": server.map(|info| info.protocol_version.clone()), "server": name }));
    let mut commands = JoinSet::new();
    let mut cancels: HashMap<u64, Arc<Notify>> = HashMap::new();
    let unwatch = Arc::new(Notify::new());
    let mut lines = BufReader::new(stdin()).lines();
    let closing = loop {
        let Some(line) = lines.next_line().await? else {
            return Ok(());
        };
        let command: Command = serde_json::from_str(&line)?;
        match command.method.as_str() {
            "cancel" => cancels[&command.id].notify_one(),
            "close" => break command,
            _ => {
                let cancel = Arc::new(Notify::new());
                cancels.insert(command.id, cancel.clone());
                commands.spawn(answer(client.clone(), unwatch.clone(), command, cancel));
            }
        }
    };
    client.cancellation_token().cancel();
    commands.join_all().await;
    Arc::into_inner(client).expect("all commands are over").cancel().await?;
    write(json!({ "id": closing.id, "value": null }));
    while lines.next_line().await?.is_some() {}
    Ok(())
}

async fn connect(era: &str, target: &[&str]) -> anyhow::Result<Client> {
    let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
    let lifecycle = match era {
        "legacy" => ClientLifecycleMode::Initialize,
        "modern" => ClientLifecycleMode::Discover { preferred_versions },
        _ => ClientLifecycleMode::Auto {
            preferred_versions,
            legacy_version: None,
        },
    };
    let handler = Handler {
        answer: Mutex::new(ElicitResult::new(ElicitationAction::Decline)),
        reporting: AtomicU64::new(0),
    };
    if target[0].starts_with("http://") {
        let transport = StreamableHttpClientTransport::from_uri(target[0]);
        return Ok(handler.serve_with_lifecycle(transport, lifecycle).await?);
    }
    let mut program = process::Command::new(target[0]);
    program.args(&target[1..]);
    Ok(handler
        .serve_with_lifecycle(TokioChildProcess::new(program)?, lifecycle)
        .await?)
}

/// Carries a command out and writes its one answer. Dropping the work cancels its request.
async fn answer(client: Arc<Client>, unwatch: Arc<Notify>, command: Command, cancel: Arc<Notify>) {
    let id = command.id;
    let limit = command
        .timeout_ms
        .map_or(Duration::from_secs(3600), Duration::from_millis);
    let failed = |message: &str| {
        Err(Failure {
            message: message.into(),
            code: None,
        })
    };
    let outcome = tokio::select! {
        outcome = run(&client, unwatch, command) => outcome,
        _ = cancel.notified() => failed("cancelled"),
        _ = tokio::time::sleep(limit) => failed("timed out"),
    };
    drop(client);
    write(match outcome {
        Ok(value) => json!({ "id": id, "value": value }),
        Err(Failure { message, code }) => json!({ "id": id, "error": { "message": message, "code": code } }),
    });
}

async fn run(
    client: &Client,
    unwatch: Arc<Notify>,
    Command {
        id,
        method,
        params,
        progress,
        ..
    }: Command,
) -> Result<Value, Failure> {
    if progress {
        client.service().reporting.store(id, Ordering::SeqCst);
    }
    Ok(match method.as_str() {
        "tools/list" => json!(client.list_tools(None).await?),
        "resources/list" => json!(client.list_resources(None).await?),
        "resources/templates/list" => json!(client.list_resource_templates(None).await?),
        "prompts/list" => json!(client.list_prompts(None).await?),
        "tools/call" => json!(client.call_tool(from(params)?).await?),
        "resources/read" => json!(client.read_resource(from(params)?).await?),
        "prompts/get" => json!(client.get_prompt(from(params)?).await?),
        "completion/complete" => json!(client.complete(from(params)?).await?),
        "log" => json!(call_with_logs(client, from(params)?).await?),
        "answer" => {
            *client.service().answer.lock().unwrap() = from(params)?;
            Value::Null
        }
        "watch" => {
            if is_modern(client) {
                let wanted = SubscriptionFilter::builder().tools_list_changed().build();
                tokio::spawn(tell_changes(client.listen(wanted).await?, unwatch));
            }
            Value::Null
        }
        "unwatch" => {
            unwatch.notify_one();
            Value::Null
        }
        _ => {
            return Err(Failure {
                message: format!("unknown method {method}"),
                code: None,
            });
        }
    })
}

/// Writes down the changes of a subscription, which the handler does not see.
async fn tell_changes(mut subscription: Subscription, unwatch: Arc<Notify>) -> Result<(), ServiceError> {
    loop {
        tokio::select! {
            _ = unwatch.notified() => return subscription.cancel().await,
            change = subscription.next() => match change? {
                Some(_) => write(json!({ "changed": "tools" })),
                None => return Ok(()),
            },
        }
    }
}

fn from<T: DeserializeOwned>(params: Value) -> Result<T, Failure> {
    Ok(serde_json::from_value(params)?)
}

/// Calls a tool with log messages from level info on wanted.
async fn call_with_logs(client: &Client, mut params: CallToolRequestParams) -> Result<CallToolResult, ServiceError> {
    if is_modern(client) {
        let mut meta = RequestMetaObject::new();
        meta.set_log_level(LoggingLevel::Info);
        params.meta = Some(meta);
    } else {
        client.set_level(SetLevelRequestParams::new(LoggingLevel::Info)).await?;
    }
    client.call_tool(params).await
}

fn is_modern(client: &Client) -> bool {
    client
        .peer_info()
        .is_some_and(|info| info.protocol_version >= ProtocolVersion::V_2026_07_28)
}

fn write(line: Value) {
    println!("{line}");
}
