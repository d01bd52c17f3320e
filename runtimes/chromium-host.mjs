import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { relative } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
import { build, transform } from "esbuild";
import { bundlers } from "../scripts/check-browsers.mjs";
import { openChromium } from "../scripts/lib/chromium.mjs";
import { blocksOf, fileNameOf } from "../scripts/lib/markdown.mjs";
import { at, filesBelow } from "../scripts/lib/project.mjs";
import { hostProgram } from "./stage.mjs";

/**
 * Runs the suite in pages of the browser whose path is the argument, and prints the outcomes: in pages that each bundler
 * made, in one that loads the files of the package by an import map, in a dedicated worker, without a secure context,
 * and in a sandbox. Also logs in by redirect, and runs the program of docs/browsers.md.
 */
const { servePage } = await import(pathToFileURL(hostProgram("page-server")).href);
const SCRIPT = "text/javascript";
const HTML = "text/html";
const suite = at("build/runtimes");
const outcomes = [];
const bundle = await bundled("page");
const pages = {
  bundle,
  modules: mapped(),
  login: await bundled("login-page"),
  worker: await bundled("worker-page", "worker"),
  // Without https, and not on this machine as far as the browser knows.
  insecure: { ...bundle, hostname: "page.test" },
  sandboxed: { ...bundle, isSandboxed: true },
};
for (const name of ["webpack", "rollup", "vite"]) pages[name] = await bundledBy(name);
const browser = await openChromium(process.argv[2], {
  args: ["--host-resolver-rules=MAP page.test 127.0.0.1"],
  // Playwright switches off that the browser keeps a page which the user leaves, and brings it back as it was.
  ignoreDefaultArgs: ["--disable-back-forward-cache"],
});
try {
  for (const [name, page] of Object.entries(pages)) {
    const found = await visit(page).catch(({ message }) => [{ wire: "page", check: "end", problem: message }]);
    outcomes.push(...found.map((outcome) => ({ ...outcome, wire: `${name} ${outcome.wire}` })));
  }
  outcomes.push(...(await runProgram()));
} finally {
  await browser.close();
}
console.log(JSON.stringify(outcomes));

/** Opens a page, and returns what it reports, with the errors that the browser tells of it. */
async function visit(made) {
  const served = await servePage(made);
  const context = await browser.newContext();
  try {
    const { page, told } = await openPage(context);
    const reported = new Promise((resolve, reject) => {
      page.exposeFunction("report", resolve);
      page.on("crash", () => reject(new Error("the page crashed")));
      page.on("pageerror", reject);
    });
    await page.exposeFunction("openHarbour", served.openHarbour);
    await page.exposeFunction("openProtected", served.openProtected);
    await page.exposeFunction("closeHarbour", served.closeHarbour);
    await page.goto(served.url);
    const found = await reported;
    const scope = await page.evaluate(() => `${origin} ${isSecureContext}`);
    const wanted = `${served.origin} ${made.hostname === undefined}`;
    if (scope !== wanted) told.push(`the origin and its security are ${scope} instead of ${wanted}`);
    return [...found, { wire: "page", check: "no error, nothing against the policy", ...problemOf(told) }];
  } finally {
    await context.close();
    await served.close();
  }
}

/** Opens an empty page. `told` are its errors and what it does against its policy. */
async function openPage(context) {
  const page = await context.newPage();
  const told = [];
  page.on("pageerror", (error) => told.push(String(error)));
  await page.exposeFunction("violated", (what) => told.push(what));
  await page.addInitScript(watchPolicy);
  return { page, told };
}

function problemOf(told) {
  return told.length === 0 ? {} : { problem: told.join("; ") };
}

/**
 * Runs the program of docs/browsers.md on free ports. Waits until its page shows the result of the call, leaves the page
 * and comes back.
 */
