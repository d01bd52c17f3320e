import { deepEqual, equal, match, notEqual, ok } from "node:assert/strict";
import { describe, it } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { McpServer, RpcError } from "bowline/server";
import { Recording, type RedactionOptions } from "bowline/testing";
import { frameContent } from "#src/recording/frame.js";
import { parseRecording } from "#src/recording/reader.js";
import { Redactor } from "#src/recording/redactor.js";
import { RECORDED_WIRES } from "../../support/recorded-wires.js";
import { Seeded } from "../../support/seeded.js";

const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/** Makes secrets of the forms that are recognised, and of no form, which the recorder is told or finds by their names. */
class Mint {
  readonly #random = new Seeded(20_261_119);
  /** Secrets by the way in which a recorder can know them. */
  readonly formed: string[] = [];
  readonly told: Record<string, string> = {};
  readonly named: string[] = [];

  word(length: number): string {
    return Array.from({ length }, () => LETTERS[this.#random.below(LETTERS.length)]).join("");
  }

  /** A secret that its form tells. */
  form(): string {
    const forms = [
      () => `eyJ${this.word(20)}.eyJ${this.word(40)}.${this.word(43)}`,
      () => `ghp_${this.word(36)}`,
      () => `github_pat_${this.word(30)}`,
      () => `glpat-${this.word(20)}`,
      () => `sk-${this.word(40)}`,
      () => `sk_live_${this.word(24)}`,
      () => `AKIA${this.word(16).toUpperCase()}`,
      () => `AIza${this.word(35)}`,
      () => `xoxb-${this.word(12)}-${this.word(24)}`,
      () => `npm_${this.word(36)}`,
      () => `ntn_${this.word(46)}`,
      () => `hf_${this.word(34)}`,
      () => `SG.${this.word(22)}.${this.word(43)}`,
      () => `ya29.${this.word(60)}`,
    ];
    const secret = (forms[this.formed.length % forms.length] as () => string)();
    this.formed.push(secret);
    return secret;
  }

  /** A value of the environment, which the recorder is told. */
  tell(): string {
    const secret = this.word(9 + this.#random.below(30));
    this.told[`SECRET_${Object.keys(this.told).length}`] = secret;
    return secret;
  }

  /** A secret that its name tells. */
  name(): string {
    const secret = `${this.word(5)} ${this.word(6)}-${this.word(4)}/ü`;
    this.named.push(secret);
    return secret;
  }

  get all(): readonly string[] {
    return [...this.formed, ...Object.values(this.told), ...this.named];
  }
}

const base64 = (text: string) => Buffer.from(text).toString("base64");
const base64url = (text: string) => Buffer.from(text).toString("base64url");

/** Fails if a text has a secret, in any of the ways in which one may be written. */
function assertClean(text: string, secrets: readonly string[]): void {
  const flat = text.replaceAll("\\", "");
  const decoded = text.replace(/[A-Za-z0-9+/_-]{10,}={0,2}/g, (run) =>
    [0, 1, 2, 3].map((from) => Buffer.from(run.slice(from), "base64").toString()).join(" "),
  );
  for (const secret of secrets) {
    const ways = [secret, encodeURIComponent(secret), base64(secret).replace(/=+$/, ""), base64url(secret)];
    for (const way of ways)
      for (const place of [text, flat, decoded]) ok(!place.includes(way), `${secret} as ${way}: ${around(place, way)}`);
  }
}

const silent = { error: () => {}, warn: () => {} };

/** Returns what stands around a text. */
function around(place: string, text: string): string {
  const at = place.indexOf(text);
  return place.slice(Math.max(0, at - 100), at + text.length + 40);
}

/** Server that hands back what it gets, in each part of a result and of an error. */
function leaky(plant: (n: number) => string): McpServer {
  const server = new McpServer({ name: "leaky", version: "1.0.0" }, { logger: silent });
  server.tool("echo", async (_args, ctx) => {
    await ctx.progress(1, 2, `using ${plant(0)}`);
    const structured = { nested: [{ note: `got ${plant(1)} here` }], text: JSON.stringify({ deep: plant(2) }) };
    return {
      content: [
        { type: "text", text: `the key is ${plant(3)}.` },
        { type: "text", text: `blob ${base64(`a ${plant(4)} b`)}` },
        { type: "text", text: `https://example.com/x?q=${encodeURIComponent(plant(5))}&r=1` },
        { type: "resource", resource: { uri: "note://a", blob: base64(`${plant(6)} in a file`) } },
        { type: "text", text: `${base64url(plant(7))}` },
      ],
      structuredContent: structured,
      _meta: { "example.com/trace": plant(8) },
    };
  });
  server.tool("fail", () => {
    throw new RpcError(1234, `refused with ${plant(9)}`, { detail: plant(10) });
  });
  return server;
}

for (const wire of RECORDED_WIRES)
  it(`200 planted secrets are not found in a recording over ${wire.name}`, async (t) => {
    const mint = new Mint();
    const formed = Array.from({ length: 100 }, () => mint.form());
    const told = Array.from({ length: 60 }, () => mint.tell());
    const named = Array.from({ length: 40 }, () => mint.name());
    equal(mint.all.length, 200);
    let next = 0;
    const unnamed = [...formed, ...told];
    /** Hands out all secrets that need no name, again and again. */
    const plant = () => unnamed[next++ % unnamed.length] as string;

    const server = leaky(plant);
    t.after(() => server.close());
    const recording = new Recording({ redaction: { values: mint.told } });
    const written: string[] = [];
    recording.subscribe((event) => written.push(JSON.stringify(event)));
    const client = await wire.connect(server, recording, {
      headers: { authorization: `Bearer ${formed[0]}`, "x-api-key": named[0] as string, cookie: `a=${formed[1]}` },
      logger: silent,
    });
    const names = ["password", "api_key", "apiKey", "clientSecret", "X-Auth-Token", "private-key", "credentials"];
    for (let round = 0; round < 30; round++) {
      const secret = (offset: number) => named[(round * 3 + offset) % named.length] as string;
      await client.callTool(
        "echo",
        {
          text: `use ${plant()}`,
          encoded: base64(`x:${plant()}`),
          [names[round % names.length] as string]: secret(0),
          inner: { credential: { user: secret(1), list: [secret(2)] } },
          json: JSON.stringify({ password: secret(0) }),
          query: `https://a.example/?access_token=${encodeURIComponent(secret(1))}&code=${plant()}`,
          [plant()]: 1,
        },
        { onProgress: () => {} },
      );
      await client.callTool("fail").catch(() => {});
    }
    const connection = recording.connection({
      wire: "stdio",
      role: "tap",
      server: { command: "node", args: ["server.js", "--token", named[0] as string, `--key=${formed[2]}`] },
    });
    for (const secret of mint.all) {
      connection.stderr(`warning: ${secret} and ${base64(secret)} and token=x`);
      connection.noise(`DEBUG ${secret}`);
      connection.frame("<", `{ "not": "as JavaScript writes it", "a": ${JSON.stringify(secret)} }`);
    }
    const exchange = connection.exchange(
      "GET",
      `/mcp?api_key=${encodeURIComponent(named[1] as string)}&x=${formed[3]}`,
      {
        "mcp-param-key": `=?base64?${base64(told[0] as string)}?=`,
        "x-unknown": told[1] as string,
      },
    );
    exchange.response(401, {
      "www-authenticate": `Bearer realm="a", nonce="${formed[4]}"`,
      "set-cookie": `s=${told[2]}`,
    });
    exchange.end("lost", `cannot reach https://user:${told[3]}@example.com/`);
    await client.close();
    await recording.close();

    const text = recording.text();
    for (const place of [text, written.join("\n")]) assertClean(place, mint.all);
    ok(parseRecording(text).complete);
    ok(
      (recording.redacted.env ?? 0) === 60 && (recording.redacted.secret ?? 0) >= 40,
      JSON.stringify(recording.redacted),
    );
    ok(next > unnamed.length, "every secret was planted");
  });

describe("redaction", () => {
  const redact = (value: unknown, options?: RedactionOptions) => new Redactor(options).message(value);

  it("gives equal values the same pseudonym, and leaves pseudonyms as they are", () => {
    const redactor = new Redactor();
    const first = redactor.message({ password: "tide-4711-a", note: "and tide-4711-a again" });
    deepEqual(first, { password: "<secret:1>", note: "and <secret:1> again" });
    deepEqual(redactor.message(first), first);
    deepEqual(redactor.message({ password: "other-4711-a" }), { password: "<secret:2>" });
  });

  it("keeps bearer values of the protocol consistent, so that a replay can send them", () => {
    const redactor = new Redactor();
    const asked = redactor.message({ result: { resultType: "input_required", requestState: "sealed" } });
    const again = redactor.message({ params: { requestState: "sealed" } });
    deepEqual(
      [asked, again],
      [
        { result: { resultType: "input_required", requestState: "<state:1>" } },
        { params: { requestState: "<state:1>" } },
      ],
    );
    const session = redactor.headers({ "mcp-session-id": "s-1" });
    deepEqual(
      [session, redactor.headers({ "mcp-session-id": "s-1", "mcp-method": "ping" })],
      [{ "mcp-session-id": "<session:1>" }, { "mcp-session-id": "<session:1>", "mcp-method": "ping" }],
    );
  });

  it("leaves messages without secrets as they are", () => {
    for (const message of [
      {
        jsonrpc: "2.0",
        id: 1,
        method: "tools/call",
        params: { name: "moor", arguments: { berth: "n1" }, _meta: { progressToken: "t-1" } },
      },
      {
        inputSchema: {
          type: "object",
          properties: { password: { type: "string", description: "a password" }, token: { type: "string" } },
          required: ["password"],
        },
      },
      { maxTokens: 100, usage: { inputTokens: 4, totalTokens: 9 }, tokens: 12, token_type: "Bearer" },
      { text: "Bearer authentication is required; the basic knowledge is code=1 in a state: open" },
      {
        icon: `data:image/png;base64,${Buffer.from([137, 80, 78, 71, 13, 10, 26, 10, 0, 255, 1, 2, 3, 4]).toString("base64")}`,
      },
      {
        protocolVersion: "2025-11-25",
        cursor: "b2Zmc2V0OjEw",
        taskId: "7f3a-7f3a-7f3a",
        error: { code: -32_602, message: "no such tool" },
      },
    ])
      equal(redact(message), message, JSON.stringify(redact(message)));
  });

  it("replaces what the options name, and keeps what they keep", () => {
    const message = { params: { arguments: { pin: 1234, berth: "n1", apiKey: "abc" }, token: "x1" } };
    deepEqual(redact(message, { redact: ["PIN", "/params/arguments/berth"], keep: ["api-key", "/params/token"] }), {
      params: { arguments: { pin: "<secret:1>", berth: "<secret:2>", apiKey: "abc" }, token: "x1" },
    });
  });

  it("keeps base64 decodable", () => {
    const blob = base64(`\u00ff key ${"x".repeat(3)} ghp_${"a1".repeat(18)} end`);
    const { blob: redacted } = redact({ blob }) as { blob: string };
    match(Buffer.from(redacted, "base64").toString(), /key xxx <key:1> end/);
    notEqual(redacted, blob);
  });

  it("survives messages that are nested too deeply", () => {
    const deep = `${"[".repeat(50_000)}${"]".repeat(50_000)}`;
    const content = frameContent(deep, new Redactor());
    ok("m" in content && JSON.stringify(content.m).includes("<depth:1>"));
    const recording = new Recording({ redaction: false });
    recording.connection({ wire: "memory", role: "tap" }).frame("<", deep);
    ok((recording.events[1] as { raw?: string }).raw === deep);
  });

  it("forgets the oldest pseudonym at its limit, and never repeats a number", () => {
    const redactor = new Redactor({}, { maxPseudonyms: 2 });
    const name = (state: string) =>
      (redactor.message({ requestState: state }) as { requestState: string }).requestState;
    deepEqual(["a", "b", "c", "c", "a"].map(name), ["<state:1>", "<state:2>", "<state:3>", "<state:3>", "<state:4>"]);
  });

  it("tells in the header how a recording was redacted, and never a value", () => {
    const recording = new Recording({ redaction: { values: { A: "secret-value" }, redact: ["pin"], keep: ["note"] } });
    deepEqual(recording.header.redaction, { profile: "default", redact: ["pin"], keep: ["note"] });
    ok(!recording.text().includes("secret-value"));
    equal(new Recording({ redaction: false }).header.redaction.profile, "off");
  });
});

it("frames that are added by hand are redacted, as JSON and as other text", () => {
  const recording = new Recording();
  recording.add({ k: "frame", c: 1, d: "<", m: { result: { password: "hunter2-hunter2" } } });
  recording.add({ k: "frame", c: 1, d: "<", raw: '{ "password": "hunter2-hunter2" }' });
  recording.add({ k: "frame", c: 1, d: ">", m: { id: 1 } });
  const text = recording.text();
  ok(!text.includes("hunter2"), text);
  ok(text.includes('"m":{"id":1}'), text);
});

it("long secrets of a stranger fill no memory, and keep their pseudonyms", () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const redactor = new Redactor();
  const secret = (number: number, length: number) => ({ password: `${number}-`.padEnd(length, "secret") });
  collect();
  const before = process.memoryUsage().heapUsed;
  for (let number = 0; number < 300; number++) redactor.message(secret(number, 100_000));
  for (let number = 0; number < 500; number++) redactor.message(secret(number, 4_000));
  collect();
  const { heapUsed } = process.memoryUsage();
  ok(heapUsed - before < 40_000_000, `${heapUsed - before} bytes`);
  deepEqual(redactor.message(secret(7, 100_000)), { password: "<secret:8>" });
});

it("long values of the user are found", () => {
  const value = "0123456789abcdef".repeat(1_000);
  const redactor = new Redactor({ values: { KEY: value } });
  deepEqual(redactor.message({ text: `a ${value} b` }), { text: "a <env:KEY> b" });
});

it("a text that nearly has secrets is searched in a time that grows with its length", () => {
  const redactor = new Redactor();
  for (const part of [
    "eyJ",
    "eyJabcdef.eyJa-",
    'a="',
    "password: ",
    "a://",
    "Bearer ",
    "-----BEGIN PRIVATE KEY-----",
  ]) {
    // Work that grows with the square takes minutes.
    const text = part.repeat(1_000_000 / part.length);
    const began = process.cpuUsage();
    redactor.text(text);
    const { user } = process.cpuUsage(began);
    ok(user < 5_000_000, `${part} took ${user} us`);
  }
});

describe("redaction finds secrets in places that are easily missed:", () => {
  const told = "s3cr3t-Value/xyz+1234567";
  const key = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";
  const named = "hunter2hunter2";
  const inLines = (text: string, end: string) => base64(text).replace(/.{76}/g, `$&${end}`);
  const places: Readonly<Record<string, readonly [secret: string, message: object]>> = {
    "base64 in base64": [key, { text: base64(base64(`user:${key}`)) }],
    "base64 in lines": [told, { text: inLines(`${"x".repeat(50)}${told}${"y".repeat(50)}`, "\r\n") }],
    "base64 of a key in lines": [key, { text: inLines(`${"x".repeat(50)}${key}${"y".repeat(50)}`, "\n") }],
    "base64 of bytes": [key, { blob: base64(`\u0000\u0001${key}`) }],
    "hexadecimal digits": [told, { text: Buffer.from(told).toString("hex") }],
    "lower-case escapes of a URL": [told, { text: "s3cr3t-Value%2fxyz%2b1234567" }],
    "twice encoded in a URL": [told, { text: encodeURIComponent(encodeURIComponent(told)) }],
    "an escaped slash in JSON": [told, { text: `{"a":"${told.replaceAll("/", "\\/")}"}` }],
    "a name with its value": [named, { env: [{ name: "API_KEY", value: named }] }],
    "a key with its value": [named, { variables: [{ key: "DB_PASSWORD", value: named }] }],
    "pairs of headers": [named, { headers: [["authorization", named]] }],
    "the next level of YAML": [named, { text: `db:\n  password: ${named}\n` }],
    "a value within a quoted value": [named, { text: `{"env":"password=${named}"}` }],
    "an option of an option": [named, { text: `docker run --env=API_KEY=${named}` }],
    "an element of XML": [named, { text: `<soap:password>${named}</soap:password>` }],
    "a URL in upper case": [named, { text: `HTTPS://joe:${named}@db/x` }],
    "the user of a URL": [named, { text: `https://${named}@example.com/x` }],
    "Basic without digits": ["QWxhZGRpbjpvcGVu", { text: "Basic QWxhZGRpbjpvcGVu" }],
  };
  for (const [place, [secret, message]] of Object.entries(places))
    it(place, () => {
      const redactor = new Redactor({ values: { KEY: told } });
      const text = JSON.stringify(redactor.message(message));
      assertClean(text, [secret]);
      const decoded = text
        .replace(/\\+[rn]/g, "")
        .replace(/[A-Za-z0-9+/]{16,}={0,2}/g, (run) => Buffer.from(run, "base64").toString("latin1"));
      const twice = decoded.replace(/[A-Za-z0-9+/]{16,}={0,2}/g, (run) => Buffer.from(run, "base64").toString());
      const hex = Buffer.from(text.replace(/[^0-9a-f]/g, ""), "hex").toString();
      const unescaped = decodeURIComponent(decodeURIComponent(text));
      for (const way of [decoded, twice, hex, unescaped]) ok(!way.includes(secret), way);
      deepEqual(Object.values(redactor.counts), [1]);
    });

  it("and leaves what only looks like them", () => {
    const lines = ["ABCDEFGHIJKLMNOP".repeat(4), "ABCDEFGHIJKLMNOP".repeat(4), "the end"].join("\n");
    const harmless = {
      required: ["password", "username"],
      text: "Basic authentication needs a user. key: value, mode: dark",
      lines,
      url: "https://joe@example.com/x",
      option: { name: "colour", value: "green" },
      image: base64("\u0089PNG\u0000\u0001=token"),
    };
    const redactor = new Redactor();
    deepEqual([redactor.message(harmless), redactor.counts], [harmless, {}]);
  });
});
