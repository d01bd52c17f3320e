/**
 * Both sides of a traced call. As a program (`node subject.mjs <wire> <era> <side>`) it is the traced side: it
 * instruments the build and takes commands from its parent. Over memory it also gets the frames of the other side,
 * which the parent runs without instruments.
 */
import { register } from "node:module";
import { setImmediate as nextTurn } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Recorder } from "./count.mjs";

const me = { name: "trace", version: "1.0.0" };
const input = { type: "object", properties: { text: { type: "string" } }, required: ["text"] };
/** Time after which a client asks for its task. It has ended by then. */
const POLL_MS = 50;

/**
 * Serves an echo tool on a channel, or over HTTP if there is none. Returns the address, if there is one, and a function
 * that ends it.
 */
export async function openServer(channel) {
  const { McpServer } = await import("bowline/server");
  const server = new McpServer(me).tool("echo", { input }, ({ text }) => text);
  if (channel !== undefined) {
    await server.accept(channel);
    return { url: undefined, close: () => server.close() };
  }
  const { serveHttp } = await import("bowline/node");
  return serveHttp(server);
}

/** Connects to the server at an address or on a channel. */
export async function openClient(target, era) {
  const { connect } = await import("bowline/client");
  const client = await connect(target, { era });
  return {
    call: async () => {
      const { isError } = await client.callTool("echo", { text: "hello" });
      if (isError) throw new Error("the echo tool failed");
    },
    close: () => client.close(),
  };
}

/**
 * Serves the echo tool as a task on a channel. The server that is called runs no tasks: another one of its cluster, which is in
 * the memory of this process, does.
 */
async function openTaskServers(channel) {
  const { McpServer } = await import("bowline/server");
  const { tasks } = await import("bowline/tasks/server");
  const { createMemoryState } = await import("bowline/testing");
  const state = createMemoryState();
  const openNode = (work) =>
    new McpServer(me)
      .extend(tasks({ cluster: state.node(), work, pollIntervalMs: POLL_MS }))
      .tool("echo", { input, task: "required" }, ({ text }) => text);
  const [worker, front] = [openNode(true), openNode(false)];
  await front.accept(channel);
  return { url: undefined, close: () => Promise.all([front.close(), worker.close()]) };
}

/** Connects to a server of tasks. A call ends with the task, which the client asks for once. */
export async function openTaskClient(target) {
  const { connect } = await import("bowline/client");
  const { ClientTasks, tasksClient } = await import("bowline/tasks/client");
  const extension = tasksClient({ notifications: false, minPollIntervalMs: POLL_MS });
  const client = await connect(target, { extensions: [extension] });
  const tasks = new ClientTasks(client);
  return {
    call: async () => {
      const task = await tasks.startTool("echo", { text: "hello" });
      if ((await task.result).text !== "hello") throw new Error("the echo tool failed");
    },
    close: () => client.close(),
  };
}

async function runTraced([wire, era, side]) {
  const recorder = new Recorder();
  globalThis.recorder = recorder;
  register("./instrument.mjs", import.meta.url);
  const channel = wire === "memory" ? await createRelayedChannel(recorder) : undefined;
  let open;
  const commands = {
    open: async (url) => {
      if (side === "client") open = await openClient(url ?? { channel }, era);
      else open = side === "task" ? await openTaskServers(channel) : await openServer(channel);
      return open.url;
    },
    call: () => open.call(),
    start: () => recorder.start(),
    /** Waits for events that follow the end of a response, such as its `close`. */
    stop: async () => {
      await nextTurn();
      await nextTurn();
      return recorder.stop();
    },
    close: () => open.close(),
  };
  process.on("message", async ({ id, command, value }) => {
    if (command === undefined) return;
    const outcome = await Promise.resolve(value)
      .then(commands[command])
      .then(
        (value) => ({ value }),
        (error) => ({ error: error.stack }),
      );
    process.send({ id, ...outcome });
    if (command === "close") process.disconnect();
  });
}

/** Returns one end of a memory channel whose other end is relayed to the parent. The other end is not recorded. */
async function createRelayedChannel(recorder) {
  const { createChannelPair } = await import("bowline/testing");
  const [near, far] = createChannelPair();
  far.open({ onFrame: (frame) => process.send({ frame }), onProblem() {}, onClose() {} });
  process.on("message", ({ frame }) => {
    if (frame !== undefined) recorder.aside(() => far.send(frame));
  });
  return near;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await runTraced(process.argv.slice(2));
