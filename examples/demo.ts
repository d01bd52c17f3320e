import { connect } from "bowline/client";
import { serveHttp } from "bowline/node";
import { createHarbour } from "./harbour.js";

const colours = process.stdout.isTTY === true && process.env.NO_COLOR === undefined;
const paint = (code: number, text: string) => (colours ? `\u001b[${code}m${text}\u001b[0m` : text);
const bold = (text: string) => paint(1, text);
const dim = (text: string) => paint(2, text);
const green = (text: string) => paint(32, text);
const say = (text = "") => void process.stdout.write(`${text}\n`);
const bar = (done: number, of: number) => `${"=".repeat(done * 6)}${"-".repeat((of - done) * 6)}`;

say(bold("\nBowline: one server, every protocol version\n"));

let interruptedAt = 0;
const harbour = createHarbour(() => {
  interruptedAt = performance.now();
});
await using running = await serveHttp(harbour);
say(`The harbour listens at ${running.url}. ${dim("The same definition answers both clients below.")}`);

for (const era of ["modern", "legacy"]) {
  await using client = await connect(running.url, {
    era,
    onElicit: ({ message }) => {
      say(`   ${bold("?")} ${message} ${green("yes")}`);
      return { action: "accept", content: { sure: true } };
    },
  });
  say(`\n${bold(`A client that speaks ${client.version}`)} ${dim(`(${era} era)`)}`);

  await using watch = await client.watch({ resources: ["berth://north"] });
  const changes = watch[Symbol.asyncIterator]();

  say(` ${green("1")} a call with progress`);
  const { structured } = await client.callTool(
    "moor",
    { ship: "Aurora", berth: "north" },
    { onProgress: ({ progress, total = 4, message }) => say(`   ${bar(progress, total)} ${dim(message ?? "")}`) },
  );
  say(`   ${JSON.stringify(structured)}`);

  const change = await changes.next();
  if (change.value?.kind === "resource") {
    const { contents } = await client.readResource(change.value.uri);
    const [berth] = contents;
    say(
      ` ${green("2")} a change arrives: ${change.value.uri} is now ${bold(berth !== undefined && "text" in berth ? berth.text : "?")}`,
    );
  }

  say(` ${green("3")} a question in the middle of a tool`);
  say(`   ${(await client.callTool("cast-off", { berth: "north" })).text}`);

  say(` ${green("4")} a call that is cancelled`);
  const abort = new AbortController();
  const horn = client.callTool("sound-the-horn", {}, { signal: abort.signal });
  await new Promise((resolve) => setTimeout(resolve, 200));
  const abortedAt = performance.now();
  abort.abort("that is loud enough");
  const reason = await horn.catch((error: unknown) => error);
  const settledAt = performance.now();
  while (interruptedAt < abortedAt) await new Promise((resolve) => setTimeout(resolve, 1));
  say(`   the caller got ${JSON.stringify(reason)} after ${(settledAt - abortedAt).toFixed(2)} ms,`);
  say(
    `   the tool's signal fired after ${(interruptedAt - abortedAt).toFixed(2)} ms, and ${client.pending} calls are left behind`,
  );
}

say(`\n${dim("Next: README.md for ten lines of your own, examples/ for more.")}\n`);
