import { deepEqual, equal, match, ok } from "node:assert/strict";
import { readFileSync } from "node:fs";
import { harbourDay, manyCalls, recordingOf } from "../recordings.mjs";

const bar = (page, name) => page.getByRole("gridcell", { name });
const focused = (page, pattern) =>
  page.waitForFunction(
    (source) => new RegExp(source).test(document.activeElement?.getAttribute("aria-label") ?? ""),
    pattern.source,
  );

/** The page without a server: recordings in one HTML file. */
export const scenarios = {
  async "a recording is drawn in lanes"(world) {
    const page = await world.openFile(harbourDay());
    await bar(page, /^call cast-off, ok, \d+ ms, 2 rounds$/).waitFor();
    const lanes = await page.getByRole("rowheader").allTextContents();
    deepEqual(lanes, ["session", "calls", "tasks", "subscriptions", "authorization", "stderr"]);
    for (const name of [
      /^call sound-the-horn, cancelled/,
      /^call moor, answer lost/,
      /^call run-aground, failed/,
      /^stderr warning/,
    ])
      equal(await bar(page, name).count(), 1);
    equal(
      await bar(page, /^call cast-off/)
        .locator(".wait")
        .count(),
      1,
    );
    equal(await page.title(), "harbour – Inspector");
  },

  async "a click shows the frames of a call, folded"(world) {
    const page = await world.openFile(harbourDay());
    await bar(page, /^call cast-off/).click();
    const frames = page.locator(".frames li");
    equal(await frames.count(), 4);
    await frames.first().locator("summary").first().click();
    await page.getByText("Envelope").waitFor();
    equal(await page.getByText("protocolVersion").count(), 0);
    await page.getByText("Envelope").click();
    await page.getByText("protocolVersion").first().waitFor();
    await page.getByText(/^HTTP POST \/mcp/).click();
    await page.getByText("<bearer:1>").waitFor();
  },

  async "a lost answer tells whether the call may be repeated"(world) {
    const page = await world.openFile(harbourDay());
    await bar(page, /^call moor, answer lost/).click();
    await page.getByText("It is not safe to repeat the call.").waitFor();
    await page.getByText("Delivery: answer lost.").waitFor();
    await page.getByText("fault: cut").waitFor();
  },

  async "everything is reached by the keyboard"(world) {
    const page = await world.openFile(harbourDay());
    await bar(page, /^call moor/)
      .first()
      .waitFor();
    await page.keyboard.press("ArrowRight");
    await focused(page, /./);
    await page.keyboard.press("End");
    await focused(page, /^prompt log-entry/);
    await page.keyboard.press("Home");
    await focused(page, /^challenge/);
    await page.keyboard.press("ArrowUp");
    await focused(page, /^subscriptions\/listen/);
    await page.keyboard.press("ArrowRight");
    await focused(page, /^call moor, ok/);
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.activeElement?.id === "detail");
    await page.keyboard.press("Escape");
    await page.waitForFunction(() => document.activeElement?.getAttribute("role") === "gridcell");
    await page.keyboard.press("Escape");
    await page.getByText("Select a call.").waitFor();
    await page.keyboard.press("/");
    await page.keyboard.type("cast");
    await page.waitForFunction(() => document.querySelectorAll("[role=gridcell]").length === 1);
    await page.keyboard.press("Escape");
    await page.waitForFunction(() => document.querySelectorAll("[role=gridcell]").length > 1);
    await page.keyboard.press("Escape");
    await page.keyboard.press("?");
    await page.getByRole("dialog").waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "hidden" });
  },

  async "the timeline zooms, moves and shows all again"(world) {
    const page = await world.openFile(harbourDay());
    const ticks = () => page.locator(".tick").allTextContents();
    const whole = await ticks();
    await bar(page, /^call cast-off/).click();
    await page.keyboard.press("+");
    await page.keyboard.press("+");
    const near = await ticks();
    ok(near.join() !== whole.join());
    await page.keyboard.press("0");
    deepEqual(await ticks(), whole);
    const box = await page.locator(".lanes").boundingBox();
    await page.mouse.move(box.x + 500, box.y + 20);
    await page.keyboard.down("Control");
    await page.mouse.wheel(0, -300);
    await page.keyboard.up("Control");
    await page.waitForFunction(
      (text) => [...document.querySelectorAll(".tick")].map((tick) => tick.textContent).join() !== text,
      whole.join(),
    );
  },

  async "the catalogue has tokens and findings beside each item"(world) {
    const page = await world.openFile(harbourDay());
    await page.getByRole("button", { name: "Catalogue" }).click();
    const option = page.getByRole("option", { name: /cast-off/ });
    match(await option.textContent(), /1 finding/);
    match(await option.locator(".tokens").textContent(), /^\d+$/);
    await option.click();
    await page.getByText("the tool cast-off has no hint").waitFor();
    equal(await page.getByRole("button", { name: "Call", exact: true }).count(), 0);
  },

  async "tasks, skills, the login, findings and faults have their lists"(world) {
    const page = await world.openFile(harbourDay());
    const open = (name) => page.getByRole("navigation").getByRole("button", { name }).click();
    await open("Tasks");
    await page.getByText("40 soundings").waitFor();
    await open("Skills");
    await page.getByText("scripts/tie.sh").waitFor();
    await open("Login");
    equal(await page.locator(".waterfall li").count(), 6);
    equal(await page.locator(".waterfall li", { hasText: "tried the next address" }).count(), 1);
    await open("Findings");
    await page.getByRole("button", { name: "line 14" }).click();
    await open("Faults");
    await page.getByRole("button", { name: /cut/ }).click();
    await page.getByText("It is not safe to repeat the call.").waitFor();
  },

  async "two runs are compared by call, and by frame"(world) {
    const page = await world.openFile([harbourDay("new.rec.ndjson"), harbourDay("old.rec.ndjson", "2025-11-25")]);
    await page.getByRole("button", { name: "Compare" }).click();
    await page.locator(".row").filter({ hasText: "call cast-off" }).click();
    await page.getByText("Both have the same result.").waitFor();
    equal(await page.locator(".compare-cell.differs").count(), 0);
    await page.getByText("old.rec.ndjson, 2025-11-25").waitFor();
  },

  async "a call is copied in each form"(world) {
    const page = await world.openFile(harbourDay(), { permissions: ["clipboard-read", "clipboard-write"] });
    await bar(page, /^call moor, ok/).click();
    for (const [name, pattern] of [
      ["Test", /replayServer\("harbour\.rec\.ndjson"\)/],
      ["TypeScript", /client\.callTool\("moor"/],
      ["bowline call", /^bowline call http:\/\/127\.0\.0\.1:4100\/mcp moor --args/],
      ["curl", /\$MCP_TOKEN/],
      ["JSON", /"message"/],
    ]) {
      await page.getByText("Copy as").click();
      await page.getByRole("button", { name, exact: true }).click();
      await page.getByRole("status").getByText(`Copied as ${name}.`).waitFor();
      match(await page.evaluate(() => navigator.clipboard.readText()), pattern);
    }
  },

  async "a recording is saved as it was, and opened again"(world) {
    const day = harbourDay();
    const page = await world.openFile(day);
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Save" }).click(),
    ]);
    equal(download.suggestedFilename(), day.name);
    const path = await download.path();
    equal(readFileSync(path, "utf8").trim(), day.text);
    await page
      .locator("input[type=file]")
      .setInputFiles({ name: "again.rec.ndjson", mimeType: "application/x-ndjson", buffer: readFileSync(path) });
    await page.getByRole("combobox", { name: "Recording" }).selectOption("again.rec.ndjson");
  },

  async "a damaged file is told, and the page stays"(world) {
    const page = await world.openFile(harbourDay());
    const buffer = Buffer.from(`${harbourDay().text.split("\n", 3).join("\n")}\n{"t":1,"k":\n`);
    await page
      .locator("input[type=file]")
      .setInputFiles({ name: "cut.rec.ndjson", mimeType: "application/x-ndjson", buffer });
    await page
      .getByRole("alert")
      .getByText(/cut\.rec\.ndjson: Recording, line 4: is not JSON/)
      .waitFor();
    await page.getByRole("alert").getByRole("button", { name: "close" }).click();
    await bar(page, /^call cast-off/).click();
  },

  async "text of a server stays text"(world) {
    const nasty = `<img src=x onerror=alert(1)><script>alert(2)</script>\u202e\u0000</script><!--`;
    const tool = {
      name: nasty,
      description: nasty,
      inputSchema: { type: "object", properties: { [nasty]: { type: "string", title: nasty, description: nasty } } },
    };
    const frame = (t, d, m) => ({ t, k: "frame", c: 1, d, m: { jsonrpc: "2.0", ...m } });
    const events = [
      { t: 0, k: "open", c: 1, wire: "memory", role: "client", server: { name: nasty } },
      frame(1, ">", { id: 1, method: "tools/list" }),
      frame(2, "<", { id: 1, result: { tools: [tool], [nasty]: nasty } }),
      frame(3, ">", { id: 2, method: "tools/call", params: { name: nasty, arguments: { [nasty]: nasty } } }),
      frame(4, "<", {
        id: 2,
        result: {
          content: [
            { type: "text", text: nasty },
            { type: "image", mimeType: "image/svg+xml", data: btoa("<svg onload=alert(3)>") },
            { type: "image", mimeType: "image/png", data: "!" },
            { type: "resource_link", uri: "javascript:alert(4)", name: nasty },
          ],
        },
      }),
      frame(5, "<", {
        id: 7,
        method: "elicitation/create",
        params: { mode: "url", url: "javascript:alert(5)", message: nasty },
      }),
      {
        t: 6,
        k: "ask",
        c: 1,
        n: 1,
        method: "elicitation/create",
        params: { mode: "url", url: "javascript:alert(5)", message: nasty },
      },
      { t: 7, k: "stderr", c: 1, text: nasty },
    ];
    const page = await world.openFile(recordingOf(nasty, events));
    page.on("dialog", () => world.told.push("a dialog opened"));
    await page.getByRole("gridcell").nth(1).click();
    await page.getByRole("tab", { name: "Result" }).click();
    await page.getByText("The picture is not base64.").waitFor();
    await page.getByText("image/svg+xml").waitFor();
    await page.getByRole("navigation").getByRole("button", { name: "Catalogue" }).click();
    await page.getByRole("option").click();
    equal(await page.locator("img[src='x'], a[href^='javascript'], main script").count(), 0);
    ok((await page.locator("body").innerText()).includes("\\u{202e}"));
    equal(await page.locator("main").evaluate((main) => /[\u202e\0]/.test(main.outerHTML)), false);
  },

  async "light and dark follow the system until a button chooses"(world) {
    const page = await world.openFile(harbourDay(), { scheme: "dark" });
    const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const dark = await background();
    await page.getByRole("button", { name: "Use light colours" }).click();
    const light = await background();
    ok(dark !== light);
    await page.getByRole("button", { name: "Use dark colours" }).click();
    equal(await background(), dark);
    await page.waitForFunction(() => location.hash.includes("scheme=dark"));
    await page.reload();
    await page.getByRole("button", { name: "Use light colours" }).waitFor();
    equal(await page.evaluate(() => localStorage.length + sessionStorage.length), 0);
  },

  async "ten thousand calls are summed up, and each can be reached"(world) {
    const page = await world.openFile(manyCalls(10_000));
    await page.locator("canvas.density").first().waitFor();
    const drawn = await page.getByRole("gridcell").count();
    ok(drawn < 500, `${drawn} bars`);
    ok((await page.getByRole("option").count()) < 80);
    await page.getByRole("listbox", { name: "Events" }).focus();
    await page.keyboard.press("End");
    await page.getByRole("option", { selected: true }).getByText("tool-3").waitFor();
    await page.getByRole("gridcell", { selected: true }).waitFor();
    await page.getByRole("searchbox").fill("state:error");
    await page.waitForFunction(() => document.querySelector("[role=option]")?.getAttribute("aria-setsize") === "200");
  },

  async "an empty page says what to do"(world) {
    const page = await world.openFile(recordingOf("empty.rec.ndjson", []));
    await page.getByText("No traffic yet. Calls appear here as they happen.").waitFor();
    await page.getByText("Open a recording, or wait for traffic.").waitFor();
  },
};

