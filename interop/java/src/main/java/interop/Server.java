package interop;

import io.modelcontextprotocol.server.McpServer;
import io.modelcontextprotocol.server.McpServerFeatures.SyncCompletionSpecification;
import io.modelcontextprotocol.server.McpServerFeatures.SyncPromptSpecification;
import io.modelcontextprotocol.server.McpServerFeatures.SyncResourceSpecification;
import io.modelcontextprotocol.server.McpServerFeatures.SyncResourceTemplateSpecification;
import io.modelcontextprotocol.server.McpServerFeatures.SyncToolSpecification;
import io.modelcontextprotocol.server.McpSyncServer;
import io.modelcontextprotocol.server.McpSyncServerExchange;
import io.modelcontextprotocol.server.transport.HttpServletStreamableServerTransportProvider;
import io.modelcontextprotocol.spec.McpError;
import io.modelcontextprotocol.spec.McpSchema;
import io.modelcontextprotocol.spec.McpSchema.CallToolRequest;
import io.modelcontextprotocol.spec.McpSchema.CallToolResult;
import io.modelcontextprotocol.spec.McpSchema.LoggingLevel;
import io.modelcontextprotocol.spec.McpSchema.Role;
import io.modelcontextprotocol.spec.McpSchema.TextContent;
import java.io.File;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.function.BiFunction;
import java.util.stream.Collectors;
import org.apache.catalina.connector.Connector;
import org.apache.catalina.startup.Tomcat;

/** A server of the official Java SDK. */
final class Server {
	private static final McpSchema.ServerCapabilities CAPABILITIES = McpSchema.ServerCapabilities.builder()
		.tools(true)
		.prompts(true)
		.resources(false, true)
		.logging()
		.completions()
		.build();

	private final Ledger events;

	private McpSyncServer server;

	private Server(Ledger events) {
		this.events = events;
	}

	static void serve(String mode, Ledger events) throws Exception {
		events.note("process", Long.toString(ProcessHandle.current().pid()));
		if (mode.equals("stdio")) {
			new Server(events).serveStdio();
		} else {
			new Server(events).serveHttp();
		}
	}

	/** The SDK reads standard input to its end, and then leaves threads behind. */
	private void serveStdio() throws InterruptedException {
		CountDownLatch ended = new CountDownLatch(1);
		InputStream input = new WatchedInput(System.in, ended);
		server = define(McpServer.sync(new OrderlyStdio(input)));
		ended.await();
		System.exit(0);
	}

	private void serveHttp() throws Exception {
		HttpServletStreamableServerTransportProvider servlet = HttpServletStreamableServerTransportProvider.builder()
			.mcpEndpoint("/mcp")
			.build();
		server = define(McpServer.sync(servlet));
		Tomcat tomcat = new Tomcat();
		tomcat.setBaseDir(events.folder().toString());
		Connector connector = new Connector();
		connector.setProperty("address", "127.0.0.1");
		connector.setPort(0);
		tomcat.setConnector(connector);
		var context = tomcat.addContext("", new File(events.folder().toString()).getAbsolutePath());
		Tomcat.addServlet(context, "mcp", servlet).setAsyncSupported(true);
		context.addServletMappingDecoded("/mcp", "mcp");
		tomcat.start();
		System.out.println("http://127.0.0.1:" + connector.getLocalPort() + "/mcp");
		System.in.transferTo(OutputStream.nullOutputStream());
		System.exit(0);
	}

	private McpSyncServer define(McpServer.SyncSpecification<?> builder) {
		return builder.serverInfo("interop", "1.0.0")
			.capabilities(CAPABILITIES)
			.tools(tool("echo", "text: string", (exchange, args) -> (String) args.get("text")), add(),
					tool("count", "to: integer, key: string", this::count),
					tool("fail", "", (exchange, args) -> {
						throw new IllegalStateException("the rope broke");
					}),
					tool("wait", "key: string", this::waitForever),
					tool("seen", "key: string, what: string", (exchange, args) -> {
						events.await((String) args.get("key"), (String) args.get("what"));
						return (String) args.get("what");
					}),
					tool("note", "key: string", (exchange, args) -> {
						events.note((String) args.get("key"), "heard");
						return "";
					}),
					tool("log", "", Server::log), touch(), tool("ask", "", Server::ask),
					tool("sample", "", Server::sample),
					tool("roots", "",
							(exchange, args) -> exchange.listRoots()
								.roots()
								.stream()
								.map(McpSchema.Root::uri)
								.collect(Collectors.joining(" "))))
			.resources(new SyncResourceSpecification(McpSchema.Resource.builder("note://pinned", "pinned").build(),
					(exchange, request) -> contents(request.uri(), "hold fast")))
			.resourceTemplates(new SyncResourceTemplateSpecification(
					McpSchema.ResourceTemplate.builder("note://numbered/{id}", "numbered").build(),
					(exchange, request) -> contents(request.uri(),
							"note number " + request.uri().substring("note://numbered/".length()))))
			.prompts(new SyncPromptSpecification(
					McpSchema.Prompt.builder("greet")
						.arguments(List.of(McpSchema.PromptArgument.builder("city").required(true).build()))
						.build(),
					(exchange, request) -> greet(request.arguments())))
			.completions(new SyncCompletionSpecification(McpSchema.PromptReference.builder("greet").build(),
					(exchange, request) -> complete(request.argument().value())))
			.build();
	}