async function runProgram() {
  const program = spawn(process.execPath, ["app.js"], {
    cwd: await writeProgram(),
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ended = once(program, "close").then(() => undefined);
  let said = "";
  program.stderr.on("data", (text) => {
    said += text;
  });
  const context = await browser.newContext();
  const { page, told } = await openPage(context);
  const outcomes = [];
  try {
    const line = await Promise.race([once(createInterface(program.stdout), "line"), ended]);
    if (line === undefined) throw new Error(`ended before it listened: ${said.trim()}`);
    const url = /http:\S+/.exec(line[0])[0];
    await page.goto(url);
    await page.getByText("Cold in Oslo").waitFor();
    outcomes.push({ wire: "docs", check: "program", ...problemOf(told.splice(0)) });
    await page.evaluate(leave);
    await page.goto(`${url}/page.js`);
    await page.goBack({ waitUntil: "commit" });
    await page.locator("body:not([data-left])", { hasText: "Cold in Oslo" }).waitFor();
    const wasKept = await page.evaluate(() => sessionStorage.getItem("kept"));
    if (wasKept === null) throw new Error("the browser did not keep the page");
    outcomes.push({ wire: "docs", check: "back", ...problemOf(told) });
    return outcomes;
  } catch (error) {
    return [...outcomes, { wire: "docs", check: "end", ...problemOf([...told, error.message]) }];
  } finally {
    await context.close();
    program.kill();
    await ended;
  }
}

/** Writes the files of the program, with other ports, and returns their folder. The page is bundled by the program. */
async function writeProgram() {
  const folder = `${suite}/docs`;
  mkdirSync(folder, { recursive: true });
  const ports = { 3000: await freePort(), 8080: await freePort() };
  for (const { code } of blocksOf(at("docs/browsers.md"))) {
    const name = fileNameOf(code);
    if (name === undefined) continue;
    const own = code.replace(/\b(?:3000|8080)\b/g, (port) => ports[port]);
    writeFileSync(`${folder}/${name}`, own);
    const { code: script } = await transform(own, { loader: "ts", format: "esm" });
    if (name === "app.ts") writeFileSync(`${folder}/app.js`, script);
  }
  return folder;
}

async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return port;
}

/** Runs in the page. Marks its document, and notes that the browser brings it back as it was. */
function leave() {
  document.body.dataset.left = "";
  addEventListener("pageshow", ({ persisted }) => persisted && sessionStorage.setItem("kept", ""));
}

/** Runs in the page before its own scripts. Code that is made from text breaks the policy even if it catches the error. */
function watchPolicy() {
  addEventListener("securitypolicyviolation", ({ effectiveDirective, blockedURI }) => {
    globalThis.violated(`against ${effectiveDirective}: ${blockedURI}`);
  });
}

/** Bundles programs by esbuild, and returns a page that starts the first one. */
async function bundled(...names) {
  const outdir = at("build/runtimes/page");
  const options = { bundle: true, splitting: true, format: "esm", minify: true, write: false, logLevel: "silent" };
  const { outputFiles } = await build({ ...options, entryPoints: names.map(hostProgram), outdir });
  const files = outputFiles.map(({ path, contents }) => [
    `/${relative(outdir, path)}`,
    { type: SCRIPT, content: contents },
  ]);
  const start = html(`/${names[0]}.js`);
  return { files: new Map([["/", start], ["/callback", start], ...files]) };
}

/** Bundles the page of the suite by another bundler, with its defaults. */
async function bundledBy(name) {
  const source = `${suite}/${name}`;
  const outdir = `${source}/dist`;
  mkdirSync(source);
  writeFileSync(`${source}/page.js`, 'import "../hosts/page.js";');
  writeFileSync(`${source}/index.html`, html("./page.js").content);
  await bundlers[name](source, outdir);
  const files = filesBelow(outdir, ".js").map((path) => [
    `/${relative(outdir, path)}`,
    { type: SCRIPT, content: readFileSync(path) },
  ]);
  const starts = {
    webpack: () => ({ type: HTML, content: html("/main.js").content.replace('type="module"', "defer") }),
    rollup: () => html("/page.js"),
    vite: () => ({ type: HTML, content: readFileSync(`${outdir}/index.html`) }),
  };
  return { files: new Map([["/", starts[name]()], ...files]) };
}

/** The import map is an inline script, which the policy allows by its hash. */
function mapped() {
  const dist = "/node_modules/bowline/dist/entry";
  const imports = { "bowline/client": `${dist}/browser/client.js`, "bowline/server": `${dist}/server.js` };
  const map = JSON.stringify({ imports });
  const parts = filesBelow(`${suite}/node_modules/bowline/dist`, ".js");
  const files = [hostProgram("page"), `${suite}/suite.js`, `${suite}/harbour.js`, ...parts];
  const served = files.map((path) => [`/${relative(suite, path)}`, { type: SCRIPT, content: readFileSync(path) }]);
  return {
    files: new Map([["/", html("/hosts/page.js", map)], ...served]),
    hashes: [createHash("sha256").update(map).digest("base64")],
  };
}

function html(script, map) {
  const imports = map === undefined ? "" : `<script type="importmap">${map}</script>`;
  const head = `<!doctype html><meta charset="utf-8"><title>suite</title>${imports}`;
  return { type: HTML, content: `${head}<script type="module" src="${script}"></script>` };
}