/** Longest times, on a machine that does nothing else. Each note has the time of the processor too, which others do not change. */
export const timings = {
  async "ten thousand calls open within a second"(world) {
    const page = await world.openFile(manyCalls(10_000));
    await page.locator("canvas.density").waitFor();
    const ms = await page.evaluate(() => performance.now());
    const note = `${ms.toFixed(0)} ms`;
    ok(ms < 1000, note);
    return note;
  },

  async "a key press with a hundred thousand events takes less than 50 ms"(world) {
    const page = await world.openFile(manyCalls(50_000));
    await page.locator("canvas.density").waitFor();
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("ArrowRight");
    await page.getByRole("gridcell", { selected: true }).waitFor();
    const session = await page.context().newCDPSession(page);
    await session.send("Performance.enable", { timeDomain: "threadTicks" });
    const cpu = async () => {
      const { metrics } = await session.send("Performance.getMetrics");
      return metrics.find(({ name }) => name === "TaskDuration").value * 1000;
    };
    const before = await cpu();
    const times = await page.evaluate(async () => {
      const taken = [];
      for (let press = 0; press < 30; press++) {
        const begun = performance.now();
        const event = new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true, cancelable: true });
        document.activeElement?.dispatchEvent(event);
        // A frame is drawn with the change, then a task runs.
        await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
        taken.push(performance.now() - begun);
      }
      return taken.sort((a, b) => a - b);
    });
    const own = ((await cpu()) - before) / times.length;
    const note = `median ${times[15].toFixed(0)} ms, ${own.toFixed(0)} ms of the processor`;
    ok(times[15] < 50, note);
    return note;
  },
};
