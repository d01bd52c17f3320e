import { deepEqual, equal, match, ok } from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { connect } from "bowline/client";
import { createStdioClientChannel } from "bowline/node";
import { parseRecording, Recording } from "bowline/testing";
import { bowline, emptyFolder, type Running } from "../../support/command.js";
import { createHarbour, harbourProgram, serve } from "../../support/harbour.js";

const bin = fileURLToPath(import.meta.resolve("#src/cli/bin.js"));

/** A command that serves its page, with the requests of the page. */
class Page {
  cookie = "";
  readonly origin: string;
  readonly #token: string;

  constructor(link: string) {
    const { origin, hash } = new URL(link);
    this.origin = origin;
    this.#token = new URLSearchParams(hash.slice(1)).get("token") ?? "";
  }

  async enter(): Promise<this> {
    const { headers } = await this.#send("POST", "/enter", { token: this.#token });
    this.cookie = (headers["set-cookie"]?.[0] ?? "").split(";")[0] as string;
    return this;
  }

  async do(verb: object): Promise<{ readonly ok: boolean; readonly result: { readonly text: string } }> {
    return JSON.parse((await this.#send("POST", "/do", verb)).text);
  }

  get(path: string) {
    return this.#send("GET", path);
  }

  /** Resolves when the stream of events has a text. */
  until(text: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const headers = { cookie: this.cookie, "sec-fetch-site": "same-origin" };
      const sent = request(`${this.origin}/events`, { headers, agent: false }, (response) => {
        let all = "";
        response.on("data", (piece) => {
          all += String(piece);
          if (!all.includes(text)) return;
          sent.destroy();
          resolve();
        });
        response.on("error", () => {});
      });
      sent.on("error", reject);
      sent.end();
    });
  }

  #send(
    method: string,
    path: string,
    body?: object,
  ): Promise<{ status: number; headers: Record<string, string[] | undefined>; text: string }> {
    const headers = {
      cookie: this.cookie,
      "sec-fetch-site": "same-origin",
      ...(method === "POST" && { origin: this.origin, "content-type": "application/json" }),
    };
    return new Promise((resolve, reject) => {
      const sent = request(`${this.origin}${path}`, { method, headers, agent: false }, async (response) => {
        const text = (await response.toArray()).join("");
        resolve({ status: response.statusCode ?? 0, headers: response.headers as never, text });
      });
      sent.on("error", reject);
      sent.end(body === undefined ? undefined : JSON.stringify(body));
    });
  }
}

/** Runs `bowline inspect` until `use` is done, then interrupts it. */
async function inspect(
  t: TestContext,
  args: readonly string[],
  use: (page: Page) => Promise<void>,
  cwd = emptyFolder(t),
) {
  const child = spawn(process.execPath, [bin, "inspect", ...args], { cwd, stdio: ["ignore", "pipe", "pipe"] });
  t.after(() => child.kill("SIGKILL"));
  let [stdout, stderr] = ["", ""];
  child.stderr.on("data", (piece) => {
    stderr += String(piece);
  });
  const closed = once(child, "close");
  const link = await new Promise<string>((resolve, reject) => {
    child.stdout.on("data", (piece) => {
      stdout += String(piece);
      const found = /http:\/\/127\.0\.0\.1:\d+\/#token=[0-9a-f]{64}/.exec(stdout);
      if (found !== null) resolve(found[0]);
    });
    void closed.then(() => reject(new Error(`ended: ${stderr}`)));
  });
  await use(await new Page(link).enter());
  child.kill("SIGINT");
  const [code] = await closed;
  return { code: code as number, stdout, stderr, cwd };
}

