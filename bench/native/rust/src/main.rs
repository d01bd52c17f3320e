//! The workload of the benchmark on rmcp: `echo` and a list of 101 tools. Arguments are the form of a response, `json` or
//! `events`, and `sessions` or `no-sessions`. Prints the port, and ends with its input.

use std::{borrow::Cow, io::Read, sync::Arc};

use axum::serve::ListenerExt;
use rmcp::{
    ServerHandler,
    handler::server::{
        router::tool::{ToolRoute, ToolRouter},
        tool::{ToolCallContext, schema_for_type},
        wrapper::Parameters,
    },
    model::*,
    schemars, tool, tool_handler, tool_router,
    transport::streamable_http_server::{
        StreamableHttpServerConfig, StreamableHttpService, session::local::LocalSessionManager,
    },
};
use serde::Deserialize;

/// Tools in addition to `echo`.
const FURTHER: usize = 100;

#[derive(Deserialize, schemars::JsonSchema)]
struct EchoArgs {
    text: String,
}

#[derive(Deserialize, schemars::JsonSchema)]
struct ExtraArgs {
    /// What to look up
    #[allow(dead_code)]
    query: String,
    #[allow(dead_code)]
    limit: Option<i64>,
}

#[derive(Clone)]
struct Bench {
    tool_router: Arc<ToolRouter<Bench>>,
}

#[tool_router]
impl Bench {
    fn new() -> Self {
        let mut router = Self::tool_router();
        for index in 0..FURTHER {
            let description = format!("Further tool number {index}: looks something up and answers with a short text.");
            let tool = Tool::new(
                Cow::Owned(format!("tool_{index}")),
                Cow::Owned(description),
                schema_for_type::<ExtraArgs>(),
            );
            router.add_route(ToolRoute::new_dyn(tool, |_: ToolCallContext<'_, Bench>| {
                Box::pin(async { Ok(CallToolResult::success(vec![]).into()) })
            }));
        }
        Self {
            tool_router: Arc::new(router),
        }
    }

    #[tool(description = "Echo the text back")]
    async fn echo(&self, Parameters(args): Parameters<EchoArgs>) -> String {
        args.text
    }
}

#[tool_handler(router = self.tool_router)]
impl ServerHandler for Bench {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().build();
        ServerConfig::new(capabilities).with_server_info(Implementation::new("bench", "1.0.0"))
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let has = |name: &str| std::env::args().any(|argument| argument == name);
    // With sessions, clients of the older versions get events whatever `json_response` says.
    let config = StreamableHttpServerConfig::default()
        .with_json_response(has("json"))
        .with_legacy_session_mode(has("sessions"));
    let bench = Bench::new();
    let service: StreamableHttpService<Bench, LocalSessionManager> = StreamableHttpService::new(
        move || Ok(bench.clone()),
        Default::default(),
        config,
    );
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    println!("{}", listener.local_addr()?.port());
    std::thread::spawn(|| {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        std::process::exit(0);
    });
    // As the servers of Node and Go do.
    let listener = listener.tap_io(|tcp| {
        let _ = tcp.set_nodelay(true);
    });
    axum::serve(listener, axum::Router::new().nest_service("/mcp", service)).await?;
    Ok(())
}
