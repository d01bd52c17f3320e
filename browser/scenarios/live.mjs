import { equal, match, ok, rejects } from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { connect } from "bowline/client";
import { McpServer } from "bowline/server";
import { replayServer } from "bowline/testing";
import { at } from "../../scripts/lib/project.mjs";
import { harbourDay } from "../recordings.mjs";

const { createHarbour } = await import(pathToFileURL(at("examples/dist/harbour.js")).href);
const harbour = ["--", process.execPath, at("examples/dist/skills-server.js")];
const bar = (page, name) => page.getByRole("gridcell", { name });

/** Opens the catalogue, and the form of an item. */
async function choose(page, name) {
  await page.getByRole("navigation").getByRole("button", { name: "Catalogue" }).click();
  await page.getByRole("option", { name }).click();
  await page.getByRole("heading", { name: "As the server lists it" }).waitFor();
}

/** Calls the tool moor by its form. */
async function moor(page, ship = "Maria") {
  await choose(page, /^tool moor/);
  await page.getByLabel(/^ship/).fill(ship);
  await page.getByLabel(/^berth/).fill("n1");
  await page.getByRole("button", { name: "Call", exact: true }).click();
}

/** The page with `bowline inspect`, in front of real servers. */
export const scenarios = {
  async "the connection is made, and its catalogue is listed"(world) {
    const page = await world.inspect(harbour);
    await bar(page, /^server\/discover, ok/).waitFor();
    await page.getByRole("heading", { name: "harbour" }).waitFor();
    await page.getByText("2026-07-28").first().waitFor();
    await choose(page, /^tool cast-off/);
    equal(await page.evaluate(() => location.hash.includes("token")), false);
  },

  async "a call by its form shows progress and its result"(world) {
    const page = await world.inspect([await world.serve(createHarbour())]);
    await moor(page);
    await bar(page, /^call moor, ok/).waitFor();
    await page.getByText("progress 4 of 4").waitFor();
    await page.getByRole("tab", { name: "Result" }).click();
    await page.locator(".result").getByText("Maria").first().waitFor();
  },

  async "what is missing is told beside its field, and nothing is sent"(world) {
    const page = await world.inspect(harbour);
    await choose(page, /^tool moor/);
    await page.getByRole("button", { name: "Call", exact: true }).click();
    await page.getByText("ship is required").waitFor();
    equal(await bar(page, /^call moor/).count(), 0);
    equal(await page.getByLabel(/^ship/).getAttribute("aria-invalid"), "true");
  },

  async "a question is answered in its call"(world) {
    const page = await world.inspect(harbour);
    await choose(page, /^tool cast-off/);
    await page.getByLabel(/^berth/).fill("n1");
    await page.getByRole("button", { name: "Call", exact: true }).click();
    const question = page.getByRole("region", { name: "Question of the server" });
    await question.getByText("Let nothing go from n1?").waitFor();
    match(await page.title(), /^\(1\) /);
    await bar(page, /^call cast-off, waits for you/).waitFor();
    await question.getByRole("button", { name: "Accept" }).click();
    await question.getByText("sure is required").waitFor();
    await question.getByLabel("yes").check();
    await question.getByRole("button", { name: "Accept" }).click();
    await bar(page, /^call cast-off, ok.*2 rounds/).waitFor();
    await page.getByText("result: nothing is off").waitFor();
    equal(await question.count(), 0);
  },

  async "a question is declined"(world) {
    const page = await world.inspect(harbour);
    await choose(page, /^tool cast-off/);
    await page.getByLabel(/^berth/).fill("n2");
    await page.getByRole("button", { name: "Call", exact: true }).click();
    await page.getByRole("button", { name: "Decline" }).click();
    await page.getByText("result: nothing stays").waitFor();
  },

  async "a call is cancelled"(world) {
    const interrupted = deferred();
    const page = await world.inspect([await world.serve(createHarbour(interrupted.resolve))]);
    await choose(page, /^tool sound-the-horn/);
    await page.getByRole("button", { name: "Call", exact: true }).click();
    await bar(page, /^call sound-the-horn, in progress/).click();
    await page.getByText("progress 1  toot").waitFor();
    await page.getByRole("button", { name: "Cancel" }).click();
    await bar(page, /^call sound-the-horn, cancelled/).waitFor();
    await interrupted.promise;
  },

  async "a call in both eras is shown side by side"(world) {
    const page = await world.inspect([await world.serve(createHarbour())]);
    await choose(page, /^tool moor/);
    await page.getByLabel(/^ship/).fill("Maria");
    await page.getByLabel(/^berth/).fill("n1");
    await page.getByRole("button", { name: "Call in both eras" }).click();
    await page.waitForFunction(
      () => document.querySelectorAll("[role=gridcell][aria-label^='call moor, ok']").length === 2,
    );
    await page.keyboard.press("Escape");
    await bar(page, /^call moor, ok/)
      .first()
      .click();
    await page.keyboard.press("c");
    await page.getByText("Both have the same result.").waitFor();
    equal(await page.locator(".compare-head").count(), 2);
  },

  async "prompts and resources are used by their forms"(world) {
    const page = await world.inspect([await world.serve(createHarbour())]);
    await choose(page, /^prompt log-entry/);
    await page.getByLabel(/^ship/).fill("Maria");
    await page.getByRole("button", { name: "Get", exact: true }).click();
    await bar(page, /^prompt log-entry, ok/).click();
    await choose(page, /^template berth/);
    await page.getByLabel(/^name/).fill("n1");
    await page.getByRole("button", { name: "Read", exact: true }).click();
    await bar(page, /^read berth:\/\/n1, ok/).waitFor();
  },

  async "a cut loses the answer, and again in a replay of the saved recording"(world) {
    const page = await world.inspect([await world.serve(createHarbour())]);
    await page.getByRole("navigation").getByRole("button", { name: "Faults" }).click();
    const toClient = page.getByRole("group", { name: "To the client" });
    await toClient.getByLabel("cut after").fill("1");
    await page.getByLabel("method").fill("tools/call");
    await page.getByRole("button", { name: "Switch on" }).click();
    await page.getByRole("button", { name: "Switch off" }).waitFor();
    await moor(page);
    await bar(page, /^call moor, answer lost/).click();
    await page.getByText("It is not safe to repeat the call.").waitFor();
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Save" }).click(),
    ]);
    const saved = readFileSync(await download.path(), "utf8");
    ok(saved.includes('"k":"fault"'));
    const server = await replayServer(saved);
    const fetch = (url, init) => server.fetch(new Request(url, init));
    const client = await connect(JSON.parse(saved.split("\n")[1]).server.url, { fetch });
    const call = client.callTool("moor", { ship: "Maria", berth: "n1" });
    await rejects(call, { delivery: "answer_lost", retrySafe: false });
    await client.close();
    await server.close();
  },

  async "a reload continues where the page was"(world) {
    const page = await world.inspect(harbour);
    await choose(page, /^tool moor/);
    await moor(page, "Anna");
    await bar(page, /^call moor, ok/).waitFor();
    await page.reload();
    await bar(page, /^call moor, ok/).waitFor();
  },

  async "a resource is watched until the user stops it"(world) {
    const harbourServer = createHarbour();
    harbourServer.resource("tide://now", { name: "tide" }, () => "low");
    const page = await world.inspect([await world.serve(harbourServer)]);
    await choose(page, /^resource tide/);
    await page.getByRole("button", { name: "Watch changes" }).click();
    await page.getByRole("button", { name: "Stop watching" }).waitFor();
    await bar(page, /^subscriptions\/listen, in progress/).waitFor();
    await page.getByRole("button", { name: "Stop watching" }).click();
    await bar(page, /^subscriptions\/listen, ok/).waitFor();
  },

  async "the doctor's findings are listed"(world) {
    const server = new McpServer({ name: "shy", version: "1.0.0" }).tool("delete-all", {}, () => "gone");
    const page = await world.inspect([await world.serve(server)]);
    await page.getByRole("navigation").getByRole("button", { name: "Findings" }).click();
    await page.getByRole("button", { name: "Examine the server" }).click();
    await page.locator(".finding").first().waitFor();
  },

  async "skills are listed, and their files verified"(world) {
    const page = await world.inspect(harbour);
    await page.getByRole("navigation").getByRole("button", { name: "Skills" }).click();
    await page.getByRole("button", { name: "List skills" }).click();
    const file = page.locator(".files li").first();
    await file.getByRole("button", { name: /^Read and verify/ }).click();
    await file.getByText("verified", { exact: true }).waitFor();
  },

  async "a server that cannot be reached is told"(world) {
    const page = await world.inspect(["http://127.0.0.1:9/mcp"]);
    const alert = page.getByRole("alert");
    await alert.getByText(/^The connection failed: /).waitFor();
    await alert.getByRole("button", { name: "Connect" }).click();
    await alert.getByText(/^The connection failed: /).waitFor();
  },

  async "the address is good once"(world) {
    const url = await world.startInspector(harbour);
    const first = await world.openPage();
    await first.goto(url);
    await bar(first, /^server\/discover/).waitFor();
    const second = await world.openPage();
    await second.goto(url);
    await second
      .getByRole("alert")
      .getByText(/the token was used before/)
      .waitFor();
    equal(await second.getByRole("gridcell").count(), 0);
    world.told = world.told.filter((text) => !/status of 401/.test(text));
  },

  async "recordings open in the inspector"(world) {
    const folder = world.folder();
    const paths = ["a.rec.ndjson", "b.rec.ndjson"].map((name) => join(folder, name));
    for (const path of paths) writeFileSync(path, harbourDay().text);
    const page = await world.inspect(paths);
    await bar(page, /^call cast-off, ok/).waitFor();
    await page.getByRole("combobox", { name: "Recording" }).waitFor();
    await page.getByRole("navigation").getByRole("button", { name: "Compare" }).click();
    await page.locator(".row", { hasText: "call cast-off" }).waitFor();
  },
};

function deferred() {
  let resolve;
  const promise = new Promise((done) => {
    resolve = done;
  });
  return { promise, resolve };
}
