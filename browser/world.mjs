import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
import { at } from "../scripts/lib/project.mjs";

const { htmlFile } = await import("../dist/inspect/html-file.js");
const page = (name) => readFileSync(at("dist/cli/page", name), "utf8");

/** What a scenario uses, and what it leaves to end. `told` has what a page has done against its rules. */
export class World {
  told = [];
  #browser;
  #endings = [];

  constructor(browser) {
    this.#browser = browser;
  }

  /** Opens an empty page. What breaks a rule of the inspector's page is told: an error, a warning, a request elsewhere. */
  async openPage({ width = 1280, height = 800, scheme = "light", ...more } = {}) {
    const context = await this.#browser.newContext({ viewport: { width, height }, colorScheme: scheme, ...more });
    this.#endings.push(() => context.close());
    const opened = await context.newPage();
    opened.setDefaultTimeout(15_000);
    await opened.exposeFunction("violated", (what) => this.told.push(what));
    await opened.addInitScript(watchPolicy);
    opened.on("pageerror", (error) => this.told.push(`error: ${error.stack}`));
    opened.on(
      "console",
      (message) => /error|warning/.test(message.type()) && this.told.push(`console: ${message.text()}`),
    );
    opened.on("request", (request) => {
      const url = new URL(request.url());
      const isOurs = ["data:", "blob:", "file:"].includes(url.protocol) || url.hostname === "127.0.0.1";
      if (!isOurs) this.told.push(`requested ${url.host}`);
    });
    return opened;
  }

  /** Opens recordings as one HTML file, without a server. `fragment` has settings of the page. */
  async openFile(recordings, { fragment = "", ...options } = {}) {
    const files = [recordings].flat();
    const html = await htmlFile({ script: page("app.js"), style: page("app.css") }, files);
    const path = join(this.folder(), "run.html");
    writeFileSync(path, html);
    const opened = await this.openPage(options);
    await opened.goto(`${pathToFileURL(path).href}#${fragment}`);
    await opened.locator("main").waitFor();
    return opened;
  }

  /** Starts `bowline inspect` with arguments, and opens its page. */
  async inspect(args, options = {}) {
    const url = await this.startInspector(args);
    const opened = await this.openPage(options);
    await opened.goto(options.fragment ? `${url}&${options.fragment}` : url);
    return opened;
  }

  /** Starts `bowline inspect`, and returns the address that it prints. */
  async startInspector(args) {
    const child = spawn(process.execPath, [at("dist/cli/bin.js"), "inspect", "--no-open", ...args], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    const ended = once(child, "close").then(() => undefined);
    let said = "";
    child.stderr.on("data", (text) => {
      said += text;
    });
    this.#endings.push(async () => {
      child.kill();
      await ended;
    });
    const line = await Promise.race([once(createInterface(child.stdout), "line"), ended]);
    if (line === undefined) throw new Error(`bowline inspect ended: ${said.trim()}`);
    return /http:\S+/.exec(line[0])[0];
  }

  /** Serves a server of this process over HTTP, and returns its URL. */
  async serve(server) {
    const { serveHttp } = await import("bowline/node");
    const running = await serveHttp(server, { port: 0 });
    this.#endings.push(() => running.close());
    return running.url;
  }

  /** Returns an empty folder. */
  folder() {
    const path = mkdtempSync(join(tmpdir(), "bowline-browser-"));
    this.#endings.push(() => rmSync(path, { recursive: true, force: true }));
    return path;
  }

  async close() {
    for (const end of this.#endings.splice(0).reverse()) await end();
  }
}

/** Runs in the page before its own script. */
function watchPolicy() {
  addEventListener("securitypolicyviolation", ({ effectiveDirective, blockedURI, sample }) => {
    globalThis.violated(`against ${effectiveDirective}: ${blockedURI} ${sample}`);
  });
}
