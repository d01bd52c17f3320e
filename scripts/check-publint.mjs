import { join } from "node:path";
import { publint } from "publint";
import { formatMessage } from "publint/utils";
import { alone } from "./lib/check.mjs";
import { readJson } from "./lib/project.mjs";
import { stagePackage } from "./package.mjs";

/** What publint says about the staged package.json and the files it names; suggestions count too. */
export const packageLint = {
  name: "publint",
  async run() {
    const pkgDir = await stagePackage();
    const { messages } = await publint({ pkgDir, strict: true });
    const manifest = readJson(join(pkgDir, "package.json"));
    return { problems: messages.map((message) => formatMessage(message, manifest, { color: false }) ?? message.code) };
  },
};

await alone(import.meta.url, packageLint);
