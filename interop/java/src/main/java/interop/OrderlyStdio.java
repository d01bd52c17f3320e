package interop;

import io.modelcontextprotocol.json.McpJsonDefaults;
import io.modelcontextprotocol.json.TypeRef;
import io.modelcontextprotocol.server.transport.StdioServerTransportProvider;
import io.modelcontextprotocol.spec.McpSchema.JSONRPCMessage;
import io.modelcontextprotocol.spec.McpServerSession;
import io.modelcontextprotocol.spec.McpServerTransport;
import java.io.InputStream;
import java.util.List;
import reactor.core.publisher.Mono;

/**
 * Standard input and output, with one message sent at a time. A session of the SDK ends when two threads send at the same
 * moment.
 */
final class OrderlyStdio extends StdioServerTransportProvider {
	OrderlyStdio(InputStream input) {
		super(McpJsonDefaults.getMapper(), input, System.out);
	}

	@Override
	public void setSessionFactory(McpServerSession.Factory factory) {
		super.setSessionFactory(transport -> factory.create(new Orderly(transport)));
	}

	private record Orderly(McpServerTransport transport) implements McpServerTransport {
		@Override
		public Mono<Void> sendMessage(JSONRPCMessage message) {
			return Mono.fromRunnable(() -> {
				synchronized (transport) {
					transport.sendMessage(message).toFuture().join();
				}
			});
		}

		@Override
		public <T> T unmarshalFrom(Object data, TypeRef<T> type) {
			return transport.unmarshalFrom(data, type);
		}

		@Override
		public Mono<Void> closeGracefully() {
			return transport.closeGracefully();
		}

		@Override
		public void close() {
			transport.close();
		}

		@Override
		public List<String> protocolVersions() {
			return transport.protocolVersions();
		}
	}
}
