// Reads nothing until SIGUSR2; then echoes all.
const waiting = setInterval(() => {}, 1 << 30);
process.once("SIGUSR2", () => {
  clearInterval(waiting);
  process.stdin.pipe(process.stdout);
});
process.stdout.write("ready\n");
