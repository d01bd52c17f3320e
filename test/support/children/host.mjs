// A host of a stdio server. Arguments: the module of the channel, the child program, and what to do once the child has
// spoken: "close" (then this process must exit by itself) or "exit" (at once, without closing).
const [module, program, then] = process.argv.slice(2);
const { createStdioClientChannel } = await import(module);
const channel = createStdioClientChannel({
  command: process.execPath,
  args: [program],
  shutdown: { stdinMs: 50, termMs: 50 },
});
const spoken = new Promise((resolve) => {
  channel.open({ onFrame: resolve, onProblem() {}, onClose() {} });
});
await spoken;
process.stdout.write(`${channel.pid}\n`);
if (then === "exit") process.exit(0);
await channel.close();
process.stdout.write("closed\n");
