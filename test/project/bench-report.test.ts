import { deepEqual, doesNotMatch, equal, match, throws } from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { loadScript } from "./load-script.js";

interface Target {
  readonly title: string;
  readonly at: readonly string[];
  readonly least?: number;
  readonly most?: number;
}

interface Judged {
  readonly title: string;
  readonly value?: number;
  readonly met?: boolean;
}

const { judge, readTargets, toLines } = await loadScript<{
  judge(targets: readonly Target[], results: object): readonly Judged[];
  readTargets(): readonly Target[];
  toLines(targets: readonly Judged[]): readonly string[];
}>("bench/report/targets.mjs");
const { toMarkdown, table, shown } = await loadScript<{
  toMarkdown(document: object): string;
  table(head: readonly string[], rows: readonly (readonly string[])[]): string;
  shown(value: number | undefined): string;
}>("bench/report/markdown.mjs");
const { toSvg, toOverviewSvg } = await loadScript<{
  toSvg(document: object): string;
  toOverviewSvg(document: object): string;
}>("bench/report/svg.mjs");
const { toOverview, toOverviewTable } = await loadScript<{
  toOverview(document: object): string;
  toOverviewTable(document: object): string;
}>("bench/report/overview.mjs");
const { peers } = await loadScript<{ peers: Readonly<Record<string, object>> }>("bench/adapters/peers.mjs");
const { fillIn } = await loadScript<{ fillIn(page: string, text: string): string }>("bench/report/docs.mjs");

const figures = (perSecond: number, ofFloor: number) => ({
  perSecond: { median: perSecond, min: perSecond, max: perSecond },
  ofFloor: { median: ofFloor, min: ofFloor, max: ofFloor },
});

const run = {
  date: "2026-11-15",
  node: "v20.0.0",
  cores: 2,
  processor: "some",
  versions: { bowline: "0.1.0" },
  short: true,
  rounds: 3,
  windowMs: 80,
  seconds: 100,
  windows: { all: 9, noisy: 1, again: 0 },
};

const calls = {
  "http modern": {
    bare: { "echo@16": figures(20_000, 1) },
    bowline: { "echo@16": figures(17_000, 0.85) },
    "a < b": { "echo@16": figures(1000, 0.05) },
  },
};

const targets = [
  { title: "fast", at: ["calls", "http modern", "bowline", "echo@16", "ofFloor"], least: 0.8 },
  { title: "small", at: ["size", "client"], most: 30 },
  { title: "absent", at: ["cancel", "worst"], most: 0 },
];

test("a target is met, not met or not measured", () => {
  const judged = judge(targets, { calls, size: { client: 31 } });
  deepEqual(
    judged.map(({ value, met }) => [value, met]),
    [
      [0.85, true],
      [31, false],
      [undefined, undefined],
    ],
  );
  equal(toLines(judged).at(-1), "1 targets met, 1 not met, 1 not measured");
});

test("every target of the project has one bound and a path that a section fills", async () => {
  const branches = ["calls", "clients", "scale", "memory", "cluster", "workers", "tasks", "cancel", "start", "size"];
  for (const { title, at, least, most } of readTargets()) {
    equal((least === undefined) !== (most === undefined), true, title);
    equal(branches.includes(at[0] ?? ""), true, title);
  }
});