	private String count(McpSyncServerExchange exchange, Map<String, Object> args) {
		int to = (Integer) args.get("to");
		Object token = args.get(PROGRESS_TOKEN);
		for (int step = 1; token != null && step <= to; step++) {
			exchange.progressNotification(McpSchema.ProgressNotification.builder(token, step)
				.total((double) to)
				.message("step " + step)
				.build());
		}
		events.await((String) args.get("key"), "heard");
		return "counted to " + to;
	}

	/** The SDK tells a handler nothing of a cancellation. The call ends with the process. */
	private String waitForever(McpSyncServerExchange exchange, Map<String, Object> args) {
		events.note((String) args.get("key"), "started");
		try {
			Thread.sleep(Long.MAX_VALUE);
		} catch (InterruptedException e) {
			events.note((String) args.get("key"), "cancelled");
		}
		return "the answer of a call that should have been cancelled";
	}

	private static String log(McpSyncServerExchange exchange, Map<String, Object> args) {
		exchange.loggingNotification(McpSchema.LoggingMessageNotification.builder(LoggingLevel.DEBUG, "too much").build());
		exchange.loggingNotification(McpSchema.LoggingMessageNotification.builder(LoggingLevel.INFO, "logged").build());
		return "";
	}

	private static String ask(McpSyncServerExchange exchange, Map<String, Object> args) {
		Map<String, Object> schema = Map.of("type", "object", "properties", Map.of("colour", Map.of("type", "string")),
				"required", List.of("colour"));
		McpSchema.ElicitResult answer = exchange
			.createElicitation(McpSchema.ElicitFormRequest.builder("Which colour?", schema).build());
		return answer.action() == McpSchema.ElicitResult.Action.ACCEPT ? "colour " + answer.content().get("colour")
				: answer.action().name().toLowerCase();
	}

	private static String sample(McpSyncServerExchange exchange, Map<String, Object> args) {
		var question = McpSchema.SamplingMessage.builder(Role.USER, text("knot?")).build();
		var answer = exchange.createMessage(McpSchema.CreateMessageRequest.builder(List.of(question), 10).build());
		return ((TextContent) answer.content()).text();
	}

	/** Replaces itself, which changes the list of tools. */
	private SyncToolSpecification touch() {
		return tool("touch", "", (exchange, args) -> {
			server.addTool(touch());
			return "";
		});
	}

	private static SyncToolSpecification add() {
		Map<String, Object> output = schema("sum: integer");
		McpSchema.Tool tool = McpSchema.Tool.builder("add", schema("a: integer, b: integer")).outputSchema(output).build();
		return new SyncToolSpecification(tool, (exchange, request) -> {
			int sum = (Integer) request.arguments().get("a") + (Integer) request.arguments().get("b");
			return CallToolResult.builder().structuredContent(Map.of("sum", sum)).build();
		});
	}

	/** Key of the progress token among the arguments of a handler. */
	private static final String PROGRESS_TOKEN = "_progressToken";

	/** Defines a tool that answers with a text. An exception is a result with isError. */
	private static SyncToolSpecification tool(String name, String members,
			BiFunction<McpSyncServerExchange, Map<String, Object>, String> handler) {
		McpSchema.Tool tool = McpSchema.Tool.builder(name, schema(members)).build();
		return new SyncToolSpecification(tool, (exchange, request) -> {
			try {
				return CallToolResult.builder().addTextContent(handler.apply(exchange, argumentsOf(request))).build();
			} catch (IllegalStateException e) {
				return CallToolResult.builder().addTextContent(e.getMessage()).isError(true).build();
			}
		});
	}

	private static Map<String, Object> argumentsOf(CallToolRequest request) {
		Map<String, Object> args = new java.util.HashMap<>();
		if (request.arguments() != null) {
			args.putAll(request.arguments());
		}
		args.put(PROGRESS_TOKEN, request.progressToken());
		return args;
	}

	/** Returns the JSON Schema of an object with required members, such as "a: integer, b: string". */
	private static Map<String, Object> schema(String members) {
		Map<String, Object> properties = new java.util.LinkedHashMap<>();
		for (String member : members.isEmpty() ? new String[0] : members.split(", ")) {
			String[] parts = member.split(": ");
			properties.put(parts[0], Map.of("type", parts[1]));
		}
		return Map.of("type", "object", "properties", properties, "required", List.copyOf(properties.keySet()));
	}

	private static McpSchema.ReadResourceResult contents(String uri, String text) {
		return McpSchema.ReadResourceResult
			.builder(List.of(McpSchema.TextResourceContents.builder(uri, text).build()))
			.build();
	}

	private static McpSchema.GetPromptResult greet(Map<String, Object> args) {
		if (args == null || args.get("city") == null) {
			throw McpError.builder(McpSchema.ErrorCodes.INVALID_PARAMS).message("missing argument: city").build();
		}
		TextContent greeting = text("Greet the people of " + args.get("city"));
		return McpSchema.GetPromptResult.builder(List.of(McpSchema.PromptMessage.builder(Role.USER, greeting).build()))
			.build();
	}

	private static McpSchema.CompleteResult complete(String start) {
		List<String> cities = List.of("oslo", "osaka", "rome").stream().filter(city -> city.startsWith(start)).toList();
		return new McpSchema.CompleteResult(new McpSchema.CompleteResult.CompleteCompletion(cities, null, null));
	}

	private static TextContent text(String text) {
		return TextContent.builder(text).build();
	}
}
