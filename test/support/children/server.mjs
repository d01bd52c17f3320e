// The server's end of the stdio channel, in a real process. Arguments: the folder of the built sources, and what to do
// with a frame: "echo" it, "noise": print by other means too, then echo, or "stream": write it again and again.
const [sources, manner] = process.argv.slice(2);
const { createStdioServerChannel } = await import(new URL("node/stdio/server.js", sources));
const { guardStdout } = await import(new URL("node/stdio/stdout-guard.js", sources));

async function stream(text) {
  for (;;) {
    await channel.send(text);
    await new Promise(setImmediate);
  }
}

const guard = guardStdout();
const channel = createStdioServerChannel({ write: guard.write });
channel.open({
  onFrame(text) {
    if (manner === "noise") {
      console.log("noise by console");
      process.stdout.write("noise by stream\n");
    }
    if (manner === "stream") stream(text).catch((reason) => process.stderr.write(`${reason.name}\n`));
    else channel.send(text);
  },
  onProblem() {},
  async onClose(reason) {
    await channel.close();
    guard.restore();
    process.stderr.write(`closed ${reason === undefined ? "in order" : reason.cause?.code}\n`);
    if (manner !== "echo") process.stdout.write("restored\n");
  },
});
