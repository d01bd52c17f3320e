use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use rmcp::{
    ErrorData, Json, RoleServer, ServerHandler, ServiceExt,
    handler::server::{tool::InputResponses, wrapper::Parameters},
    model::*,
    prompt, prompt_handler, prompt_router, schemars,
    service::{RequestContext, SubscriptionContext},
    tool, tool_handler, tool_router,
    transport::{
        stdio,
        streamable_http_server::{
            StreamableHttpServerConfig, StreamableHttpService, session::local::LocalSessionManager,
        },
    },
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::{io::AsyncReadExt, sync::broadcast};

use crate::ledger::Ledger;

type Context = RequestContext<RoleServer>;

pub async fn serve(mode: &str, events: Ledger) -> anyhow::Result<()> {
    events
        .note("process", &std::process::id().to_string())
        .map_err(anyhow::Error::msg)?;
    let changes = broadcast::Sender::new(16);
    if mode == "stdio" {
        Interop::new(events, changes).serve(stdio()).await?.waiting().await?;
        return Ok(());
    }
    let config = StreamableHttpServerConfig::default();
    let ended = config.cancellation_token.clone();
    let service: StreamableHttpService<Interop, LocalSessionManager> = StreamableHttpService::new(
        move || Ok(Interop::new(events.clone(), changes.clone())),
        Default::default(),
        config,
    );
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    println!("http://{}/mcp", listener.local_addr()?);
    let input_end = async move {
        let _ = tokio::io::stdin().read_to_end(&mut Vec::new()).await;
        ended.cancel();
    };
    axum::serve(listener, axum::Router::new().nest_service("/mcp", service))
        .with_graceful_shutdown(input_end)
        .await?;
    Ok(())
}

/// One client's server: the SDK makes one for each session.
#[derive(Clone)]
struct Interop {
    events: Ledger,
    /// Tells the subscriptions of 2026-07-28 that the list of tools changed.
    changes: broadcast::Sender<()>,
    /// The receivers of subscriptions that are accepted and do not run yet.
    accepted: Arc<Mutex<Vec<broadcast::Receiver<()>>>>,
    log_level: Arc<Mutex<LoggingLevel>>,
}

#[derive(Deserialize, schemars::JsonSchema)]
struct TextArgs {
    text: String,
}

#[derive(Deserialize, schemars::JsonSchema)]
struct AddArgs {
    a: i64,
    b: i64,
}

#[derive(Serialize, schemars::JsonSchema)]
struct Sum {
    sum: i64,
}

#[derive(Deserialize, schemars::JsonSchema)]
struct CountArgs {
    to: u32,
    key: String,
}

#[derive(Deserialize, schemars::JsonSchema)]
struct KeyArgs {
    key: String,
}

#[derive(Deserialize, schemars::JsonSchema)]
struct EventArgs {
    key: String,
    what: String,
}

#[derive(Deserialize, Serialize, schemars::JsonSchema)]
struct GreetArgs {
    city: String,
}

#[tool_router]
impl Interop {
    fn new(events: Ledger, changes: broadcast::Sender<()>) -> Self {
        Self {
            events,
            changes,
            accepted: Default::default(),
            log_level: Arc::new(Mutex::new(LoggingLevel::Debug)),
        }
    }

    #[tool]
    async fn echo(&self, Parameters(args): Parameters<TextArgs>) -> String {
        args.text
    }

    #[tool]
    async fn add(&self, Parameters(args): Parameters<AddArgs>) -> Json<Sum> {
        Json(Sum { sum: args.a + args.b })
    }

    #[tool]
    async fn count(&self, Parameters(args): Parameters<CountArgs>, context: Context) -> Result<String, String> {
        if let Some(token) = context.meta.get_progress_token() {
            for step in 1..=args.to {
                let report = ProgressNotificationParam::new(token.clone(), step.into())
                    .with_total(args.to.into())
                    .with_message(format!("step {step}"));
                context.peer.notify_progress(report).await.map_err(text_of)?;
            }
        }
        self.events.wait(&args.key, "heard").await?;
        Ok(format!("counted to {}", args.to))
    }

    #[tool]
    async fn fail(&self) -> Result<String, String> {
        Err("the rope broke".into())
    }

    #[tool]
    async fn wait(&self, Parameters(args): Parameters<KeyArgs>, context: Context) -> Result<String, String> {
        self.events.note(&args.key, "started")?;
        context.ct.cancelled().await;
        self.events.note(&args.key, "cancelled")?;
        Ok("the answer of a call that should have been cancelled".into())
    }

    #[tool]
    async fn seen(&self, Parameters(args): Parameters<EventArgs>) -> Result<String, String> {
        self.events.wait(&args.key, &args.what).await?;
        Ok(args.what)
    }

    #[tool]
    async fn note(&self, Parameters(args): Parameters<KeyArgs>) -> Result<String, String> {
        self.events.note(&args.key, "heard")?;
        Ok(String::new())
    }

    #[tool]
    async fn log(&self, context: Context) -> Result<String, String> {
        let wanted = if is_modern(&context) {
            context.meta.log_level()
        } else {
            Some(*self.log_level.lock().unwrap())
        };
        for (level, data) in [(LoggingLevel::Debug, "too much"), (LoggingLevel::Info, "logged")] {
            if wanted.is_some_and(|wanted| severity(level) >= severity(wanted)) {
                let message = LoggingMessageNotificationParam::new(level, data.into());
                context.peer.notify_logging_message(message).await.map_err(text_of)?;
            }
        }
        Ok(String::new())
    }

    #[tool]
    async fn touch(&self, context: Context) -> Result<String, String> {
        if is_modern(&context) {
            let _ = self.changes.send(());
        } else {
            context.peer.notify_tool_list_changed().await.map_err(text_of)?;
        }
        Ok(String::new())
    }

    #[tool]
    async fn ask(
        &self,
        InputResponses(answers): InputResponses,
        context: Context,
    ) -> Result<CallToolResponse, ErrorData> {
        let schema =
            json!({ "type": "object", "properties": { "colour": { "type": "string" } }, "required": ["colour"] });
        let question = ElicitRequestParams::FormElicitationParams {
            meta: None,
            message: "Which colour?".into(),
            requested_schema: serde_json::from_value(schema).unwrap(),
        };
        let answer = if let Some(answer) = answer_in(answers)? {
            answer
        } else if is_modern(&context) {
            return Ok(ask_for(InputRequest::Elicitation(ElicitRequest::new(question))));
        } else {
            context.peer.create_elicitation(question).await.map_err(internal)?
        };
        Ok(match (answer.action, answer.content) {
            (ElicitationAction::Accept, Some(content)) => {
                text(format!("colour {}", content["colour"].as_str().unwrap_or_default()))
            }
            (action, _) => text(json!(action).as_str().unwrap_or_default()),
        })
    }

    #[tool]
    async fn sample(
        &self,
        InputResponses(answers): InputResponses,
        context: Context,
    ) -> Result<CallToolResponse, ErrorData> {
        let question = CreateMessageRequestParams::new(vec![SamplingMessage::user_text("knot?")], 10);
        let answer: CreateMessageResult = if let Some(answer) = answer_in(answers)? {
            answer
        } else if is_modern(&context) {
            return Ok(ask_for(InputRequest::CreateMessage(CreateMessageRequest::new(
                question,
            ))));
        } else {
            context.peer.create_message(question).await.map_err(internal)?
        };
        let said = answer.message.content.first().and_then(|content| content.as_text());
        Ok(text(said.map(|content| content.text.clone()).unwrap_or_default()))
    }

    #[tool]
    async fn roots(
        &self,
        InputResponses(answers): InputResponses,
        context: Context,
    ) -> Result<CallToolResponse, ErrorData> {
        let answer: ListRootsResult = if let Some(answer) = answer_in(answers)? {
            answer
        } else if is_modern(&context) {
            return Ok(ask_for(InputRequest::ListRoots(ListRootsRequest::default())));
        } else {
            context.peer.list_roots().await.map_err(internal)?
        };
        let uris: Vec<String> = answer.roots.into_iter().map(|root| root.uri).collect();
        Ok(text(uris.join(" ")))
    }
}

#[prompt_router]
impl Interop {
    #[prompt]
    async fn greet(&self, Parameters(args): Parameters<GreetArgs>) -> Vec<PromptMessage> {
        vec![PromptMessage::new_text(
            Role::User,
            format!("Greet the people of {}", args.city),
        )]
    }
}

#[tool_handler]
#[prompt_handler]
impl ServerHandler for Interop {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_completions()
            .enable_logging()
            .enable_prompts()
            .enable_resources()
            .enable_tools()
            .enable_tool_list_changed()
            .build();
        ServerConfig::new(capabilities).with_server_info(Implementation::new("interop", "1.0.0"))
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListResourcesResult, ErrorData> {
        Ok(ListResourcesResult::with_all_items(vec![Resource::new(
            "note://pinned",
            "pinned",
        )]))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let template = ResourceTemplate::new("note://numbered/{id}", "numbered");
        Ok(ListResourceTemplatesResult::with_all_items(vec![template]))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: Context,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let found = match request.uri.strip_prefix("note://numbered/") {
            Some(id) => format!("note number {id}"),
            None if request.uri == "note://pinned" => "hold fast".into(),
            None => {
                return Err(ErrorData::resource_not_found(
                    "no such note",
                    Some(json!({ "uri": request.uri })),
                ));
            }
        };
        Ok(ReadResourceResult::new(vec![ResourceContents::text(found, request.uri)]).into())
    }

    async fn complete(&self, request: CompleteRequestParams, _: Context) -> Result<CompleteResult, ErrorData> {
        let cities = ["oslo", "osaka", "rome"].map(String::from).into_iter();
        let values = cities
            .filter(|city| city.starts_with(&request.argument.value))
            .collect();
        let completion = CompletionInfo::with_all_values(values).map_err(internal)?;
        Ok(CompleteResult::new(completion))
    }

    async fn set_level(&self, request: SetLevelRequestParams, _: Context) -> Result<(), ErrorData> {
        *self.log_level.lock().unwrap() = request.level;
        Ok(())
    }

    /// Changes are received from here on: `listen` runs after the client has its acknowledgment.
    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        self.accepted.lock().unwrap().push(self.changes.subscribe());
        Some(requested.supported_by(&self.get_info().capabilities))
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let mut changes = self.accepted.lock().unwrap().pop().expect("accepted before");
        loop {
            tokio::select! {
                _ = context.cancelled() => return Ok(()),
                _ = changes.recv() => context.sink().notify_tool_list_changed().await.map_err(internal)?,
            }
        }
    }
}

fn is_modern(context: &Context) -> bool {
    context
        .protocol_version()
        .is_some_and(|version| version >= ProtocolVersion::V_2026_07_28)
}

fn severity(level: LoggingLevel) -> u8 {
    level as u8
}

/// The client's answer to the question of an earlier round.
fn answer_in<T: serde::de::DeserializeOwned>(answers: Option<BTreeMap<String, Value>>) -> Result<Option<T>, ErrorData> {
    let answer = answers.and_then(|mut answers| answers.remove("question"));
    answer.map(serde_json::from_value).transpose().map_err(internal)
}

fn ask_for(question: InputRequest) -> CallToolResponse {
    InputRequiredResult::from_input_requests([("question".into(), question)].into()).into()
}

fn text(value: impl Into<String>) -> CallToolResponse {
    CallToolResult::success(vec![ContentBlock::text(value)]).into()
}

fn text_of(error: impl ToString) -> String {
    error.to_string()
}

fn internal(error: impl ToString) -> ErrorData {
    ErrorData::internal_error(error.to_string(), None)
}
