import { deepEqual, equal, match, ok } from "node:assert/strict";
import { test } from "node:test";

const place = new URL("../../../../examples/dist/cluster/view.js", import.meta.url).href;
const { linesOf, grouped, timeOf } = (await import(place)) as {
  linesOf(scene: object, screen: { columns: number; rows: number; colours: boolean }): readonly string[];
  grouped(count: number): string;
  timeOf(seconds: number): string;
};

const node = (digit: number, status: string) => ({
  name: `node-${digit}`,
  status,
  stats: { running: digit, sessions: 4, streams: 1234 },
});

const scene = {
  engine: { name: "postgres", status: "starting" },
  nodes: [node(1, "ok"), node(2, "killed"), node(3, "degraded")],
  counts: { begun: 0, answered: 12_345, undelivered: 2, unknown: 0, questions: 30, elsewhere: 20, events: 7 },
  perSecond: Array.from({ length: 200 }, (_, second) => second % 9),
  seconds: 125.7,
  url: "http://127.0.0.1:8080/mcp",
  reports: Array.from({ length: 50 }, (_, index) => `report ${index}`),
};

const wide = linesOf(scene, { columns: 80, rows: 30, colours: false });
const lineOf = (begin: string, lines = wide) => lines.find((line) => line.startsWith(begin)) ?? "";

test("the view shows the calls, their verdicts, the questions and the events", () => {
  match(wide[0] ?? "", /^Bowline .* postgres {2}2:05$/);
  match(lineOf("answers per second"), /^answers per second {9}1 {2}[▁-█]{48}$/);
  equal(lineOf("answered"), "answered              12,345");
  equal(lineOf("not delivered"), "not delivered              2  may be repeated");
  equal(lineOf("questions"), "questions answered        30  20 on another node");
  equal(lineOf("events"), "events                     7");
});

test("the view shows the state of each node and of the engine, and numbers of nodes that serve", () => {
  equal(lineOf("         state"), "         state     in flight  sessions   streams");
  equal(lineOf("node-1"), "node-1   ok                1         4     1,234");
  equal(lineOf("node-2"), "node-2   killed            -         -         -");
  equal(lineOf("node-3"), "node-3   degraded          3         4     1,234");
  equal(lineOf("postgres").trimEnd(), "postgres starting");
});

test("no line is wider than the terminal, and no view is higher", () => {
  for (const colours of [true, false])
    for (let columns = 10; columns <= 200; columns += 7)
      for (const rows of [3, 16, 17, 24, 60]) {
        const lines = linesOf(scene, { columns, rows, colours });
        ok(lines.length <= rows, `${lines.length} lines in ${rows}`);
        // biome-ignore lint/suspicious/noControlCharactersInRegex: colours of the terminal
        for (const line of lines) ok(line.replace(/\u001b\[\d+m/g, "").length <= columns, line);
      }
});

test("a narrow terminal gets whole columns, short keys and no half remarks", () => {
  const lines = linesOf(scene, { columns: 38, rows: 24, colours: false });
  equal(lineOf("         state", lines), "         state     in flight  sessions");
  equal(lineOf("not delivered", lines), "not delivered              2");
  equal(lineOf("1 2 3", lines), "1 2 3 kill  s stop  e engine  q quit");
});

test("a low terminal shows the keys in its last line", () => {
  for (const rows of [1, 5, 16, 17])
    match(linesOf(scene, { columns: 80, rows, colours: false })[rows - 1] ?? "", /q quit$/);
});

test("the newest reports fill the rest of the terminal", () => {
  const shown = wide.filter((line) => line.startsWith("report"));
  equal(wide.length, 30);
  deepEqual(shown.at(-1), "report 49");
  deepEqual(
    linesOf({ ...scene, reports: [] }, { columns: 80, rows: 30, colours: false })
      .at(-1)
      ?.slice(0, 5),
    "1 2 3",
  );
});

test("colours mark the state, and only if they are wanted", () => {
  const lines = linesOf(scene, { columns: 80, rows: 30, colours: true });
  ok(lineOf("node-1", lines).includes("\u001b[32mok       \u001b[0m"));
  ok(lineOf("node-2", lines).includes("\u001b[31mkilled   \u001b[0m"));
  equal(wide.join("").includes("\u001b"), false);
});

test("numbers have separators, and times have minutes", () => {
  deepEqual([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
  deepEqual([0, 59.9, 60, 3600].map(timeOf), ["0:00", "0:59", "1:00", "60:00"]);
});
