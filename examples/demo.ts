import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { type Client, connect } from "bowline/client";
import { serveHttp, skillFolder } from "bowline/node";
import { SkillsClient } from "bowline/skills/client";
import { skills } from "bowline/skills/server";
import { ClientTasks, tasksClient } from "bowline/tasks/client";
import { createHarbour } from "./harbour.js";

const colours = process.stdout.isTTY === true && process.env.NO_COLOR === undefined;
const paint = (code: number, text: string) => (colours ? `\u001b[${code}m${text}\u001b[0m` : text);
const bold = (text: string) => paint(1, text);
const dim = (text: string) => paint(2, text);
const green = (text: string) => paint(32, text);
const say = (text = "") => void process.stdout.write(`${text}\n`);
const bar = (done: number, of: number) => `${"=".repeat(done * 5)}${"-".repeat((of - done) * 5)}`;

/** Messages of each era. The code of the server and of the client does not depend on them. */
const beneath = {
  modern: {
    about: "no sessions, each request is complete in itself",
    change: "a notification on the stream of a subscription",
    question: "the result of the call was the question; the client called again with the answer",
    cancel: "the client closed the stream of the call, which cancels it",
  },
  legacy: {
    about: "a handshake, then a session",
    change: "a notification on the stream of the session",
    question: "the server sent the question as a request, and the tool waited",
    cancel: "the client sent notifications/cancelled",
  },
};

// Ends the demonstration in any case.
const patience = setTimeout(() => {
  say("\nThe demonstration takes too long: something is wrong.");
  process.exit(1);
}, 60_000);

const stopped = new EventTarget();
const harbour = createHarbour(() => void stopped.dispatchEvent(new Event("horn")));
harbour.extend(skills(skillFolder(new URL("../skills", import.meta.url))));
const running = await serveHttp(harbour);
say(`\n${bold("Bowline: one server, every protocol version")}\n`);
say(`The server of harbour.ts listens at ${running.url}.`);
say("Two clients visit it. Both run the same code, and so does the server, but they use versions of the protocol");
say("that have little in common. The lines with 'wire:' tell what was sent.");

for (const era of ["modern", "legacy"] as const) {
  const client = await connect(running.url, {
    era,
    onElicit: ({ message }) => {
      say(`     ${bold("?")} ${message} ${green("yes")}`);
      return { action: "accept", content: { sure: true } };
    },
  });
  say(`\n${bold(`A client of ${client.version}`)} ${dim(`(${beneath[era].about})`)}`);
  await visit(client, beneath[era]);
  await client.close();
}

say(`\nBoth clients are gone, and the server still holds ${bold(JSON.stringify(harbour.stats()))}.`);
await running.close();
await outlive();
clearTimeout(patience);
say(dim("\nNext: docs/tutorial.md               your own server in ten minutes"));
say(dim("      node examples/dist/host.js     a host with many servers, one of them broken"));
say(
  dim("      node examples/dist/issuer.js   a protected server, its authorization server and a client that gets in\n"),
);

/** Kills the process that runs a task, and waits for the result of the task. */
async function outlive(): Promise<void> {
  say(`\n${bold("A task that outlives its process")} ${dim("(tasks-server.ts, on two processes)")}`);
  const program = spawn(process.execPath, [fileURLToPath(new URL("tasks-server.js", import.meta.url))], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  try {
    const [url] = (await once(createInterface({ input: program.stdout }), "line")) as [string];
    const client = await connect(url, { extensions: [tasksClient({ minPollIntervalMs: 50 })] });
    const task = await new ClientTasks(client).startTool("survey");
    say(`     the server answered at once with the id ${task.id}`);
    let killed = false;
    let shown = "";
    for await (const { status, statusMessage = "" } of task) {
      if (status === "working" && statusMessage !== shown) say(`     ${statusMessage}`);
      shown = statusMessage;
      const [, pid] = /^sounding 3 .*process (\d+)$/.exec(statusMessage) ?? [];
      if (pid === undefined || killed) continue;
      killed = process.kill(Number(pid), "SIGKILL");
      say(`     ${bold("kill -9")} ${pid}`);
    }
    say(`     ${(await task.result).text}`);
    say(dim("     wire: tools/call returned the task; tasks/get and notifications told how it went"));
    await client.close();
  } finally {
    program.kill("SIGTERM");
  }
}

async function visit(client: Client, how: (typeof beneath)["modern"]): Promise<void> {
  const watch = await client.watch({ resources: ["berth://north"] });

  say(` ${green("1")}  A call with progress and a typed result`);
  const { structured } = await client.callTool(
    "moor",
    { ship: "Aurora", berth: "north" },
    { onProgress: ({ progress, total = 4, message }) => say(`     ${bar(progress, total)} ${message}`) },
  );
  say(`     ${JSON.stringify(structured)}`);

  say(` ${green("2")}  A change that the server announces`);
  for await (const change of watch) {
    if (change.kind !== "resource") continue;
    const { contents } = await client.readResource(change.uri);
    say(`     ${change.uri} is now ${contents.map((part) => ("text" in part ? part.text : "")).join("")}`);
    break;
  }
  await watch.close();
  say(dim(`     wire: ${how.change}`));

  say(` ${green("3")}  A question to the user in the middle of a tool`);
  say(`     ${(await client.callTool("cast-off", { berth: "north" })).text}`);
  say(dim(`     wire: ${how.question}`));

  say(` ${green("4")}  A cancelled call, which ends at once on both sides`);
  const abort = new AbortController();
  const heard = new Promise<number>((resolve) => {
    stopped.addEventListener("horn", () => resolve(performance.now()), { once: true });
  });
  let abortedAt = 0;
  const reason = await client
    .callTool(
      "sound-the-horn",
      {},
      {
        signal: abort.signal,
        onProgress: ({ message }) => {
          say(`     ${message}`);
          abortedAt = performance.now();
          abort.abort("that is loud enough");
        },
      },
    )
    .catch((error: unknown) => error);
  const settled = performance.now() - abortedAt;
  const told = (await heard) - abortedAt;
  say(
    `     the call ended with ${JSON.stringify(reason)} after ${settled.toFixed(1)} ms, the tool stopped after ${told.toFixed(1)} ms,`,
  );
  say(`     and ${client.pending} calls are left behind`);
  say(dim(`     wire: ${how.cancel}`));

  say(` ${green("5")}  A skill: instructions for a model, verified file by file`);
  const offered = new SkillsClient(client);
  for (const { frontmatter } of (await offered.list()).skills)
    say(`     ${frontmatter.name}: ${frontmatter.description}`);
  const mooring = await offered.load("skill://mooring/SKILL.md");
  const { uri, bytes, verified } = await mooring.read("references/knots.md");
  say(`     ${uri}: ${bytes.byteLength} bytes, ${verified ? green("as the listing promised") : "not verified"}`);
  say(dim("     wire: skills/list, skills/get, and resources/read for each file that was needed"));
}
