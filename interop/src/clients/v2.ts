import { Client, LOG_LEVEL_META_KEY, ProtocolError, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { getDefaultEnvironment, StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { type Answers, type Choice, type Driver, LogBook, type Target, textOf, toReply } from "../driver.js";

const MODES = { legacy: "legacy", auto: "auto", modern: { pin: "2026-07-28" } } as const;

/** The client of the official SDK, version 2, in either era. */
export async function openV2(target: Target, choice: Choice, answers: Answers): Promise<Driver> {
  const client = new Client(
    { name: "interop-v2", version: "1.0.0" },
    {
      capabilities: { elicitation: { form: {} }, sampling: {}, roots: {} },
      versionNegotiation: { mode: MODES[choice] },
    },
  );
  client.setRequestHandler("elicitation/create", ({ params }) => answers.elicit(params.message));
  client.setRequestHandler("sampling/createMessage", ({ params }) => ({
    role: "assistant" as const,
    model: "interop",
    content: { type: "text" as const, text: answers.sample(textOf([params.messages[0]?.content])) },
  }));
  client.setRequestHandler("roots/list", () => ({ roots: answers.roots }));
  const transport =
    target.wire === "stdio"
      ? new StdioClientTransport({
          command: target.command,
          args: target.args,
          env: { ...getDefaultEnvironment(), ...target.env },
        })
      : new StreamableHTTPClientTransport(new URL(target.url));
  await client.connect(transport);
  const modern = client.getProtocolEra() === "modern";
  return {
    version: client.getNegotiatedProtocolVersion(),
    serverName: client.getServerVersion()?.name,
    sessionId: transport instanceof StreamableHTTPClientTransport ? transport.sessionId : undefined,
    listTools: async () => (await client.listTools()).tools.map(({ name }) => name),
    async callTool(name, args, { signal, timeoutMs, onProgress } = {}) {
      return toReply(
        await client.callTool(
          { name, arguments: args },
          {
            signal,
            timeout: timeoutMs,
            onprogress: onProgress,
          },
        ),
      );
    },
    listResources: async () => (await client.listResources()).resources.map(({ uri }) => uri),
    listTemplates: async () =>
      (await client.listResourceTemplates()).resourceTemplates.map(({ uriTemplate }) => uriTemplate),
    readResource: async (uri) => textOf((await client.readResource({ uri })).contents),
    listPrompts: async () => (await client.listPrompts()).prompts.map(({ name }) => name),
    getPrompt: async (name, args) =>
      textOf((await client.getPrompt({ name, arguments: args })).messages.map(({ content }) => content)),
    complete: async (name, argument, value) =>
      (await client.complete({ ref: { type: "ref/prompt", name }, argument: { name: argument, value } })).completion
        .values,
    async logsOf(tool, last) {
      const logs = new LogBook();
      client.setNotificationHandler("notifications/message", ({ params }) => logs.add(params.data));
      if (modern) await client.callTool({ name: tool, arguments: {}, _meta: { [LOG_LEVEL_META_KEY]: "info" } });
      else {
        await client.setLoggingLevel("info");
        await client.callTool({ name: tool, arguments: {} });
      }
      return logs.upTo(last);
    },
    async watchTools() {
      const changed = new Promise<void>((resolve) => {
        client.setNotificationHandler("notifications/tools/list_changed", () => resolve());
      });
      const subscription = modern ? await client.listen({ toolsListChanged: true }) : undefined;
      return { changed, close: async () => subscription?.close() };
    },
    async watchResource(uri) {
      const changed = new Promise<void>((resolve) => {
        client.setNotificationHandler("notifications/resources/updated", ({ params }) => {
          if (params.uri === uri) resolve();
        });
      });
      if (modern) {
        const subscription = await client.listen({ resourceSubscriptions: [uri] });
        return { changed, close: () => subscription.close() };
      }
      await client.subscribeResource({ uri });
      return { changed, close: async () => void (await client.unsubscribeResource({ uri })) };
    },
    codeOf: (error) => (error instanceof ProtocolError ? error.code : undefined),
    async close() {
      if (!modern && transport instanceof StreamableHTTPClientTransport) await transport.terminateSession();
      await client.close();
    },
  };
}
