import { deepEqual, equal, ok } from "node:assert/strict";
import { InvalidTokenError, type TokenInfo } from "bowline/auth/server";
import type { GateRefusal, GateVerdict } from "bowline/server";
import { guardedEverywhere, toInfo } from "../../support/guarded.js";
import { verifies } from "../../support/verifies.js";

const ID = "hosting:auth:verdict-checked";

/** What a gate may return by mistake, with what the log says. The client learns nothing. */
const WRONG_VERDICTS: readonly (readonly [verdict: unknown, problem: string])[] = [
  [{ statusCode: 401 }, "unknown option statusCode; use status"],
  [{ code: 403, body: "no" }, "unknown option code; use status"],
  [{ status: undefined }, "status is missing"],
  [{ status: "401" }, "status must be of type number, got string"],
  [{ status: 401, header: {} }, "unknown option header; did you mean headers?"],
  [{ principle: "ada" }, "unknown option principle; did you mean principal?"],
  [{ user: "ada" }, "unknown option user"],
  [{ principal: 5 }, "principal must be of type string, got number"],
  [{ principal: null }, "principal must be of type string, got null"],
  [{ principal: "ada", lifeMs: "5000" }, "lifeMs must be of type number, got string"],
  [{ principal: "ada", lifeMs: Number.NaN }, "lifeMs must be"],
  [undefined, "must be a plain object, got undefined"],
  [null, "must be a plain object, got null"],
  [true, "must be a plain object, got boolean"],
  [[], "must be a plain object, got array"],
  [new Error("not logged in"), "must be a plain object, got Error"],
  [new Response(null, { status: 401 }), "must be a plain object, got Response"],
  [Object.create({ statusCode: 401 }), "must be a plain object, got Object"],
];

verifies(ID, "a wrong verdict admits nobody, and the log says what is wrong", guardedEverywhere, async (world) => {
  let verdict: unknown;
  const { knock, logs } = await world.guard({ http: { gate: () => verdict as GateVerdict } });
  for (const [wrong, problem] of WRONG_VERDICTS) {
    verdict = wrong;
    logs.length = 0;
    const { status, text } = await knock();
    deepEqual([status, text.includes(problem)], [500, false], problem);
    ok(/McpServer: http\.gate\(\)[: .]/.test(logs.join()) && logs.join().includes(problem), logs.join());
  }
  const absent = { auth: undefined, principal: undefined, lifeMs: undefined, headers: undefined, judge: undefined };
  const bare = Object.assign(Object.create(null), { principal: "ada" });
  for (verdict of [{}, bare, absent, { auth: { team: "a" }, principal: "ada", lifeMs: Number.POSITIVE_INFINITY }])
    equal((await knock()).status, 200);
});

verifies(ID, "what judges operations may return a refusal only", guardedEverywhere, async (world) => {
  let judged: unknown;
  const judge = () => judged as undefined;
  const { knock, logs, seen } = await world.guard({ http: { gate: () => ({ judge }) } });
  // The HTTP+SSE transport has no operation in its first request.
  if (world.transport === "sse") return equal((await knock()).status, 200);
  for (judged of [null, false, {}, { statusCode: 403 }, Promise.resolve({ status: 403 })]) {
    logs.length = 0;
    equal((await knock()).status, 500);
    ok(logs.join().includes("McpServer: http.gate().judge()"), logs.join());
  }
  deepEqual(seen, []);
  judged = { status: 403 };
  equal((await knock()).status, 403);
});

verifies(
  ID,
  "a refusal that cannot be amended stands as it is, and the log says why",
  guardedEverywhere,
  async (world) => {
    let amended: unknown;
    const amend = () => {
      if (amended instanceof Error) throw amended;
      return amended as GateRefusal;
    };
    const { knock, logs } = await world.guard({ http: { gate: () => ({ status: 403, amend }) } });
    // The first request of the HTTP+SSE transport is a GET, which has no operations to amend by.
    if (world.transport === "sse") return equal((await knock()).status, 403);
    for (const [returned, problem] of [
      [undefined, "McpServer: http.gate().amend() must be a plain object, got undefined"],
      [{ statusCode: 401 }, "McpServer: http.gate().amend(): unknown option statusCode"],
      [new Error("no scopes"), "no scopes"],
    ] as const) {
      amended = returned;
      logs.length = 0;
      equal((await knock()).status, 403);
      ok(logs.join().includes(problem), logs.join());
    }
    amended = { status: 401 };
    equal((await knock()).status, 401);
  },
);

/** What a verifier may return by mistake, beside what it must return. */
const WRONG_MEMBERS: readonly (readonly [members: object, problem: string])[] = [
  [{ expiresAt: undefined, exp: 1 }, "unknown option exp; use expiresAt"],
  [{ expiresAt: undefined, expires_at: 1 }, "unknown option expires_at; use expiresAt"],
  [{ expiresAt: undefined, expireAt: 1 }, "unknown option expireAt; did you mean expiresAt?"],
  [{ cnf: { jkt: "a" } }, "unknown option cnf; use confirmation"],
  [{ subject: undefined, sub: "ada" }, "unknown option sub; use subject"],
  [{ issuer: undefined, iss: "https://b.example" }, "unknown option iss; use issuer"],
  [{ audience: undefined, aud: "https://b.example" }, "unknown option aud; use audience"],
  [{ clientId: undefined, client_id: "c" }, "unknown option client_id; use clientId"],
  [{ scopes: undefined, scope: "a b" }, "unknown option scope; use scopes"],
  [{ scopes: "a b" }, "scopes must be of type array, got string"],
  [{ scopes: undefined }, "scopes is missing"],
  [{ token: undefined }, "token is missing"],
];

verifies(ID, "what a verifier returns in a wrong form admits nobody", guardedEverywhere, async (world) => {
  let returned: unknown;
  const verify = () => returned as TokenInfo;
  const settings = { verify, verifierChecksAudience: true };
  const { present, logs } = await world.guard({ protect: settings });
  const wrong: readonly (readonly [unknown, string])[] = [
    ...WRONG_MEMBERS.map(([members, problem]) => [{ ...toInfo("t"), ...members }, problem] as const),
    [{ active: false }, "token is missing"],
    [new InvalidTokenError("unknown"), "token is missing"],
  ];
  for (const [info, problem] of wrong) {
    returned = info;
    logs.length = 0;
    const { status, text } = await present("t");
    deepEqual([status, text.includes(problem)], [500, false], problem);
    ok(/protect: verify\(\)[: .]/.test(logs.join()) && logs.join().includes(problem), logs.join());
  }
  const claims = { exp: 1, sub: "ada", iss: "a", aud: "b", client_id: "c", scope: "d", cnf: undefined };
  for (returned of [toInfo("t"), { ...claims, ...toInfo("t"), tenant: "e" }]) equal((await present("t")).status, 200);
});
