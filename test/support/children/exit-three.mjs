// Complains and exits with code 3 at its first input.
process.stdin.once("data", () => {
  process.stderr.write("cannot open the store\nits lock is held\n", () => process.exit(3));
});
