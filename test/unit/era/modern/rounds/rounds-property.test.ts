import { deepEqual, equal, ok } from "node:assert/strict";
import { test } from "node:test";
import { type ClientOptions, connect } from "bowline/client";
import { type Context, McpServer } from "bowline/server";
import fc from "fast-check";

/** What a handler does at one place. */
type Move = "step" | "elicit" | "sample" | "roots";
/** Moves one after the other; those of one list at once. */
type Program = readonly (readonly Move[])[];
/** How often each round of a call is delivered, in turn: a retry whose first answer got lost is a second delivery. */
type Deliveries = readonly number[];

const stateKeys = [{ id: "shared", secret: new Uint8Array(32).fill(3) }];
const form = { type: "object", properties: { said: { type: "string" } } } as const;

const moves = fc.constantFrom<Move>("step", "elicit", "sample", "roots");
const programs = fc.array(fc.array(moves, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 5 });
const deliveries = fc.array(fc.integer({ min: 1, max: 3 }), { minLength: 1, maxLength: 6 });

/** Which rounds each step ran in. */
type Runs = Map<string, string[]>;

async function perform(program: Program, ctx: Context, runs: Runs): Promise<string> {
  const outcomes: unknown[] = [];
  const round = ctx.header("x-round") ?? "only";
  const make = (move: Move, name: string): Promise<unknown> => {
    if (move === "elicit") return ctx.elicit(name, form);
    if (move === "roots") return ctx.listRoots();
    if (move === "step") {
      return ctx.step(name, async () => {
        runs.set(name, [...(runs.get(name) ?? []), round]);
        return `made ${name}`;
      });
    }
    return ctx.sample({ messages: [{ role: "user", content: { type: "text", text: name } }], maxTokens: 9 });
  };
  for (const [place, together] of program.entries()) {
    outcomes.push(await Promise.all(together.map((move, at) => make(move, `${place}.${at}`))));
  }
  return JSON.stringify(outcomes);
}

const answers: ClientOptions = {
  onElicit: ({ message }) => ({ action: "accept", content: { said: `answer to ${message}` } }),
  onSample: ({ messages }) => ({
    role: "assistant",
    model: "m",
    content: { type: "text", text: JSON.stringify(messages) },
  }),
  roots: [{ uri: "file:///quay", name: "quay" }],
};

function serving(program: Program, runs: Runs): McpServer {
  return new McpServer({ name: "harbour", version: "1" }, { stateKeys }).tool("perform", {}, (_, ctx) =>
    perform(program, ctx, runs),
  );
}

/** One call whose rounds go to two servers in turn, each as often as told; all answers but the last get lost. */
async function inRounds(program: Program, times: Deliveries) {
  const runs: Runs = new Map();
  const servers = [serving(program, runs), serving(program, runs)] as const;
  const delivered: number[] = [];
  let turn = 0;
  const fetch = async (url: URL, init: RequestInit): Promise<Response> => {
    const isCall = String(init.body).includes('"tools/call"');
    const copies = isCall ? (times[delivered.length % times.length] ?? 1) : 1;
    const headers = new Headers(init.headers);
    if (isCall) headers.set("x-round", String(delivered.push(copies) - 1));
    let response: Response | undefined;
    for (let copy = 0; copy < copies; copy++) {
      await response?.text();
      response = await (turn++ % 2 === 0 ? servers[0] : servers[1]).fetch(new Request(url, { ...init, headers }));
    }
    return response as Response;
  };
  const client = await connect("http://localhost/mcp", { ...answers, era: "modern", fetch });
  const { text, isError } = await client.callTool("perform");
  await client.close();
  await Promise.all(servers.map((server) => server.close()));
  return { text, isError, runs, delivered };
}

/** One call in one session. */
async function inSession(program: Program) {
  const runs: Runs = new Map();
  const server = serving(program, runs);
  const fetch = (url: URL, init: RequestInit) => server.fetch(new Request(url, init));
  const client = await connect("http://localhost/mcp", { ...answers, era: "legacy", fetch });
  const { text, isError } = await client.callTool("perform");
  await client.close();
  await server.close();
  return { text, isError, runs };
}

const stepsOf = (program: Program): string[] =>
  program.flatMap((together, place) => together.flatMap((move, at) => (move === "step" ? [`${place}.${at}`] : [])));

test("a handler comes to the same result in both eras, and each of its steps runs once", async () => {
  await fc.assert(
    fc.asyncProperty(programs, async (program) => {
      const rounds = await inRounds(program, [1]);
      const session = await inSession(program);
      ok(rounds.isError !== true && session.isError !== true, rounds.text);
      deepEqual(JSON.parse(rounds.text), JSON.parse(session.text));
      for (const { runs } of [rounds, session]) {
        deepEqual([...runs.keys()].sort(), stepsOf(program).sort());
        for (const [step, ran] of runs) equal(ran.length, 1, step);
      }
    }),
    { numRuns: 40 },
  );
});

// A first request brings no state by which another delivery of it could be known. Later rounds run once on each server, which
// remembers the states that it was given. What an earlier round did is never done again.
test("a round that is delivered again to the same server runs once, and the result is the same", async () => {
  await fc.assert(
    fc.asyncProperty(programs, deliveries, async (program, times) => {
      const { text, isError, runs, delivered } = await inRounds(program, times);
      ok(isError !== true, text);
      equal(text, (await inRounds(program, [1])).text);
      deepEqual([...runs.keys()].sort(), stepsOf(program).sort());
      for (const [step, ran] of runs) {
        const [round = ""] = ran;
        const copies = delivered[Number(round)] ?? 0;
        deepEqual(ran, Array(round === "0" ? copies : Math.min(copies, 2)).fill(round), step);
      }
    }),
    { numRuns: 40 },
  );
});
