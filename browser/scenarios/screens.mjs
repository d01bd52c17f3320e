import { pathToFileURL } from "node:url";
import axe from "axe-core";
import { at } from "../../scripts/lib/project.mjs";
import { bothSides, harbourDay, manyCalls, recordingOf } from "../recordings.mjs";

const { createHarbour } = await import(pathToFileURL(at("examples/dist/harbour.js")).href);

const days = () => [harbourDay("new.rec.ndjson"), harbourDay("old.rec.ndjson", "2025-11-25")];
const call = (name) => (page) => page.getByRole("gridcell", { name }).first().click();
const part = (name) => (page) => page.getByRole("navigation").getByRole("button", { name }).click();
const tab = (name) => (page) => page.getByRole("tab", { name }).click();

/** Screens of the page: a recording, and what is done to see the screen. Those with `live` need a server. */
const SCREENS = {
  timeline: { open: () => harbourDay(), steps: [call(/^call cast-off/)] },
  start: { open: () => harbourDay(), steps: [] },
  frame: {
    open: () => harbourDay(),
    steps: [
      call(/^call cast-off/),
      (page) => page.locator(".frames summary").nth(1).click(),
      (page) => page.getByText("Envelope").click(),
    ],
  },
  result: { open: () => harbourDay(), steps: [call(/^call moor, ok/), tab("Result")] },
  lost: { open: () => harbourDay(), steps: [call(/^call moor, answer lost/)] },
  catalogue: {
    open: () => harbourDay(),
    steps: [part("Catalogue"), (page) => page.getByRole("option", { name: /cast-off/ }).click()],
  },
  tasks: { open: () => harbourDay(), steps: [part("Tasks")] },
  skills: { open: () => harbourDay(), steps: [part("Skills")] },
  login: {
    open: () => harbourDay(),
    steps: [part("Login"), (page) => page.locator(".waterfall button").nth(2).click()],
  },
  findings: { open: () => harbourDay(), steps: [part("Findings")] },
  faults: { open: () => harbourDay(), steps: [part("Faults")] },
  compare: {
    open: days,
    steps: [
      part("Compare"),
      (page) => page.locator(".row", { hasText: "call cast-off" }).click(),
      (page) => page.getByText("Both have the same result.").waitFor(),
    ],
  },
  sides: {
    open: () => bothSides(),
    steps: [
      call(/^call cast-off/),
      tab("Both sides"),
      (page) => page.getByText("Both have the same result.").waitFor(),
    ],
  },
  many: { open: () => manyCalls(10_000), steps: [(page) => page.getByRole("option").nth(3).click()] },
  empty: { open: () => recordingOf("empty.rec.ndjson", []), steps: [] },
  keys: { open: () => harbourDay(), steps: [(page) => page.keyboard.press("?")] },
  copy: { open: () => harbourDay(), steps: [call(/^call moor, ok/), (page) => page.getByText("Copy as").click()] },
  form: {
    live: true,
    steps: [
      part("Catalogue"),
      (page) => page.getByRole("option", { name: /^tool moor/ }).click(),
      (page) => page.getByRole("button", { name: "Call", exact: true }).click(),
    ],
  },
  "fault-form": {
    live: true,
    steps: [part("Faults"), (page) => page.getByRole("button", { name: "Switch on" }).waitFor()],
  },
  unreachable: {
    live: "http://127.0.0.1:9/mcp",
    steps: [(page) => page.getByText(/^The connection failed/).waitFor()],
  },
  question: {
    live: true,
    steps: [
      part("Catalogue"),
      (page) => page.getByRole("option", { name: /^tool cast-off/ }).click(),
      (page) => page.getByLabel(/^berth/).fill("n1"),
      (page) => page.getByRole("button", { name: "Call", exact: true }).click(),
      (page) => page.getByRole("region", { name: "Question of the server" }).waitFor(),
    ],
  },
};

/** How each screen is looked at. */
const LOOKS = {
  light: { scheme: "light" },
  dark: { scheme: "dark" },
  narrow: { scheme: "light", width: 600, height: 900 },
};

/** Each screen is drawn to build/shots, and examined: by axe, and for what does not fit. */
export const scenarios = Object.fromEntries(
  Object.entries(SCREENS).map(([name, { open, steps, live }]) => [
    name,
    async (world) => {
      const problems = [];
      for (const [look, options] of Object.entries(LOOKS)) {
        const page = live
          ? await world.inspect([live === true ? await world.serve(createHarbour()) : live], options)
          : await world.openFile(open(), options);
        if (live === true) await page.getByRole("gridcell", { name: /^prompts\/list, ok/ }).waitFor();
        for (const step of steps) await step(page);
        await page.evaluate(() => document.fonts.ready);
        await page.screenshot({
          path: at(`build/shots/${name}-${look}.png`),
          fullPage: look === "narrow",
          animations: "disabled",
        });
        problems.push(...(await examine(page)).map((problem) => `${look}: ${problem}`));
      }
      if (problems.length > 0) throw new Error(problems.join("\n"));
    },
  ]),
);

/** Returns what axe finds, and elements that are wider than the window. */
async function examine(page) {
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
  const found = violations.flatMap(({ id, nodes }) =>
    nodes
      .slice(0, 3)
      .map(({ target, failureSummary }) => `axe ${id}: ${target.join(" ")}: ${failureSummary.replaceAll("\n", " ")}`),
  );
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  return wide > 0 ? [...found, `the page is ${wide} px wider than the window`] : found;
}
