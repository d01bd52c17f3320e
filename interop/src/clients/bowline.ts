import { type ClientOptions, connect, RpcError } from "bowline/client";
import { type Answers, type Choice, type Driver, LogBook, type Target, textOf, toReply } from "../driver.js";

/** Bowline's own client. */
export async function openBowline(target: Target, choice: Choice, answers: Answers): Promise<Driver> {
  const logs = new LogBook();
  const options: ClientOptions = {
    info: { name: "interop-bowline", version: "1.0.0" },
    era: choice,
    onElicit: ({ message }) => answers.elicit(message),
    onSample: ({ messages }) => ({
      role: "assistant",
      model: "interop",
      content: { type: "text", text: answers.sample(textOf([messages[0]?.content])) },
    }),
    roots: answers.roots,
    onNotification: ({ method, params }) => {
      if (method === "notifications/message") logs.add(params?.data);
    },
  };
  const client = await connect(
    target.wire === "http"
      ? target.url
      : { command: target.command, args: target.args, ...(target.env && { env: target.env }) },
    options,
  );
  return {
    version: client.version,
    serverName: client.server.info?.name,
    listTools: async () => (await all(client.tools())).map(({ name }) => name),
    callTool: async (name, args, callOptions) =>
      toReply(await client.request("tools/call", { name, arguments: args }, callOptions)),
    listResources: async () => (await all(client.resources())).map(({ uri }) => uri),
    listTemplates: async () => (await all(client.resourceTemplates())).map(({ uriTemplate }) => uriTemplate),
    readResource: async (uri) => textOf((await client.readResource(uri)).contents),
    listPrompts: async () => (await all(client.prompts())).map(({ name }) => name),
    getPrompt: async (name, args) =>
      textOf((await client.getPrompt(name, args)).messages.map(({ content }) => content)),
    complete: async (name, argument, value) =>
      (await client.complete({ type: "ref/prompt", name }, { name: argument, value })).values,
    async logsOf(tool, last) {
      await client.setLogLevel("info");
      await client.callTool(tool);
      return logs.upTo(last);
    },
    async watchTools() {
      const watch = await client.watch({ toolsListChanged: true });
      return { changed: firstOf(watch, "tools"), close: () => watch.close() };
    },
    async watchResource(uri) {
      const watch = await client.watch({ resources: [uri] });
      return { changed: firstOf(watch, "resource"), close: () => watch.close() };
    },
    codeOf: (error) => (error instanceof RpcError ? error.rpcCode : undefined),
    close: () => client.close(),
  };
}

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

/** Resolves with the first change that a watch reports. */
function firstOf(watch: AsyncIterable<{ readonly kind: string }>, kind: string): Promise<void> {
  const changed = watch[Symbol.asyncIterator]()
    .next()
    .then(({ value }) => {
      if (value?.kind !== kind) throw new Error(`expected a change of ${kind}, got ${JSON.stringify(value)}`);
    });
  changed.catch(() => {});
  return changed;
}
