import { deepEqual, equal, match, ok } from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { McpServer } from "bowline/server";
import { bowline, documentOf, emptyFolder } from "../../support/command.js";
import { gate } from "../../support/gate.js";
import { createHarbour, serve, WIRES } from "../../support/harbour.js";

for (const { name, place } of WIRES) {
  test(`${name}: a call prints its result, and its progress line by line in a pipe`, async (t) => {
    const ran = await bowline(t, await place(t, ["call", "moor", "--ship", "Maria", "--berth", "n1"]));
    equal(ran.code, 0, ran.stderr);
    deepEqual(JSON.parse(ran.stdout), { ship: "Maria", berth: "n1", lines: 4 });
    match(ran.stderr, /1\/4 line 1 made fast .*\n[\s\S]*4\/4 line 4 made fast/);
    ok(!ran.stderr.includes("\u001b"), "a pipe gets plain text");
  });

  test(`${name}: a call asks on a terminal, and redraws one line for its progress`, async (t) => {
    const asked = await bowline(t, await place(t, ["call", "cast-off", "--berth", "n1"]), {
      tty: true,
      types: [
        [/sure \(y\/n\): /, "maybe\n"],
        [/must be y or n[\s\S]*sure \(y\/n\): /, "y\n"],
      ],
    });
    equal(asked.code, 0, asked.stderr);
    equal(asked.stdout, "nothing is off\n");
    equal(asked.stderr.match(/maybe/g)?.length, 1, "what is typed is shown once");
    ok(!asked.stderr.includes("yy"));
    match(asked.stderr, /harbour asks:.* Let nothing go from n1\?/);

    const moored = await bowline(t, await place(t, ["call", "moor", "--ship", "Maria", "--berth", "n1"]), {
      tty: true,
    });
    equal(moored.code, 0, moored.stderr);
    match(moored.stderr.replaceAll("\u001b", "ESC"), /\rESC\[K[█░]{12} \d\/4 line \d made fast/);
    ok(moored.stderr.endsWith("\r\u001b[K"), "the line is cleared at the end");
  });

  test(`${name}: --json prints one document`, async (t) => {
    const ran = await bowline(
      t,
      await place(t, ["call", "moor", "--ship", "Maria", "--berth", "n1", "--json", "--quiet"]),
    );
    const { ok: isOk, result, server } = documentOf(ran, "outcome");
    deepEqual([isOk, (result as { structured: object }).structured], [true, { ship: "Maria", berth: "n1", lines: 4 }]);
    equal(server.name, "harbour");
    equal(ran.stderr, "");
  });
}

for (const era of ["auto", "legacy"]) {
  test(`${era}: Ctrl-C cancels the call on the server, and ends with 130`, async (t) => {
    const cancelled = gate();
    const url = await serve(
      t,
      createHarbour(() => cancelled.open()),
    );
    const ran = await bowline(t, ["call", url, "sound-the-horn", "--era", era], {
      types: [[/1 toot/, ({ interrupt }) => interrupt()]],
    });
    equal(ran.code, 130);
    match(ran.stderr, /interrupted by SIGINT/);
    await cancelled.opened;
  });

  test(`${era}: Ctrl-C at a question cancels the call`, async (t) => {
    const url = await serve(t, createHarbour());
    const ran = await bowline(t, ["call", url, "cast-off", "--berth", "n1", "--era", era], {
      tty: true,
      types: [[/sure \(y\/n\): /, "\u0003"]],
    });
    equal(ran.code, 130, ran.stderr);
  });

  test(`${era}: Ctrl-D declines a question`, async (t) => {
    const url = await serve(t, createHarbour());
    const ran = await bowline(t, ["call", url, "cast-off", "--berth", "n1", "--era", era], {
      tty: true,
      types: [[/sure \(y\/n\): /, "\u0004"]],
    });
    deepEqual([ran.code, ran.stdout], [0, "nothing stays\n"]);
  });

  test(`${era}: answers of the command line are used, and a question without one ends with 8`, async (t) => {
    const url = await serve(t, createHarbour());
    const cast = (...more: string[]) => bowline(t, ["call", url, "cast-off", "--berth", "n1", "--era", era, ...more]);
    equal((await cast("--answer", "sure=true")).stdout, "nothing is off\n");
    equal((await cast("--answer", "sure=no")).stdout, "nothing stays\n");
    equal((await cast("--decline-all")).stdout, "nothing stays\n");

    const open = await cast();
    equal(open.code, 8);
    match(open.stderr, /--answer sure=<value>/);
    match(open.stderr, /"message":"Let nothing go from n1\?"/);
    const told = documentOf(await cast("--json"));
    equal(told.error.code, "question");
    equal((told.error.question as { message: string }).message, "Let nothing go from n1?");
    equal((await cast("--accept-all")).code, 8, "a field that must be answered has no default");

    const wrong = await cast("--answer", "sure=perhaps");
    deepEqual([wrong.code, /--answer sure: must be y or n/.test(wrong.stderr)], [2, true]);
    const unused = await cast("--answer", "sure=true", "--answer", "sur=true");
    match(unused.stderr, /Nothing asked for: --answer sur/);
  });
}

test("answers of a file are taken in order", async (t) => {
  const folder = emptyFolder(t);
  writeFileSync(join(folder, "answers.json"), '[{ "sure": true }]');
  const url = await serve(t, createHarbour());
  const cast = () =>
    bowline(t, ["call", url, "cast-off", "--berth", "n1", "--answers", "answers.json"], { cwd: folder });
  equal((await cast()).stdout, "nothing is off\n");
  writeFileSync(join(folder, "answers.json"), "[]");
  const none = await cast();
  deepEqual([none.code, /no more answers/.test(none.stderr)], [8, true]);
});

test("a misspelt tool is suggested and not called", async (t) => {
  let calls = 0;
  const url = await serve(
    t,
    new McpServer({ name: "a", version: "1" }).tool("moor", () => `${++calls}`),
  );
  const ran = await bowline(t, ["call", url, "mor"]);
  deepEqual([ran.code, ran.stdout, calls], [2, "", 0]);
  match(ran.stderr, /^bowline: no tool "mor"; did you mean "moor"\? There are: moor\n$/);
});

test("arguments that do not match the schema are not sent, unless --no-check says so", async (t) => {
  let calls = 0;
  const server = new McpServer({ name: "a", version: "1" }).tool(
    "set",
    {
      input: {
        type: "object",
        properties: { level: { type: "integer", maximum: 5 }, name: { type: "string" } },
        required: ["level"],
      },
    },
    () => `${++calls}`,
  );
  const url = await serve(t, server);
  const high = await bowline(t, ["call", url, "set", "--level", "9"]);
  deepEqual([high.code, calls], [2, 0]);
  match(high.stderr, /do not match the tool set, and nothing was called: --level /);
  const missing = await bowline(t, ["call", url, "set", "--name", "x", "--json"]);
  const { error } = documentOf(missing);
  deepEqual([missing.code, error.code, (error.issues as { path: string }[])[0]?.path], [2, "usage", "/level"]);
  equal((await bowline(t, ["call", url, "set", "--level", "3"])).stdout, "1\n");
  equal((await bowline(t, ["call", url, "set", "--level", "9", "--no-check"])).code, 5, "the server refuses it");
});

test("images are named, and --out saves them under names that the server does not choose", async (t) => {
  const server = new McpServer({ name: "a", version: "1" }).tool("draw", () => ({
    content: [
      { type: "text", text: "done" },
      { type: "image", mimeType: "image/png", data: Buffer.from("picture").toString("base64") },
      { type: "resource", resource: { uri: "file:///x/../../.profile", text: "evil" } },
    ],
  }));
  const url = await serve(t, server);
  const plain = await bowline(t, ["call", url, "draw"]);
  equal(plain.stdout, "done\n[image image/png, 7 bytes; --out <folder> saves it]\nevil\n");
  const folder = emptyFolder(t);
  const saved = await bowline(t, ["call", url, "draw", "--out", "pictures"], { cwd: folder });
  equal(saved.stdout, "done\n");
  equal(readFileSync(join(folder, "pictures/2-image.png"), "utf8"), "picture");
  ok(existsSync(join(folder, "pictures/3-profile")));
  const again = await bowline(t, ["call", url, "draw", "--out", "pictures"], { cwd: folder });
  deepEqual([again.code, /exists already/.test(again.stderr)], [2, true]);
});

test("help of a tool lists its parameters", async (t) => {
  const url = await serve(t, createHarbour());
  const ran = await bowline(t, ["call", url, "moor", "--help"]);
  equal(ran.code, 0);
  match(
    ran.stdout,
    /^moor: Bring a ship to a berth\nharbour 1\.0\.0, about \d+ tokens\n {2}--ship <text> +required; Name of the ship\n/,
  );
  match(ran.stdout, /Returns \{ ship: string, berth: string, lines: number \}\nHints of the server: only adds\.\n/);
  documentOf(await bowline(t, ["call", url, "moor", "--help", "--json"]), "tool");
});

test("all kinds of fields are asked, with defaults, choices and checks", async (t) => {
  const asked = gate<unknown>();
  const server = new McpServer({ name: "form", version: "1" }).tool("ask", async (_, ctx) => {
    const answer = await ctx.elicit("Fill in", {
      type: "object",
      properties: {
        name: { type: "string", title: "Your name", minLength: 2 },
        age: { type: "integer", minimum: 0, maximum: 150 },
        berth: { type: "string", enum: ["n1", "n2"] },
        flags: { type: "array", items: { type: "string", enum: ["a", "b", "c"] } },
        when: { type: "string", format: "date" },
        loud: { type: "boolean", default: true },
        note: { type: "string" },
      },
      required: ["name", "age", "berth", "flags", "when"],
    });
    asked.open(answer);
    return "thanks";
  });
  const url = await serve(t, server);
  const ran = await bowline(t, ["call", url, "ask"], {
    tty: true,
    types: [
      [/Your name: /, "A\n"],
      [/must have at least 2 characters[\s\S]*Your name: /, "Ada\n"],
      [/age \(0 to 150\): /, "200\n"],
      [/must be at most 150[\s\S]*age .*: /, "36\n"],
      [/1\) n1[\s\S]*2\) n2[\s\S]*berth: /, "2\n"],
      [/flags .*: /, "a, 3\n"],
      [/when \(YYYY-MM-DD\): /, "soon\n"],
      [/must have the format date[\s\S]*when .*: /, "2026-02-01\n"],
      [/loud \(y\/n\) \[y\]: /, "\n"],
      [/note \(optional\): /, "\n"],
    ],
  });
  equal(ran.stdout, "thanks\n", ran.stderr);
  deepEqual(await asked.opened, {
    action: "accept",
    content: { name: "Ada", age: 36, berth: "n2", flags: ["a", "c"], when: "2026-02-01", loud: true },
  });
});

