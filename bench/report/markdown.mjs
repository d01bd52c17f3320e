import { round } from "../lib/stats.mjs";
import { boundOf, reachedOf, verdictOf } from "./targets.mjs";

/** Returns the results as Markdown: the targets first, then a table per section that was measured. */
export function toMarkdown(document) {
  const parts = [
    heading(document),
    targets(document.targets),
    ...wires("Calls", callNote, document.calls),
    ...wires("The SDKs' own clients", clientNote, document.clients),
    ...scale(document.scale),
    ...memory(document.memory),
    ...cluster(document.cluster),
    ...workers(document.workers),
    ...tasks(document.tasks),
    ...roundTrips(document.roundTrips),
    ...sizing(document.sizing),
    ...cancel(document.cancel),
    ...stages(document.stages),
    ...start(document.start),
    ...size(document.size),
    ...odd(document),
  ];
  return `${parts.join("\n\n")}\n`;
}

const callNote =
  "Medians over the rounds with [lowest..highest]. `of floor` compares calls per second with `bare` round by round; CPU is the server's, per call, at 16 calls at once. In process, load comes from the SDK's own client.";
const stageNote =
  "A profile of each server under load, by the file that the time was spent in. The profiler itself costs a little, so compare the stages with each other and not with the tables above.";
const clientNote =
  "Each client with its own server, a process each; `a -> b` is the client of a with the server of b. CPU is the client's.";

/** Returns a Markdown table. Every column except for the first is numeric. */
export function table(head, rows) {
  const line = (cells) => `| ${cells.join(" | ")} |`;
  return [line(head), line(head.map((_, index) => (index === 0 ? "---" : "---:"))), ...rows.map(line)].join("\n");
}

/** Returns a number for reading, with separated thousands; `-` if it is unknown. */
export function shown(value) {
  if (value === undefined || value === null) return "-";
  return Math.abs(value) >= 1000 ? Math.round(value).toLocaleString("en-US") : String(value);
}

const mid = (spread) => shown(spread?.median);
const range = (spread) => (spread === undefined ? "-" : `${spread.median} [${spread.min}..${spread.max}]`);

/** Returns the date of a run and the commit that it measured. Runs up to 2026-11-19 did not record the commit. */
export function dateOf({ date, commit, changed }) {
  return commit === undefined ? date : `${date}, commit ${commit.slice(0, 8)}${changed ? " with changes" : ""}`;
}

function heading({ run }) {
  const versions = Object.entries(run.versions).map(([name, version]) => `${name} ${version}`);
  const windows = `${run.windows.all} windows, ${run.windows.noisy} of them while others used the machine (${run.windows.again} repeated)`;
  return [
    `${dateOf(run)}, Node ${run.node}, ${run.cores} cores (${run.processor}); ${run.short ? "short form, " : ""}${run.rounds} rounds, windows of ${run.windowMs} ms, ${run.seconds} s in all; ${windows}.`,
    `Versions: ${versions.join(", ")}.`,
  ].join("\n\n");
}

function targets(list) {
  const rows = list.map((target) => [target.title, boundOf(target), reachedOf(target), verdictOf(target)]);
  return `### Targets\n\n${table(["target", "bound", "reached", ""], rows)}`;
}

function wires(title, note, results) {
  if (results === undefined) return [];
  const sections = Object.entries(results).map(([wire, peers]) => {
    const others = otherCalls(peers);
    return `#### ${wire}\n\n${echo(peers)}${others === "" ? "" : `\n\n${others}`}`;
  });
  return [`### ${title}\n\n${note}`, ...sections];
}

const cellsOf = (peers) => [...new Set(Object.values(peers).flatMap((cells) => Object.keys(cells)))];