test("the report has the targets and a table per wire", () => {
  const text = toMarkdown({ run, targets: judge(targets, { calls }), calls });
  match(text, /\| fast \| at least 0\.8 \| 0\.85 \[0\.85\.\.0\.85\] \| met \|/);
  match(text, /#### http modern/);
  match(text, /\| bowline \| 17,000 \| 0\.85 /);
  doesNotMatch(text, /undefined|NaN|### Memory/);
});

test("the report has the heap and the timers of tasks that wait, and the cost of a promotion", () => {
  const spread = (median: number) => ({ median, min: median, max: median });
  const waiting = { redis: { heapMb: spread(1.5), timers: spread(1), perSecond: spread(1_200) } };
  const tasks = { waiting, promotion: { plainUs: spread(60), moreUs: spread(9) } };
  const text = toMarkdown({ run, targets: [], tasks });
  match(text, /\| redis \| 1\.5 \| 1 \| 1,200 \|/);
  match(text, /takes 9 \[9\.\.9\] µs of CPU time more than a plain one/);
});

test("the report compares a server with a cluster and without, and lists the round trips of each engine", () => {
  const spread = (median: number) => ({ median, min: median, max: median });
  const cluster = {
    calls: {
      "http legacy json": {
        without: { "echo@128": figures(20_000, 1) },
        redis: { "echo@128": figures(18_000, 0.9) },
      },
    },
    sessions: { without: { heapKb: spread(2) }, redis: { heapKb: spread(3) } },
  };
  const trips = (before: number) => ({
    operations: { handshake: { before, all: 6 } },
    idle: { node: 5.5, idleSession: 0, listeningSession: 0.02 },
  });
  const roundTrips = { redis: trips(4), postgres: trips(6) };
  const text = toMarkdown({ run, targets: [], cluster, roundTrips });
  match(text, /\| http legacy json, redis \| 18,000 \| 0\.9 /);
  match(text, /\| redis \| 3 \[3\.\.3\] \|/);
  match(text, /\| handshake \| 4 of 6 \| 6 \|/);
  match(text, /\| a session whose client listens \| 0\.02 \| 0\.02 \|/);
  doesNotMatch(text, /undefined|NaN/);
});

test("the report lists what an engine keeps of a session and carries on a core", () => {
  const spread = (value: number) => ({ median: value, min: value, max: value });
  const sizing = {
    redis: {
      bytes: { plain: 1270, resumable: 3550 },
      speed: { handshake: { perSecond: spread(900), engineUs: spread(200) } },
      many: {
        sessions: 10_000,
        megabytes: 36.1,
        openedPerSecond: 1_100,
        handshakeMs: spread(3),
        idleCommandsPerSecond: 4,
        idleEngineMsPerSecond: 2,
        listOpenMs: spread(120),
        sweepMs: spread(0.5),
        endMs: spread(4),
      },
    },
    sqlite: {
      bytes: { plain: 668, resumable: 1590 },
      speed: { handshake: { perSecond: spread(800), engineUs: spread(900) } },
    },
  };
  const text = toMarkdown({ run, targets: [], sizing });
  match(text, /\| redis \| 1,270 \| 3,550 \|/);
  match(text, /\| redis: handshake \| 900 \| 200 \| 5,000 \|/);
  match(text, /\| sqlite: handshake \| 800 \| 900 \| 1,100 \|/);
  match(text, /With 10,000 sessions that can be resumed/);
  match(text, /\| listing the open streams of the node, ms \| 120 /);
  doesNotMatch(text, /undefined|NaN/);
  doesNotMatch(toMarkdown({ run, targets: [], sizing: {} }), /Sizing|undefined|NaN/);
});

test("a table is Markdown, and numbers are written for people", () => {
  equal(table(["a", "b"], [["x", "1"]]), "| a | b |\n| --- | ---: |\n| x | 1 |");
  deepEqual([shown(12_345.6), shown(0.5), shown(undefined)], ["12,346", "0.5", "-"]);
});

test("the chart is well-formed, has a bar for each but the floor, and both schemes of colours", () => {
  const svg = toSvg({ run, calls });
  equal(svg.match(/<rect /g)?.length, 2);
  match(svg, /a &lt; b/);
  match(svg, /prefers-color-scheme: dark/);
  const opened = svg.match(/<(?:svg|style|text)\b/g)?.length;
  equal(svg.match(/<\/(?:svg|style|text)>/g)?.length, opened);
  doesNotMatch(svg, /NaN|undefined/);
});

test("the table and the chart of the overview have every peer", () => {
  const measured = Object.fromEntries(Object.keys(peers).map((peer) => [peer, { "echo@16": figures(1000, 0.5) }]));
  const results = { run, calls: { "http modern": measured } };
  const rows = [...toOverviewTable(results).matchAll(/^\| ([\w-]+) \(/gm)].map(([, peer]) => peer);
  const bars = [...toOverviewSvg(results).matchAll(/class="name[^"]*"[^>]*>([\w-]+)</g)].map(([, peer]) => peer);
  const shown = Object.keys(peers).filter((peer) => peer !== "bare");
  deepEqual(rows.sort(), shown.sort());
  deepEqual(bars.sort(), shown.sort());
});

test("the table of the overview has the version of each peer", () => {
  const versions = { bowline: "0.1.0", "go-sdk": "1.8.0" };
  const measured = { bowline: { "echo@16": figures(1000, 0.5) }, "go-sdk": { "echo@16": figures(900, 0.4) } };
  const text = toOverviewTable({ run: { ...run, versions }, calls: { "http modern": measured } });
  match(text, /\| bowline \(`bowline` 0\.1\.0\) \|/);
  match(text, /\| go-sdk \(`github\.com\/modelcontextprotocol\/go-sdk` 1\.8\.0\) \|/);
});

test("the overview has both forms in which a server answers older clients", () => {
  const answers = (json: number, events: number) => ({
    "http legacy json": { bowline: { "echo@16": figures(json, 0.5) } },
    "http legacy sse": { bowline: { "echo@16": figures(events, 0.5) } },
  });
  const text = toOverviewTable({ run, calls: answers(19_000, 27_000) });
  match(text, /\| Streamable HTTP, 2025-11-25, JSON \| Streamable HTTP, 2025-11-25, events \|/);
  match(text, /\| 19,000 \| 27,000 \|/);
});

test("reports name the commit that was measured, and the README shows no figures without one", () => {
  const commit = "40b839e1".padEnd(40, "0");
  const at = (changed: boolean) => ({ run: { ...run, commit, changed }, targets: [], calls });
  match(toMarkdown(at(false)), /^2026-11-15, commit 40b839e1, Node/);
  match(toMarkdown(at(true)), /^2026-11-15, commit 40b839e1 with changes, Node/);
  match(toMarkdown({ run, targets: [] }), /^2026-11-15, Node/);
  match(
    toOverview(at(false)),
    /^!\[.+\]\(docs\/overview\.svg\)\n\n\| calls per second[\s\S]+2026-11-15, commit 40b839e1, /,
  );
  equal(toOverview({ run, calls }), "");
});

test("a run records the commit of its working tree, where git knows it", async () => {
  const { describeMachine } = await loadScript<{ describeMachine(): Promise<{ readonly commit?: string }> }>(
    "bench/machine.mjs",
  );
  const known = spawnSync("git", ["rev-parse", "HEAD"], { encoding: "utf8" });
  equal((await describeMachine()).commit, known.status === 0 ? known.stdout.trim() : undefined);
});

test("a page keeps what is around its markers", () => {
  const page = "before\n<!-- bench: begin -->\nold\n<!-- bench: end -->\nafter\n";
  equal(fillIn(page, "new"), "before\n<!-- bench: begin -->\n\nnew\n<!-- bench: end -->\nafter\n");
  equal(fillIn(fillIn(page, "old"), "new"), fillIn(page, "new"));
  equal(fillIn(page, ""), "before\n<!-- bench: begin -->\n<!-- bench: end -->\nafter\n");
  equal(fillIn(fillIn(page, ""), "new"), fillIn(page, "new"));
  throws(() => fillIn("no markers", "new"), /lacks/);
});
