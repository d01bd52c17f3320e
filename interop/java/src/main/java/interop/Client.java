package interop;

import io.modelcontextprotocol.client.McpAsyncClient;
import io.modelcontextprotocol.client.McpClient;
import io.modelcontextprotocol.client.transport.HttpClientStreamableHttpTransport;
import io.modelcontextprotocol.client.transport.ServerParameters;
import io.modelcontextprotocol.client.transport.StdioClientTransport;
import io.modelcontextprotocol.json.McpJsonDefaults;
import io.modelcontextprotocol.json.McpJsonMapper;
import io.modelcontextprotocol.spec.McpClientTransport;
import io.modelcontextprotocol.spec.McpError;
import io.modelcontextprotocol.spec.McpSchema;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import reactor.core.Disposable;
import reactor.core.publisher.Mono;

/**
 * Carries out commands with a client, and writes what comes of them to standard output. See
 * interop/src/clients/process.ts.
 */
final class Client {
	private final McpJsonMapper json = McpJsonDefaults.getMapper();

	private final PrintStream output = new PrintStream(System.out, true, StandardCharsets.UTF_8);

	private final Map<Integer, Disposable> running = new ConcurrentHashMap<>();

	private final McpAsyncClient client;

	private volatile McpSchema.ElicitResult answer;

	Client(List<String> target) {
		client = McpClient.async(transportTo(target))
			.clientInfo(McpSchema.Implementation.builder("interop-java", "1.0.0").build())
			.capabilities(McpSchema.ClientCapabilities.builder().roots(true).sampling().elicitation().build())
			.roots(McpSchema.Root.builder("file:///harbour").name("harbour").build())
			.elicitation(request -> Mono.just(answer))
			.sampling(request -> Mono.just(sample(request)))
			.loggingConsumer(message -> write(Map.of("log", message.data())))
			.toolsChangeConsumer(tools -> write(Map.of("changed", "tools")))
			.progressConsumer(this::report)
			.build();
	}

	private McpClientTransport transportTo(List<String> target) {
		String first = target.get(0);
		if (!first.startsWith("http://")) {
			List<String> args = target.subList(1, target.size());
			return new StdioClientTransport(ServerParameters.builder(first).args(args).build(), json);
		}
		URI url = URI.create(first);
		return HttpClientStreamableHttpTransport.builder("http://" + url.getAuthority()).endpoint(url.getPath()).build();
	}

	void run() throws IOException {
		McpSchema.InitializeResult server = client.initialize().block();
		write(Map.of("version", server.protocolVersion(), "server", server.serverInfo().name())).block();
		BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
		for (String line = input.readLine(); line != null; line = input.readLine()) {
			start(json.readValue(line, Map.class));
		}
		System.exit(0);
	}

	/** Runs a command beside the others. Every command but a cancellation has one answer. */
	private void start(Map<?, ?> command) {
		int id = (Integer) command.get("id");
		if ("cancel".equals(command.get("method"))) {
			running.get(id).dispose();
			write(Map.of("id", id, "error", Map.of("message", "cancelled"))).block();
			return;
		}
		Mono<?> work = Mono.defer(() -> carryOut(command));
		if (command.get("timeoutMs") instanceof Integer ms) {
			work = work.timeout(Duration.ofMillis(ms));
		}
		running.put(id, work.map(value -> Map.of("id", id, "value", value))
			.defaultIfEmpty(Map.of("id", id))
			.onErrorResume(error -> Mono.just(Map.of("id", id, "error", describe(error))))
			.subscribe(line -> write(line).block()));
	}

	private Mono<?> carryOut(Map<?, ?> command) {
		Object params = command.get("params");
		return switch ((String) command.get("method")) {
			case "tools/list" -> client.listTools();
			case "resources/list" -> client.listResources();
			case "resources/templates/list" -> client.listResourceTemplates();
			case "prompts/list" -> client.listPrompts();
			case "tools/call" -> client.callTool(callOf(command));
			case "resources/read" -> client.readResource(json.convertValue(params, McpSchema.ReadResourceRequest.class));
			case "prompts/get" -> client.getPrompt(json.convertValue(params, McpSchema.GetPromptRequest.class));
			case "completion/complete" ->
				client.completeCompletion(json.convertValue(params, McpSchema.CompleteRequest.class));
			case "log" -> client.setLoggingLevel(McpSchema.LoggingLevel.INFO).then(client.callTool(callOf(command)));
			case "answer" -> {
				answer = json.convertValue(params, McpSchema.ElicitResult.class);
				yield Mono.empty();
			}
			// The consumer of changes is there from the start.
			case "watch", "unwatch" -> Mono.empty();
			case "close" -> client.closeGracefully();
			default -> Mono.error(new IllegalArgumentException("unknown method " + command.get("method")));
		};
	}

	private McpSchema.CallToolRequest callOf(Map<?, ?> command) {
		Map<String, Object> params = new HashMap<>();
		((Map<?, ?>) command.get("params")).forEach((name, value) -> params.put((String) name, value));
		if (Boolean.TRUE.equals(command.get("progress"))) {
			params.put("_meta", Map.of("progressToken", command.get("id")));
		}
		return json.convertValue(params, McpSchema.CallToolRequest.class);
	}

	private static Map<String, Object> describe(Throwable error) {
		Map<String, Object> described = new HashMap<>();
		described.put("message", String.valueOf(error.getMessage()));
		if (error instanceof McpError rpc) {
			described.put("code", rpc.getJsonRpcError().code());
		}
		return described;
	}

	private static McpSchema.CreateMessageResult sample(McpSchema.CreateMessageRequest request) {
		McpSchema.TextContent question = (McpSchema.TextContent) request.messages().get(0).content();
		return McpSchema.CreateMessageResult.builder(McpSchema.Role.ASSISTANT, question.text() + " bowline", "interop")
			.build();
	}

	private Mono<Void> report(McpSchema.ProgressNotification notice) {
		Map<String, Object> progress = new HashMap<>();
		progress.put("progress", notice.progress());
		progress.put("total", notice.total());
		progress.put("message", notice.message());
		return write(Map.of("id", notice.progressToken(), "progress", progress));
	}

	private Mono<Void> write(Map<String, ?> line) {
		return Mono.fromRunnable(() -> {
			try {
				String text = json.writeValueAsString(line);
				synchronized (output) {
					output.println(text);
				}
			} catch (IOException e) {
				throw new IllegalStateException(e);
			}
		});
	}
}