function echo(peers) {
  const cells = cellsOf(peers).filter((cell) => cell.startsWith("echo@"));
  const floors = Object.values(peers).some((row) => row[cells[0]]?.ofFloor !== undefined);
  const latency = cells[0];
  const head = [
    "echo",
    ...cells.map((cell) => `calls/s at ${cell.slice(5)}`),
    ...(floors ? cells.map((cell) => `of floor at ${cell.slice(5)}`) : []),
    `p50 µs at ${latency.slice(5)}`,
    `p99 µs at ${latency.slice(5)}`,
    "CPU µs",
    ...(floors ? ["CPU of floor"] : []),
    "Bowline over it at 16",
  ];
  const over = peers.bowline?.["echo@16"]?.over ?? {};
  const rows = Object.entries(peers).map(([peer, row]) => [
    peer,
    ...cells.map((cell) => mid(row[cell]?.perSecond)),
    ...(floors ? cells.map((cell) => range(row[cell]?.ofFloor)) : []),
    mid(row[latency]?.p50Us),
    mid(row[latency]?.p99Us),
    mid(row["echo@16"]?.cpuUs),
    ...(floors ? [mid(row["echo@16"]?.cpuOfFloor)] : []),
    over[peer] === undefined ? "-" : `${over[peer].median}x`,
  ]);
  return table(head, rows);
}

function otherCalls(peers) {
  const cells = cellsOf(peers).filter((cell) => !cell.startsWith("echo@"));
  if (cells.length === 0) return "";
  const told = ({ perSecond, ofFloor } = {}) =>
    perSecond === undefined ? "-" : `${mid(perSecond)}${ofFloor === undefined ? "" : ` (${ofFloor.median})`}`;
  const rows = Object.entries(peers).map(([peer, row]) => [peer, ...cells.map((cell) => told(row[cell]))]);
  return table(["calls/s (of floor)", ...cells.map((cell) => cell.replace("@", " at "))], rows);
}

function scale(results) {
  const rows = [];
  for (const [what, peers] of Object.entries(results ?? {})) {
    for (const [peer, counts] of Object.entries(peers)) {
      for (const [count, { cpuUs, cpuOfFloor, perSecond }] of Object.entries(counts)) {
        rows.push([`${peer}, ${shown(Number(count))} ${what}`, mid(perSecond), mid(cpuUs), range(cpuOfFloor)]);
      }
    }
  }
  if (rows.length === 0) return [];
  return [
    `### Cost of a call as a server grows\n\n${table(["echo at 16", "calls/s", "CPU µs", "CPU, smallest = 1"], rows)}`,
  ];
}

function memory({ sessions, calls } = {}) {
  const parts = [];
  if (sessions !== undefined) {
    const rows = Object.entries(sessions).map(([peer, row]) => [
      peer,
      range(row.rssKb),
      range(row.heapKb),
      mid(row.perSecond),
    ]);
    parts.push(
      `### Memory\n\n1,000 open sessions of a server with 101 tools, after a collection:\n\n${table(["server", "resident KB each", "heap KB each", "opened/s"], rows)}`,
    );
  }
  if (calls !== undefined) {
    const rows = Object.entries(calls).flatMap(([wire, peers]) =>
      Object.entries(peers).map(([peer, row]) => [
        `${peer}, ${wire}`,
        shown(row.calls),
        `${row.rssMb.before} -> ${row.rssMb.after}`,
        shown(row.heapBytesPerCall),
      ]),
    );
    parts.push(
      `After many echo calls and a collection:\n\n${table(["server", "calls", "resident MB", "heap bytes per call"], rows)}`,
    );
  }
  return parts;
}

function cluster(results) {
  if (results === undefined) return [];
  const cell = "echo@128";
  const rows = Object.entries(results.calls).flatMap(([wire, subjects]) =>
    Object.entries(subjects).map(([name, row]) => [
      `${wire}, ${name}`,
      mid(row[cell].perSecond),
      range(row[cell].ofFloor),
      mid(row[cell].cpuUs),
      mid(row[cell].p99Us),
    ]),
  );
  const held = Object.entries(results.sessions).map(([name, { heapKb }]) => [name, range(heapKb)]);
  return [
    "### Cluster\n\nThe same server without a cluster and with one, 128 echo calls at once in 128 sessions, without a log.",
    table(["echo at 128", "calls/s", "of without", "CPU µs", "p99 µs"], rows),
    "Heap of an idle session in the process that opened it, of 1,000:",
    table(["server", "heap KB each"], held),
  ];
}

