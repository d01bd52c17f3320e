import { ASKING_CALLS, CALLS, NOTIFICATIONS, TOOL_CALLS, WAITING_CALLS } from "./catalogue.mjs";
import { httpStories } from "./http-stories.mjs";
import { mutate } from "./mutate.mjs";
import { ALL_CAPABILITIES, handshake, LEGACY, legacyPost, legacyRequest, modernPost } from "./requests.mjs";

/** Kinds of servers that get the whole catalogue. The others get a part of it. */
const MODERN_KINDS = ["plain", "options", "extended", "intercepted", "modern-entry", "mode-sse", "mode-json", "bare"];
const LEGACY_KINDS = ["plain", "options", "prefer-json", "no-sessions", "resumable", "extended"];
const MUTATED_KINDS = [
  "plain",
  "plain",
  "options",
  "small",
  "cors",
  "hosts",
  "gate",
  "guarded",
  "no-sessions",
  "resumable",
  "sse",
  "one-version",
  "two-versions",
  "no-capabilities",
];

/**
 * Returns the scripts of HTTP requests.
 * @param {import("./random.mjs").Random} random
 * @param {number} count number of requests with faults
 */
export function httpCorpus(random, count) {
  return [...flawless(), ...httpStories(), ...spoilt(random, count)];
}

/** Returns the catalogue as valid requests. The wire changes from request to request. */
function flawless() {
  const scenarios = [];
  const add = (name, server, steps, at) => {
    const wire = at % 9 === 4 ? "fetch" : at % 9 === 7 ? "node" : "handle";
    scenarios.push({
      name: `http ${scenarios.length} ${name}`,
      server,
      wire: steps.some(isWaiting) ? "handle" : wire,
      steps,
    });
  };
  for (const kind of MODERN_KINDS) {
    const calls =
      kind === "plain"
        ? [...CALLS, ...ASKING_CALLS, ...WAITING_CALLS]
        : [...CALLS, ...ASKING_CALLS].filter((_call, at) => at % 2 === kind.length % 2);
    calls.forEach(([method, params], at) => {
      const more = { id: at % 3 === 0 ? `id-${at}` : at, capabilities: at % 2 === 0 ? ALL_CAPABILITIES : {} };
      const talk = at % 4 === 1 ? { progressToken: `t-${at}`, "io.modelcontextprotocol/logLevel": "info" } : {};
      add(
        `modern ${method} ${params?.name ?? params?.uri ?? ""}`,
        kind,
        [modernPost(method, params, { ...more, meta: talk })],
        at,
      );
    });
  }
  LEGACY_KINDS.forEach((kind, place) => {
    const calls = [...CALLS, ...ASKING_CALLS, ...WAITING_CALLS].filter(
      (_call, at) => kind === "plain" || (at + place) % 3 === 0,
    );
    calls.forEach(([method, params], at) => {
      const version = LEGACY[(at + place) % 4];
      const withToken = at % 4 === 1 ? { ...params, _meta: { progressToken: at } } : params;
      const steps = [
        ...handshake(version, at % 2 === 0 ? ALL_CAPABILITIES : {}),
        legacyRequest(method, withToken, { id: at, version }),
      ];
      add(`${version} ${method} ${params?.name ?? params?.uri ?? ""}`, kind, steps, at);
    });
  });
  for (const [at, [method, params]] of NOTIFICATIONS.entries()) {
    const message = { jsonrpc: "2.0", method, ...(params && { params }) };
    const version = LEGACY[at % 4];
    add(
      `${version} ${method}`,
      at % 2 ? "extended" : "plain",
      [...handshake(version), legacyPost(message, { version })],
      at,
    );
    const post = modernPost(method, params ?? {});
    delete post.body.id;
    add(`modern ${method}`, at % 2 ? "extended" : "plain", [post], at);
  }
  return scenarios;
}

/**
 * True for a request that never ends by itself: a subscription, or a call of a tool that waits. Only a wire in memory
 * can tell that it waits.
 */
function isWaiting({ body }) {
  const { method, params } = body ?? {};
  const names = [...WAITING_CALLS, ...ASKING_CALLS].map(([, { name }]) => name);
  return method === "subscriptions/listen" || (method === "tools/call" && names.includes(params?.name));
}

/** Returns requests with one or two faults. */
function spoilt(random, count) {
  const calls = [...TOOL_CALLS, ...TOOL_CALLS, ...CALLS, ...ASKING_CALLS];
  const scenarios = [];
  for (let at = 0; at < count; at++) {
    const [method, params = {}] = random.pick(calls);
    const server = random.pick(MUTATED_KINDS);
    const version = random.pick(LEGACY);
    const isModern = random.chance(0.55);
    const headers = credentials(server, random);
    const capabilities = random.chance(0.5) ? ALL_CAPABILITIES : {};
    const good = isModern
      ? modernPost(method, params, { headers, capabilities, id: at })
      : legacyRequest(method, params, { version, headers, id: at });
    let step = mutate(good, random);
    if (random.chance(0.25)) step = mutate(step, random);
    const before = isModern || random.chance(0.1) ? [] : handshake(version, capabilities, headers);
    const wire = pickWire(step, random);
    scenarios.push({
      name: `http spoilt ${at} ${isModern ? "modern" : version} ${method}`,
      server,
      wire,
      steps: [...before, step],
    });
  }
  return scenarios;
}

/** Returns valid credentials for a server with a gate, most of the time. */
function credentials(server, random) {
  if (server === "gate")
    return { "x-key": random.pick(["ada", "ada", "admin", "short", "broken", "reported", undefined]) };
  if (server === "guarded")
    return {
      host: "localhost",
      authorization: `Bearer ${random.pick(["good", "good", "admin", "narrow", "old", "none"])}`,
    };
  if (server === "hosts") return { host: "api.example.com" };
  return {};
}

function pickWire(step, random) {
  const drawn = random.next();
  if (isWaiting(step) || typeof step.body !== "object" || step.method !== "POST" || step.url !== "/mcp")
    return "handle";
  return drawn < 0.12 ? "node" : drawn < 0.24 ? "fetch" : "handle";
}
