import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { cliPage } from "./cli-page.mjs";
import { doctorPage } from "./doctor-page.mjs";
import { alone } from "./lib/check.mjs";
import { execTsc, lines } from "./lib/exec.mjs";
import { allPages, blocksOf, deadLinks, examplesOf, fileNameOf, pages } from "./lib/markdown.mjs";
import { at, filesBelow, shown } from "./lib/project.mjs";
import { llmsText } from "./llms.mjs";

const folder = at("build/docs-snippets");

const settings = {
  extends: "../../tsconfig.base.json",
  compilerOptions: {
    noEmit: true,
    composite: false,
    incremental: false,
    allowImportingTsExtensions: true,
    noUnusedLocals: false,
    noUnusedParameters: false,
    noImplicitReturns: false,
  },
  include: ["**/*.ts"],
};

/** Names that examples in comments may use: an example in an editor is short, and has no imports. */
const FRONT = `import { jwtVerifier, protect } from "bowline/auth/server";
import { connect, createGroup, pinned, type ClientInterceptor } from "bowline/client";
import { inspect } from "bowline/inspect";
import { recordingFile, serveHttp, serveStdio } from "bowline/node";
import { defineState } from "bowline/state";
import { tasks } from "bowline/tasks/server";
import { Recording, replayClient, replayServer, withFetchFaults } from "bowline/testing";
import * as z from "zod";
`;

/** Server, client and context of examples. An example may declare its own in their place. */
const SCENE = `const server = new McpServer({ name: "weather", version: "1.0.0" });
const client = await connect("https://example.com/mcp");
async function example(ctx: Context) {
`;

/**
 * Compiles every TypeScript block of the pages as a module of its own, against the built package. A block that begins with
 * `// name.ts` is that file, which other blocks of the page import. Compiles the examples in comments of the source in the
 * same way. Also checks the links of all pages, and that `llms.txt` and the help texts in `docs/cli.md` are current.
 */
export const docs = {
  name: "docs",
  async run() {
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
    const problems = [...staleGuide(), ...(await staleHelp()), ...allPages().flatMap((page) => deadLinks(page))];
    const places = new Map();
    for (const page of pages()) {
      const home = shown(page).replace(/\.md$/, "").replaceAll("/", "-");
      mkdirSync(join(folder, home));
      let before = "";
      for (const [index, { place, info, code, rule }] of blocksOf(page).entries()) {
        if (info !== "ts") problems.push(`${place}: mark the block as \`ts\`, not as \`${info}\``);
        const front = rule === undefined ? "" : rule === "continue" ? before : `${rule}\n`;
        before = `${front}${code}`;
        const name = `${home}/${fileNameOf(code) ?? `${index + 1}.ts`}`;
        if (places.has(name)) problems.push(`${place}: another block of the page is also named ${name}`);
        places.set(name, { place, skipped: front.split("\n").length - 1 });
        writeFileSync(join(folder, name), before);
      }
    }
    mkdirSync(join(folder, "source"));
    for (const file of filesBelow(at("src"), ".ts")) {
      for (const { place, code } of examplesOf(file)) {
        const entry = shown(file).endsWith("server-modern.ts") ? "bowline/server/modern" : "bowline/server";
        const name = `source/${places.size}.ts`;
        const [front, end] = code.startsWith("declare module")
          ? [FRONT, ""]
          : [`import { type Context, McpServer } from "${entry}";\n${FRONT}${SCENE}`, "}\n"];
        places.set(name, { place, skipped: front.split("\n").length - 1 });
        writeFileSync(join(folder, name), `${front}${code.replace(/^export default /gm, "void ")}${end}`);
      }
    }
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(settings));
    if (places.size === 0) problems.push("no page has a TypeScript block");
    else problems.push(...(await compile(places)));
    return { problems, note: `${places.size} blocks` };
  },
};

function staleGuide() {
  const written = existsSync(at("llms.txt")) ? readFileSync(at("llms.txt"), "utf8") : undefined;
  return written === llmsText() ? [] : ["llms.txt is not made from the current pages: run node scripts/llms.mjs"];
}

async function staleHelp() {
  const { isCurrent, missing } = await cliPage();
  return [
    ...missing.map((name) => `docs/cli.md: has no help of ${name}`),
    ...((await doctorPage()).isCurrent
      ? []
      : ["docs/doctor.md has not the current rules: run node scripts/doctor-page.mjs"]),
    ...(isCurrent ? [] : ["docs/cli.md has not the current help texts: run node scripts/cli-page.mjs"]),
  ];
}

/** Compiles the blocks. Returns the messages of the compiler with the line in the page. */
async function compile(places) {
  const { code, output } = await execTsc(["-p", folder, "--pretty", "false"]);
  if (code === 0) return [];
  return lines(output).map((line) => {
    const [, name, row, message] = line.match(/([^/\\]+[/\\][^/\\(]+\.ts)\((\d+),\d+\): (.*)$/) ?? [];
    const origin = places.get(name?.replace("\\", "/"));
    if (origin === undefined) return line;
    const [page, start] = origin.place.split(":");
    return `${page}:${Number(start) + Number(row) - origin.skipped}: ${message}`;
  });
}

await alone(import.meta.url, docs);
