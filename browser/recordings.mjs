const HEADER = {
  mcpRecording: 1,
  by: "bowline",
  at: "2026-01-05T09:00:00.000Z",
  unit: "us",
  redaction: { profile: "default" },
};

/** Writes lines as a recording. */
export function recordingOf(name, events) {
  return { name, text: [HEADER, ...events].map((line) => JSON.stringify(line)).join("\n") };
}

const ms = 1000;

/** A working day of a harbour: each kind of line, with times that do not change, so that pictures are comparable. */
export function harbourDay(name = "harbour.rec.ndjson", version = "2026-07-28") {
  const isAsking = version > "2026";
  const events = [
    { t: 300, k: "open", c: 1, wire: "http", role: "client", server: { url: "http://127.0.0.1:4100/mcp" } },
  ];
  let x = 0;
  const meta = {
    "io.modelcontextprotocol/protocolVersion": version,
    "io.modelcontextprotocol/clientInfo": { name: "bowline", version: "0.1.0" },
  };
  const post = (t, id, method, params = {}) => {
    x += 1;
    const headers = {
      accept: "application/json, text/event-stream",
      authorization: "<bearer:1>",
      "content-type": "application/json",
      "mcp-method": method,
      "mcp-protocol-version": version,
    };
    events.push({ t, k: "request", c: 1, x, method: "POST", path: "/mcp", headers });
    events.push({
      t: t + 90,
      k: "frame",
      c: 1,
      d: ">",
      x,
      m: { jsonrpc: "2.0", id, method, params: { ...params, _meta: { ...meta, ...params._meta } } },
    });
    return x;
  };
  const say = (t, own, message) =>
    events.push({ t, k: "frame", c: 1, d: "<", x: own, m: { jsonrpc: "2.0", ...message } });
  const end = (t, own, id, result, error) => {
    say(t, own, { id, ...(error ? { error } : { result: { ...result, resultType: "complete" } }) });
    events.push({ t: t + 100, k: "end", c: 1, x: own, by: "server" });
  };
  const head = (t, own, status = 200, type = "application/json") =>
    events.push({ t, k: "response", c: 1, x: own, status, headers: { "content-type": type } });

  for (const [step, url, status, at, us] of [
    ["challenge", "http://127.0.0.1:4100/mcp", 401, 31, 31],
    ["resource metadata", "http://127.0.0.1:4100/.well-known/oauth-protected-resource/mcp", 200, 60, 28],
    ["server metadata", "https://login.example.com/.well-known/oauth-authorization-server/t1", 404, 80, 19],
    ["server metadata", "https://login.example.com/t1/.well-known/openid-configuration", 200, 103, 22],
    ["registration", "https://login.example.com/t1/clients", 201, 158, 54],
    ["token", "https://login.example.com/t1/token", 200, 220, 61],
  ])
    events.push({ t: at * ms, k: "auth", c: 1, step, url, status, us: us * ms });

  const serverInfo = { "io.modelcontextprotocol/serverInfo": { name: "harbour", version: "1.0.0" } };
  let own = post(230 * ms, 0, "server/discover");
  head(240 * ms, own);
  end(246 * ms, own, 0, { supportedVersions: [version], capabilities: { tools: {} }, _meta: serverInfo });

  own = post(255 * ms, 1, "tools/list");
  head(260 * ms, own);
  end(264 * ms, own, 1, { tools: TOOLS, ttlMs: 0, cacheScope: "private" });
  own = post(266 * ms, 2, "resources/list");
  end(271 * ms, own, 2, { resources: RESOURCES });
  own = post(272 * ms, 3, "prompts/list");
  end(276 * ms, own, 3, { prompts: PROMPTS });

  own = post(278 * ms, 16, "skills/list");
  end(284 * ms, own, 16, { skills: SKILLS });

  own = post(300 * ms, 4, "subscriptions/listen", { notifications: { resourceSubscriptions: ["berth://n1"] } });
  const listen = own;
  head(304 * ms, own, 200, "text/event-stream");

  own = post(320 * ms, 5, "tools/call", {
    name: "moor",
    arguments: { ship: "Maria", berth: "n1" },
    _meta: { progressToken: 5 },
  });
  head(324 * ms, own, 200, "text/event-stream");
  for (let line = 1; line <= 4; line++)
    say((320 + line * 110) * ms, own, {
      method: "notifications/progress",
      params: { progressToken: 5, progress: line, total: 4, message: `line ${line} made fast` },
    });
  end(790 * ms, own, 5, {
    content: [{ type: "text", text: "Maria is moored at n1" }],
    structuredContent: { ship: "Maria", berth: "n1", lines: 4 },
  });
  events.push({ t: 700 * ms, k: "stderr", c: 1, text: "warning: berth n3 is closed for dredging" });
  say(795 * ms, listen, {
    method: "notifications/resources/updated",
    params: { uri: "berth://n1", _meta: { "io.modelcontextprotocol/subscriptionId": 4 } },
  });

  own = post(820 * ms, 6, "tools/call", { name: "cast-off", arguments: { berth: "n1" } });
  const question = {
    method: "elicitation/create",
    params: { mode: "form", message: "Let Maria go from n1?", requestedSchema: QUESTION },
  };
  if (isAsking) {
    say(828 * ms, own, {
      id: 6,
      result: { resultType: "input_required", inputRequests: { "ask-1": question }, requestState: "<state:1>" },
    });
    events.push({ t: 829 * ms, k: "end", c: 1, x: own, by: "server" });
  } else say(828 * ms, own, { id: 90, ...question });
  events.push({ t: 830 * ms, k: "ask", c: 1, n: 1, ...question });
  events.push({ t: 980 * ms, k: "answer", c: 1, n: 1, result: { action: "accept", content: { sure: true } } });
  if (isAsking)
    own = post(981 * ms, 7, "tools/call", {
      name: "cast-off",
      arguments: { berth: "n1" },
      inputResponses: { "ask-1": { action: "accept", content: { sure: true } } },
      requestState: "<state:1>",
    });
  else
    events.push({
      t: 981 * ms,
      k: "frame",
      c: 1,
      d: ">",
      m: { jsonrpc: "2.0", id: 90, result: { action: "accept", content: { sure: true } } },
    });
  end(996 * ms, own, isAsking ? 7 : 6, { content: [{ type: "text", text: "Maria is off" }] });

  own = post(1005 * ms, 8, "tools/call", { name: "sound-the-horn", _meta: { progressToken: 8 } });
  head(1009 * ms, own, 200, "text/event-stream");
  say(1020 * ms, own, { method: "notifications/progress", params: { progressToken: 8, progress: 1, message: "toot" } });
  events.push({ t: 1190 * ms, k: "end", c: 1, x: own, by: "client" });
  events.push({
    t: 1191 * ms,
    k: "outcome",
    c: 1,
    method: "tools/call",
    name: "sound-the-horn",
    from: 1004 * ms,
    error: { code: "AbortError", message: "The call was cancelled." },
  });

  own = post(1100 * ms, 9, "tools/call", {
    name: "survey",
    arguments: { area: "north basin" },
    _meta: { progressToken: 9 },
  });
  end(1108 * ms, own, 9, { taskId: "7f3a9c", status: "working", ttlMs: 60_000 });
  own = post(1210 * ms, 10, "tasks/get", { taskId: "7f3a9c" });
  end(1215 * ms, own, 10, { taskId: "7f3a9c", status: "working", statusMessage: "sounding 12 of 40" });
  own = post(1400 * ms, 11, "tasks/get", { taskId: "7f3a9c" });
  end(1406 * ms, own, 11, { taskId: "7f3a9c", status: "completed", statusMessage: "40 soundings" });

  own = post(1230 * ms, 12, "tools/call", {
    name: "moor",
    arguments: { ship: "Anna", berth: "n2" },
    _meta: { progressToken: 12 },
  });
  head(1234 * ms, own, 200, "text/event-stream");
  say(1300 * ms, own, {
    method: "notifications/progress",
    params: { progressToken: 12, progress: 1, total: 4, message: "line 1 made fast" },
  });
  events.push({ t: 1340 * ms, k: "fault", c: 1, d: "<", x: own, what: "cut" });
  events.push({ t: 1341 * ms, k: "end", c: 1, x: own, by: "lost", error: "the connection was reset" });
  events.push({
    t: 1342 * ms,
    k: "outcome",
    c: 1,
    method: "tools/call",
    name: "moor",
    from: 1229 * ms,
    error: {
      code: "connection_error",
      message: "The response of tools/call moor was lost.",
      delivery: "answer_lost",
      retrySafe: false,
    },
  });

  own = post(1420 * ms, 13, "tools/call", { name: "run-aground" });
  end(1426 * ms, own, 13, { content: [{ type: "text", text: "the keel touches the ground" }], isError: true });
  own = post(1440 * ms, 14, "resources/read", { uri: "berth://n2" });
  end(1443 * ms, own, 14, { contents: [{ uri: "berth://n2", mimeType: "text/plain", text: "free" }] });
  own = post(1450 * ms, 15, "prompts/get", { name: "log-entry", arguments: { ship: "Maria" } });
  end(1456 * ms, own, 15, {
    messages: [{ role: "user", content: { type: "text", text: "Write a log entry for the Maria." } }],
  });

  for (const [rule, level, text, lines] of [
    ["catalogue/hints", "warning", "the tool cast-off has no hint: a host cannot tell if it may be repeated", [18]],
    [
      "catalogue/hints",
      "warning",
      "the tool sound-the-horn has no hint: a host cannot tell if it may be repeated",
      [18],
    ],
    [
      "http/lost-session",
      "error",
      "a request with an unknown session was answered with 400: answer 404, so that clients begin a new one",
      [14],
    ],
    ["catalogue/tokens", "note", "the catalogue costs a model about 180 tokens", [18]],
  ])
    events.push({ t: 1480 * ms, k: "verdict", rule, level, text, lines });
  return recordingOf(
    name,
    events.toSorted((a, b) => a.t - b.t),
  );
}

