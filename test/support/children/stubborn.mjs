// Outlives the end of its input and, with the argument "term", SIGTERM. Tells what it saw on stderr.
process.on("SIGTERM", () => {
  process.stderr.write("SIGTERM\n", () => {
    if (process.argv[2] !== "term") process.exit(0);
  });
});
process.stdin.on("end", () => process.stderr.write("end of input\n")).resume();
setInterval(() => {}, 1 << 30);
process.stdout.write("ready\n");
