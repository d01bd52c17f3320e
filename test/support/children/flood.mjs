// At the end of its input, writes as many 1 kB lines as its argument says, and a megabyte to stderr; then exits.
const count = Number(process.argv[2]);
const line = `${"x".repeat(1023)}\n`;
process.stdin
  .on("end", () => {
    process.stderr.write(`${"log ".repeat(64)}\n`.repeat(4096));
    for (let index = 0; index < count; index++) process.stdout.write(line);
  })
  .resume();