function workers(results) {
  if (results === undefined) return [];
  const rows = Object.entries(results).flatMap(([wire, subjects]) =>
    Object.entries(subjects).map(([name, { "echo@64": cell }]) => [
      `${wire}, ${name}`,
      mid(cell.perSecond),
      mid(cell.cpuUs),
      range(cell.cpuOfFloor),
    ]),
  );
  return [
    "### Workers\n\nThe same server in one process, on one worker and on two, 64 echo calls at once. The CPU time is that of all processes. Two workers and the generator share two cores.",
    table(["echo at 64", "calls/s", "CPU µs", "of one process"], rows),
  ];
}

function tasks(results) {
  if (results === undefined) return [];
  const { promotion, waiting } = results;
  const rows = Object.entries(waiting).map(([engine, { heapMb, timers, perSecond }]) => [
    engine,
    mid(heapMb),
    mid(timers),
    mid(perSecond),
  ]);
  return [
    "### Tasks\n\nA server with 100,000 tasks that wait for an answer. In memory, the heap has the tasks themselves.",
    table(["tasks in", "heap MB over none", "timers over none", "created/s"], rows),
    `A call that ends in time with \`promoteAfterMs\` takes ${range(promotion.moreUs)} µs of CPU time more than a plain one (${range(promotion.plainUs)} µs), in turns in one process.`,
  ];
}

function roundTrips(results) {
  if (results === undefined) return [];
  const names = Object.keys(results);
  if (names.length === 0) return [];
  const told = ({ before, all }) => (before === all ? `${all}` : `${before} of ${all}`);
  const rows = Object.keys(results[names[0]].operations).map((operation) => [
    operation,
    ...names.map((name) => told(results[name].operations[operation])),
  ]);
  const idle = [
    ["a node", "node"],
    ["an idle session", "idleSession"],
    ["a session whose client listens", "listeningSession"],
  ].map(([title, key]) => [title, ...names.map((name) => shown(results[name].idle[key]))]);
  return [
    "### Round trips of a cluster\n\nCommands that two nodes send to the engine. `4 of 6`: four before the response is complete, six in all.",
    table(["operation", ...names], rows),
    table(["per second", ...names], idle),
  ];
}

function sizing(results) {
  if (results === undefined || Object.keys(results).length === 0) return [];
  const bytes = Object.entries(results).map(([name, { bytes: of }]) => [name, shown(of.plain), shown(of.resumable)]);
  const perCore = (engineUs) => shown(round(1e6 / engineUs.median, 2));
  const speeds = Object.entries(results).flatMap(([name, { speed }]) =>
    Object.entries(speed).map(([operation, { perSecond, engineUs }]) => [
      `${name}: ${operation}`,
      mid(perSecond),
      mid(engineUs),
      perCore(engineUs),
    ]),
  );
  return [
    "### Sizing of a cluster\n\nBytes that an engine keeps of an idle session, of 1,000:",
    table(["engine", "session", "resumable session"], bytes),
    "One process sends, 32 operations at once. CPU is that of the engine, and for SQLite that of the process:",
    table(["operation", "per second", "CPU µs", "per second and core"], speeds),
    ...sizingOfMany(Object.entries(results).filter(([, { many }]) => many !== undefined)),
  ];
}

function sizingOfMany(entries) {
  if (entries.length === 0) return [];
  const rows = [
    ["memory of the engine, MB", ({ megabytes }) => shown(megabytes)],
    ["handshakes per second, 50 at once", ({ openedPerSecond }) => shown(openedPerSecond)],
    ["a further handshake, ms", ({ handshakeMs }) => mid(handshakeMs)],
    ["commands per second, soon after that", ({ idleCommandsPerSecond }) => shown(idleCommandsPerSecond)],
    ["CPU of the engine per second, soon after that, ms", ({ idleEngineMsPerSecond }) => shown(idleEngineMsPerSecond)],
    ["listing the open streams of the node, ms", ({ listOpenMs }) => mid(listOpenMs)],
    ["look of a sweep, ms", ({ sweepMs }) => mid(sweepMs)],
    ["end of a session, ms", ({ endMs }) => mid(endMs)],
  ].map(([title, of]) => [title, ...entries.map(([, { many }]) => of(many))]);
  const names = entries.map(([name]) => name);
  const { sessions } = entries[0][1].many;
  return [
    `With ${sessions.toLocaleString("en")} sessions that can be resumed, opened by one node:`,
    table(["", ...names], rows),
  ];
}

