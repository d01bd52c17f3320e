/**
 * The order of the source, in two tables that `check-layers.mjs` and `check-bleed.mjs` compare with all imports. A new
 * folder of `src` is one more row of `layers`, and its name in the rows of those that import it.
 */

/**
 * Layers of `src`, and the other layers that each may import. A layer is a folder with all that is below it, apart from
 * folders with a row of their own.
 */
export const layers = {
  protocol: [],
  call: ["protocol"],
  schema: ["protocol", "call"],
  http: ["protocol", "call", "schema"],
  store: ["protocol", "call", "schema"],
  cluster: ["protocol", "call"],
  redis: ["protocol", "call", "cluster"],
  postgres: ["protocol", "call", "cluster"],
  sqlite: ["protocol", "call", "cluster"],
  auth: ["protocol", "http"],
  journal: ["protocol", "call"],
  era: ["protocol", "call", "cluster", "schema", "http", "store", "journal"],
  server: ["protocol", "call", "cluster", "schema", "http", "store", "journal", "era"],
  client: ["protocol", "call", "schema", "http", "store", "era"],
  otel: ["protocol", "call", "schema", "http", "store", "era", "server", "client"],
  state: ["protocol", "call", "cluster", "schema", "era"],
  skills: ["protocol"],
  "skills/server": ["skills", "protocol", "call", "era", "server"],
  "skills/client": ["skills", "protocol", "call", "era", "client"],
  tasks: ["protocol"],
  "tasks/server": ["tasks", "protocol", "call", "cluster", "schema", "store", "journal", "era", "server"],
  "tasks/client": ["tasks", "protocol", "call", "schema", "era", "client"],
  recording: ["protocol", "call", "schema", "http", "store", "era", "server", "client"],
  doctor: ["protocol", "call", "schema", "http", "store", "era", "server", "client", "recording", "auth"],
  node: [
    ...["protocol", "call", "cluster", "schema", "http", "store", "era", "server", "client", "recording", "auth"],
    ...["skills", "skills/server", "skills/client"],
  ],
  compat: ["protocol", "call", "schema", "http", "store", "era", "server", "node"],
  testing: ["protocol", "call", "schema", "http", "store", "era", "server", "client", "recording", "node"],
  "testing/contract": ["testing", "protocol", "call", "cluster", "schema", "http", "store", "era", "server", "client"],
  inspect: [
    ...["protocol", "call", "schema", "http", "auth", "era", "client", "recording", "testing", "node", "entry"],
    ...["skills", "skills/client", "tasks", "tasks/client"],
  ],
  // The page of the inspector. It runs in a browser, and is built on its own.
  page: ["protocol", "recording", "inspect"],
  entry: ["*"],
  cli: [
    "protocol",
    "call",
    "schema",
    "http",
    "auth",
    "era",
    "client",
    "skills",
    "tasks",
    "recording",
    "doctor",
    "node",
    "inspect",
    "entry",
  ],
};

/** Packages that are bundled with a layer, so that users need not have them. */
export const bundled = { page: ["preact", "@preact/signals"] };

/** Layers that may import modules of Node, and layers that may name eras and protocol versions. */
export const usesNode = ["node", "cli"];
export const knowsEras = ["era", "entry"];

/** Parts of a server that load on demand: questions by replay with sealed state, and validation by JSON Schema. */
const onDemand = ["!era/modern/server/replay", "!server/state/seal", "!schema/json-schema/validator"];

/** Modules of Node that take it milliseconds to load. Only programs that use them load them, not every server on stdio. */
const slow = ["!node:http", "!node:child_process", "!node:crypto"];

/**
 * What each entry of the package may load by static imports: layers, with all that these may import; further modules and
 * packages; and, after `!`, what it must not load all the same. A name stands for all that begins with it: `node:` for the
 * modules of Node, `era/legacy` for a folder, `era/legacy/server/era` for a module.
 */
export const entries = {
  ".": ["protocol"],
  "./client": ["client", "!cluster", "!era/legacy/client/connect", "!schema/json-schema/validator"],
  "./server": ["server", "!cluster", "!era/legacy/server/era", ...onDemand],
  "./server/modern": ["server", "!cluster", "!era/legacy", "!schema/json-schema/check-schema", ...onDemand],
  "./json-schema": ["schema"],
  "./node": ["node", "node:", "!cluster", "!recording", "!skills", "!auth/client/oauth", ...slow],
  "./auth/client": ["auth", "era/versions", "!auth/server", "!auth/issuer"],
  "./auth/server": ["auth", "!auth/client", "!auth/issuer", "jose"],
  "./auth/issuer": ["auth", "!auth/client", "!auth/server", "jose"],
  "./compat": ["compat", "node:", "!cluster", "!recording", "!client", "!auth/client/oauth", ...slow],
  "./skills/server": ["skills/server", "!cluster"],
  "./skills/client": ["skills/client", "!cluster"],
  "./tasks/server": ["tasks/server"],
  "./tasks/client": ["tasks/client", "!cluster"],
  "./state": ["state"],
  "./cluster": ["cluster"],
  "./redis": ["redis", "!cluster/memory"],
  "./postgres": ["postgres", "!cluster/memory"],
  // SQLite is in the thread, which only new versions of Node can load.
  "./sqlite": ["sqlite", "node/sqlite", "node:", "!cluster/memory", "!node:sqlite"],
  "./otel": ["otel", "!cluster", "!server", "!client", "!era", "@opentelemetry/api"],
  "./testing": ["testing", "testing/contract"],
  "./inspect": ["inspect", "node:", "!cluster", "!server", "!auth/server", "!auth/issuer", ...slow],
};

/** The same for parts that load on demand: the side of a connection that a part serves, without the other one. */
export const late = {
  "era/legacy/server/era": ["server", "!era/legacy/client"],
  "era/modern/server/replay": ["server", "!era/modern/client"],
  "server/transports/channel": ["server", "!era/legacy", "!era/modern/client"],
  "era/legacy/client/connect": ["client", "!era/legacy/server"],
};