const QUESTION = { type: "object", properties: { sure: { type: "boolean", title: "Sure" } }, required: ["sure"] };

const TOOLS = [
  {
    name: "moor",
    description: "Bring a ship to a berth",
    inputSchema: {
      type: "object",
      properties: { ship: { type: "string" }, berth: { type: "string" } },
      required: ["ship", "berth"],
    },
    annotations: { readOnlyHint: false, idempotentHint: true },
  },
  {
    name: "cast-off",
    description: "Let a ship leave, after asking the harbour master",
    inputSchema: { type: "object", properties: { berth: { type: "string" } }, required: ["berth"] },
  },
  {
    name: "sound-the-horn",
    description: "Sounds the horn until the call is cancelled",
    inputSchema: { type: "object", properties: {}, additionalProperties: false },
  },
  {
    name: "survey",
    description: "Measures the depth of an area, which takes a while",
    inputSchema: {
      type: "object",
      properties: { area: { type: "string" }, depth: { type: "number", minimum: 0 } },
      required: ["area"],
    },
  },
  { name: "run-aground", inputSchema: { type: "object" } },
];
const RESOURCES = [
  { uri: "berth://n1", name: "n1", description: "State of berth n1" },
  { uri: "berth://n2", name: "n2" },
  {
    uri: "skill://knots/SKILL.md",
    name: "knots",
    description: "Ties the knots of a harbour, and says which one holds.",
  },
];
const SKILLS = [
  {
    uri: "skill://harbour/knots/SKILL.md",
    frontmatter: { name: "knots", description: "Ties the knots of a harbour, and says which one holds." },
    resources: [
      { uri: "skill://harbour/knots/SKILL.md", digest: `sha256:${"4f".repeat(32)}`, size: 1830 },
      { uri: "skill://harbour/knots/scripts/tie.sh", digest: `sha256:${"9a".repeat(32)}`, size: 412 },
    ],
  },
];
const PROMPTS = [
  { name: "log-entry", description: "Writes an entry of the log", arguments: [{ name: "ship", required: true }] },
];