function cancel(results) {
  if (results === undefined) return [];
  const head = [
    "cancelled",
    "p50 ms",
    "p99 ms",
    "calls",
    "handlers begun",
    "told",
    "server: heap MB, handles, files",
    "client: the same",
  ];
  const left = (side) => (side === undefined ? "-" : `${side.heapMb}, ${side.handles}, ${side.files}`);
  const rows = (tree) =>
    Object.entries(tree).flatMap(([wire, peers]) =>
      Object.entries(peers).map(([peer, row]) => [
        `${peer}, ${wire}`,
        shown(row.p50Ms),
        shown(row.p99Ms),
        shown(row.calls),
        shown(row.handlers),
        shown(row.signals),
        left(row.left.server),
        left(row.left.client),
      ]),
    );
  const part = (title, tree) => (Object.keys(tree).length === 0 ? [] : [`${title}:\n\n${table(head, rows(tree))}`]);
  return [
    "### Cancellation\n\nTime from the cancellation to the handler's signal, and what so many cancelled calls leave behind on each side.",
    ...part("By hand", results.raw),
    ...part("By the abort of the SDK's own client (in process both sides are one)", results.clients),
  ];
}

function stages(results) {
  if (results === undefined) return [];
  const tables = Object.entries(results).map(([wire, profiles]) => stagesOf(wire, profiles));
  return ["### Where the time of a call goes", stageNote, ...tables];
}

function stagesOf(wire, profiles) {
  const peers = Object.keys(profiles);
  const total = (peer) => Object.values(profiles[peer]).reduce((sum, us) => sum + us, 0);
  const rows = Object.keys(profiles[peers[0]]).map((stage) => [
    stage,
    ...peers.map((peer) => shown(profiles[peer][stage])),
  ]);
  const sums = ["all", ...peers.map((peer) => shown(Math.round(total(peer) * 10) / 10))];
  return table([`${wire}, echo at 16, µs`, ...peers], [...rows, sums]);
}

function start(results) {
  if (results === undefined) return [];
  const of = (title, peers) => {
    const { of: over, cpuOf: cpuOver, cpuBeyond } = peers.bowline;
    return table(
      [title, "ms", "Bowline of it", "ms of CPU time", "Bowline of it", ...(cpuBeyond ? ["beyond bare"] : [])],
      Object.entries(peers).map(([peer, { ms, cpuMs }]) => [
        peer,
        range(ms),
        shown(over[peer]?.median),
        range(cpuMs),
        shown(cpuOver[peer]?.median),
        ...(cpuBeyond ? [shown(cpuBeyond[peer]?.median)] : []),
      ]),
    );
  };
  const cold = Object.entries(results.cold).map(([wire, peers]) => of(`process start to first answer, ${wire}`, peers));
  const imports = Object.entries(results.import).map(([side, peers]) => of(`import, ${side}`, peers));
  return ["### Start", ...cold, ...imports];
}

/** Returns remarks on single figures, and measurements that failed. */
function odd({ remarks = [], failures = [] }) {
  const lines = [
    ...remarks.map(({ section, text }) => `- ${section}, ${text}`),
    ...failures.map(({ section, error }) => `- ${section} could not be measured: ${error.split("\n")[0]}`),
  ];
  return lines.length === 0 ? [] : [`### Remarks\n\n${lines.join("\n")}`];
}

function size(results) {
  if (results === undefined) return [];
  const parts = ["### Size\n\nMinified and gzipped, what is loaded at start, in units of 1000 bytes."];
  for (const [kind, peers] of Object.entries(results.bundles)) {
    const rows = Object.entries(peers).map(([peer, { kb, kbWithoutZod }]) => [peer, shown(kb), shown(kbWithoutZod)]);
    parts.push(table([`${kind} program`, "kB", "kB with zod left out"], rows));
  }
  for (const [side, peers] of Object.entries(results.installed)) {
    const rows = Object.entries(peers).map(([peer, { packages, mb }]) => [peer, shown(packages), shown(mb)]);
    parts.push(table([`installed, ${side}`, "packages", "MB"], rows));
  }
  return parts;
}
