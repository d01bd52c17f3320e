// A host of a stdio server. Arguments: the module of the channel; what to do once the server has spoken: "close" (then
// this process must exit by itself), "exit" (at once, without closing) or "stay"; the server's program and arguments.
const [module, then, ...args] = process.argv.slice(2);
const { createStdioClientChannel } = await import(module);
const channel = createStdioClientChannel({
  command: process.execPath,
  args,
  shutdown: { stdinMs: 50, termMs: 50 },
});
await new Promise((resolve) => channel.open({ onFrame: resolve, onProblem() {}, onClose() {} }));
console.log("spoken");
if (then === "exit") process.exit(0);
if (then === "stay") await new Promise(() => setInterval(() => {}, 1 << 30));
await channel.close();
console.log("closed");