test("a URL question shows host and URL, and opens nothing after n", async (t) => {
  const asked = gate<unknown>();
  const server = new McpServer({ name: "pay", version: "1" }).tool("ask", async (_, ctx) => {
    asked.open(await ctx.elicitUrl("Pay here", "https://pay.example.com/x?y=1"));
    return "thanks";
  });
  const url = await serve(t, server);
  const ran = await bowline(t, ["call", url, "ask"], {
    tty: true,
    types: [[/host +pay\.example\.com\n +URL +https:\/\/pay\.example\.com\/x\?y=1\n.*\(y\/n\) /, "n\n"]],
  });
  equal(ran.stdout, "thanks\n", ran.stderr);
  equal(((await asked.opened) as { action: string }).action, "decline");
});

test("a person plays the model on a terminal, or in a file of answers", async (t) => {
  const folder = emptyFolder(t);
  writeFileSync(join(folder, "answers.json"), '[{ "reply": "From the file" }]');
  const server = new McpServer({ name: "poet", version: "1" }).tool("ask", async (_, ctx) => {
    const { content } = await ctx.sample({
      messages: [{ role: "user", content: { type: "text", text: "A line?" } }],
      maxTokens: 20,
    });
    return (content as { text: string }).text;
  });
  const url = await serve(t, server);
  const typed = await bowline(t, ["call", url, "ask"], {
    tty: true,
    types: [
      [/user {2}A line\?[\s\S]*> /, "One\n"],
      [/> /, "Two\n"],
      [/> /, "\n"],
    ],
  });
  equal(typed.stdout, "One\nTwo\n", typed.stderr);
  equal(
    (await bowline(t, ["call", url, "ask", "--answers", "answers.json"], { cwd: folder })).stdout,
    "From the file\n",
  );
  const none = await bowline(t, ["call", url, "ask"]);
  ok(none.code === 8 || none.code === 5, `without a person: ${none.code} ${none.stderr}`);
});
