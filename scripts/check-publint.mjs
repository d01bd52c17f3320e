import { publint } from "publint";
import { formatMessage } from "publint/utils";
import { alone } from "./lib/check.mjs";
import { at, readJson } from "./lib/project.mjs";

/** What publint says about package.json and the files it names; suggestions count too. */
export const packageLint = {
  name: "publint",
  async run() {
    const { messages } = await publint({ pkgDir: at(), strict: true });
    const manifest = readJson(at("package.json"));
    return { problems: messages.map((message) => formatMessage(message, manifest, { color: false }) ?? message.code) };
  },
};

await alone(import.meta.url, packageLint);
