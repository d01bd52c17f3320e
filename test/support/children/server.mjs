// The server's end of the stdio channel, in a real process. Arguments: the folder of the built sources, and what to do
// with a frame: "echo" it, or "noise": print by other means too, then echo.
const [sources, manner] = process.argv.slice(2);
const { createStdioServerChannel } = await import(new URL("node/stdio-server.js", sources));
const { guardStdout } = await import(new URL("node/stdout-guard.js", sources));

const guard = guardStdout();
const channel = createStdioServerChannel({ write: guard.write });
channel.open({
  onFrame(text) {
    if (manner === "noise") {
      console.log("noise by console");
      process.stdout.write("noise by stream\n");
    }
    channel.send(text);
  },
  onProblem() {},
  async onClose(reason) {
    await channel.close();
    guard.restore();
    process.stderr.write(`closed ${reason === undefined ? "in order" : reason.cause?.code}\n`);
    if (manner === "noise") process.stdout.write("restored\n");
  },
});