test("inspect serves a page that is connected to the server, and Ctrl-C ends it", async (t) => {
  const { code, stdout } = await inspect(t, ["--no-open", "--", ...harbourProgram], async (page) => {
    await page.until('"status":"open"');
    deepEqual(
      (await page.do({ do: "call", connection: 1, name: "moor", arguments: { ship: "Maria", berth: "n1" } })).ok,
      true,
    );
    await page.until("event: run");
    equal((await page.get("/")).headers["content-type"] === undefined, false);
  });
  equal(code, 0);
  match(stdout, /^http:\/\/127\.0\.0\.1:\d+\/#token=[0-9a-f]{64}\n$/);
});

test("the doctor examines the server, and its findings name lines of the same recording", async (t) => {
  const faulty = [
    process.execPath,
    fileURLToPath(new URL("../../support/faulty/program.js", import.meta.url)),
    "stdio",
    "stdio/noise",
  ];
  await inspect(t, ["--no-open", "--", ...faulty], async (page) => {
    await page.until('"status":"open"');
    deepEqual((await page.do({ do: "doctor" })).ok, true);
    await page.until("event: run");
    const { result } = await page.do({ do: "save", as: "recording" });
    const { events } = parseRecording(result.text);
    const [verdict] = events.filter((event) => event.k === "verdict");
    equal(verdict?.rule, "stdio/noise");
    ok((verdict?.remedy ?? "").length > 10);
    const proof = events.find(({ line }) => line === verdict?.lines?.[0]);
    deepEqual([proof?.k, (proof as { text?: string }).text], ["noise", "The harbour is open"]);
    // The connections of the doctor are none of the page's.
    const opened = events.flatMap((event) => (event.k === "open" ? [event.c] : []));
    equal(new Set(opened).size, opened.length);
    ok(opened.length > 1);
  });
});

test("inspect connects in both eras from the start, and records to a file", async (t) => {
  const url = await serve(t, createHarbour());
  const { code, cwd, stderr } = await inspect(t, [url, "--eras", "both", "--record", "a.rec.ndjson"], async (page) => {
    await page.until('"era":"legacy"');
    await page.until('"era":"modern"');
  });
  equal(code, 0);
  match(stderr, /recorded in a\.rec\.ndjson/);
  const { events, complete } = parseRecording(readFileSync(join(cwd, "a.rec.ndjson")));
  ok(complete);
  equal(events.filter(({ k }) => k === "open").length, 2);
  ok(events.some((event) => event.k === "frame" && event.d === "<"));
});

test("inspect opens recordings without a server", async (t) => {
  const cwd = emptyFolder(t);
  const recording = new Recording();
  recording.note("a storm");
  await recording.close();
  for (const name of ["a", "b"]) writeFileSync(join(cwd, `${name}.rec.ndjson`), recording.text());
  const run = async (page: Page) => {
    await page.until('"mode":"files"');
    equal((await page.get("/recordings/1")).text, recording.text());
  };
  equal((await inspect(t, ["a.rec.ndjson", "b.rec.ndjson"], run, cwd)).code, 0);
});

test("recordings are written as one HTML file, which is not replaced unless told", async (t) => {
  const cwd = emptyFolder(t);
  const recording = new Recording();
  recording.note("a storm <b>");
  await recording.close();
  writeFileSync(join(cwd, "a.rec.ndjson"), recording.text());
  const args = ["inspect", "a.rec.ndjson", "--html", "a.html"];
  equal((await bowline(t, args, { cwd })).code, 0);
  const html = readFileSync(join(cwd, "a.html"), "utf8");
  match(html, /a storm \\u003cb>/);
  match(html, /default-src 'none'/);
  const again = await bowline(t, args, { cwd });
  deepEqual([again.code, /a\.html exists: choose another name, or pass --overwrite/.test(again.stderr)], [2, true]);
  equal((await bowline(t, [...args, "--overwrite"], { cwd })).code, 0);
});

test("a tap of a process shows the traffic, changes nothing, and ends with the server", async (t) => {
  const cwd = emptyFolder(t);
  const args = [bin, "inspect", "--tap", "--", ...harbourProgram];
  let stderr = "";
  const channel = createStdioClientChannel({
    command: process.execPath,
    args,
    cwd,
    env: { HARBOUR_TOKEN: "three-masts-in-the-bay" },
    stderr: (line) => {
      stderr += `${line}\n`;
    },
  });
  const client = await connect({ channel });
  const link = /http:\S+/.exec(stderr)?.[0] ?? "";
  const page = await new Page(link).enter();
  await client.callTool("moor", { ship: "three-masts-in-the-bay", berth: "n1" });
  await page.until('"method":"tools/call"');
  const { result } = await page.do({ do: "save", as: "recording" });
  match(result.text, /"role":"tap"/);
  ok(result.text.includes("<env:HARBOUR_TOKEN>") && !result.text.includes("three-masts-in-the-bay"));
  equal((await page.do({ do: "connect" })).ok, false);
  await client.close();
});

test("a tap before a URL listens for the application", async (t) => {
  const url = await serve(t, createHarbour());
  const { code, stderr } = await inspect(t, ["--tap", "--listen", "0", url], async (page) => {
    await page.until('"role":"tap"');
  });
  match(stderr, /The application connects to http:\/\/127\.0\.0\.1:\d+\/mcp/);
  equal(code, 0);
});

test("the address is opened in the browser of a person at a terminal, unless told", async (t) => {
  const url = await serve(t, createHarbour());
  const stop = ({ interrupt }: Running) => interrupt();
  const folder = emptyFolder(t);
  const env = { PATH: folder };
  const ran = await bowline(t, ["inspect", url], { tty: true, env, types: [[/cannot be opened/, stop]] });
  match(ran.stdout, /#token=/);
  match(ran.stderr, /The browser cannot be opened: open the address above/);
});

for (const [args, problem] of [
  [[], /needs a server or recordings/],
  [["a.rec.ndjson"], /there is no file a\.rec\.ndjson/],
  [["http://127.0.0.1:9/mcp", "more"], /unexpected argument "more"/],
  [["http://127.0.0.1:9/mcp", "--html", "a.html"], /--html is for recordings/],
  [["--tap", "--html", "a.html", "--", "node"], /--html is for recordings/],
  [["http://127.0.0.1:9/mcp", "--port", "x"], /--port must be a number from 0 to 65535/],
  [["http://127.0.0.1:9/mcp", "--eras", "both", "--era", "legacy"], /--eras both and --era contradict/],
  [["http://127.0.0.1:9/mcp", "--eras", "one"], /--eras must be both/],
  [["--tap"], /--tap needs what to stand before/],
  [["--tap", "--listen", "0", "nowhere"], /--tap --listen needs a URL/],
  [["--tap", "http://127.0.0.1:9/mcp"], /--tap needs what to stand before/],
  [["--listen", "0", "http://127.0.0.1:9/mcp"], /--listen is for --tap/],
] as const)
  test(`refuses: inspect ${args.join(" ")}`, async (t) => {
    const { code, stderr } = await bowline(t, ["inspect", ...args]);
    equal(code, 2, stderr);
    match(stderr, problem);
  });

test("a port that is taken is a mistake of the command line", async (t) => {
  const url = await serve(t, createHarbour());
  const { code, stderr } = await bowline(t, ["inspect", url, "--port", new URL(url).port]);
  equal(code, 2);
  match(stderr, /cannot listen on port \d+ \(EADDRINUSE\); choose another by --port/);
});
