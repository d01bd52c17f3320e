// An MCP server of the package on stdio. Arguments: options as JSON: { "port": tells by a connection that it lives,
// "serve": options of serveStdio, "say": what is written to stdout afterwards, "hold": what keeps the
// process alive after serving, "versions": [...] }.
import { connect } from "node:net";
import { serveStdio } from "bowline/node";
import { McpServer } from "bowline/server";

const { port, serve, say, hold, versions } = JSON.parse(process.argv[2] ?? "{}");
if (port !== undefined) connect(port, "127.0.0.1").unref();
const tell = (text) => process.stderr.write(`${text}\n`);
const any = { type: "object" };
const server = new McpServer(
  { name: "child", version: "1.0.0" },
  {
    onError: (error) => tell(`error ${error.message}`),
    logger: { debug: (message) => tell(`debug ${message}`), warn: (message) => tell(`warn ${message}`) },
    ...(versions === undefined ? {} : { versions }),
  },
)
  .tool("add", { input: any }, ({ a, b }) => String(a + b))
  .tool("pid", {}, () => String(process.pid))
  .tool("big", { input: any }, ({ size }) => "x".repeat(size))
  .tool("steps", {}, async (_, ctx) => {
    for (let step = 1; step <= 3; step++) await ctx.progress(step, 3);
    return "done";
  })
  .tool("wait", {}, async (_, ctx) => {
    tell("waiting");
    await new Promise((resolve) => ctx.signal.addEventListener("abort", resolve, { once: true }));
    tell(`aborted ${ctx.signal.reason.message}`);
    throw ctx.signal.reason;
  })
  .tool("noise", {}, () => {
    console.log("noise by console");
    process.stdout.write("noise by stream\n");
    return "quiet";
  })
  .tool("log", { input: any }, ({ size }) => {
    process.stderr.write(`${"log ".repeat(16)}é\n`.repeat(size / 66));
    return "logged";
  })
  .tool("stream", {}, async (_, ctx) => {
    for (let step = 1; !ctx.signal.aborted; step++) {
      await ctx.progress(step, undefined, "x".repeat(10_000));
      await new Promise(setImmediate);
    }
  })
  .tool("fail", {}, () => {
    throw new Error("a handler's own mistake");
  })
  .tool("change", {}, () => {
    server.removeTool("gone");
    server.tool("gone", {}, () => "");
    return "changed";
  })
  .tool("exit", { input: any }, ({ code }) => process.exit(code))
  .tool("die", {}, () => process.kill(process.pid, "SIGKILL"));

if (hold) setInterval(() => {}, 1 << 30);
await serveStdio(server, serve);
tell("closed");
if (say) process.stdout.write(`${say}\n`);