/** The same day on two connections at once, in two versions of the protocol. */
export function bothSides(name = "both.rec.ndjson") {
  const [one, two] = [harbourDay(), harbourDay(name, "2025-11-25")].map(({ text }) =>
    text
      .split("\n")
      .slice(1)
      .map((line) => JSON.parse(line))
      .filter(({ k }) => !["auth", "verdict", "stderr"].includes(k)),
  );
  const other = two.map((event) => ({ ...event, c: 2, t: event.t + 7 * ms, ...(event.x && { x: event.x + 100 }) }));
  return recordingOf(
    name,
    [...one, ...other].toSorted((a, b) => a.t - b.t),
  );
}

/** Writes a recording of many calls: ten are open at any time, some fail. */
export function manyCalls(count, name = "many.rec.ndjson") {
  const events = [{ t: 0, k: "open", c: 1, wire: "memory", role: "client" }];
  for (let id = 0; id < count; id++) {
    const t = id * 900;
    events.push({
      t,
      k: "frame",
      c: 1,
      d: ">",
      m: { jsonrpc: "2.0", id, method: "tools/call", params: { name: `tool-${id % 7}`, arguments: { id } } },
    });
    const result =
      id % 50 === 49
        ? { isError: true, content: [{ type: "text", text: "no" }] }
        : { content: [{ type: "text", text: `result ${id}` }] };
    events.push({ t: t + 9000 + (id % 11) * 100, k: "frame", c: 1, d: "<", m: { jsonrpc: "2.0", id, result } });
  }
  return recordingOf(
    name,
    events.toSorted((a, b) => a.t - b.t),
  );
}
