import { isVersionList } from "../../protocol/errors.js";
import { isObject } from "../../protocol/json.js";
import type { AnswerFacts, EraFacts, ErrorFacts } from "../facts.js";
import type { Link, Reply } from "../session.js";

/** Name of nothing that a server has. */
export const NOTHING = "bowline-doctor-no-such-thing";

/** Time for a refusal. */
const REFUSAL_MS = 5_000;

/** Asks for what does not exist, as far as the server declares to have such things. Calls no tool. */
export async function probeErrors({ capabilities }: EraFacts, link: Link): Promise<readonly ErrorFacts[]> {
  const timeoutMs = REFUSAL_MS;
  const facts: ErrorFacts[] = [];
  facts.push({ of: "method", ...answerOf(await link.ask(`${NOTHING}/method`, undefined, { timeoutMs })) });
  if (capabilities?.resources !== undefined)
    facts.push({
      of: "resource",
      ...answerOf(await link.ask("resources/read", { uri: `${NOTHING}://nothing` }, { timeoutMs })),
    });
  if (capabilities?.prompts !== undefined)
    facts.push({ of: "prompt", ...answerOf(await link.ask("prompts/get", { name: NOTHING }, { timeoutMs })) });
  return facts;
}

/** Calls a tool that does not exist, and sends a tool call that is no valid request. */
export async function probeToolErrors(link: Link): Promise<readonly ErrorFacts[]> {
  const timeoutMs = REFUSAL_MS;
  const params = { name: NOTHING, arguments: {} };
  const tamper = (text: string) => text.replace(`"name":"${NOTHING}"`, `"name":7`);
  return [
    { of: "tool", ...answerOf(await link.ask("tools/call", params, { timeoutMs })) },
    { of: "argument", ...answerOf(await link.ask("tools/call", params, { timeoutMs, tamper })) },
  ];
}

/** A version that no server has. */
const NO_VERSION = "1899-01-01";

/** Listings by the capability that has them. */
const LISTINGS = { tools: "tools/list", prompts: "prompts/list", resources: "resources/list" } as const;

/**
 * Sends a request in a version that does not exist. Eras with a handshake agree on another version, which is no error. A
 * listing is asked for: the answer to the opening names the versions in any case.
 */
export async function probeUnknownVersion(
  { opening, version, capabilities }: EraFacts,
  link: Link,
): Promise<EraFacts["unknownVersion"]> {
  if (opening === "initialize" || version === undefined) return undefined;
  const declared = (Object.keys(LISTINGS) as (keyof typeof LISTINGS)[]).find(
    (name) => capabilities?.[name] !== undefined,
  );
  if (declared === undefined) return undefined;
  const reply = await link.ask(LISTINGS[declared], undefined, {
    timeoutMs: REFUSAL_MS,
    tamper: (text, headers) => {
      for (const [name, value] of headers ?? []) if (value === version) headers?.set(name, NO_VERSION);
      return text.replaceAll(JSON.stringify(version), JSON.stringify(NO_VERSION));
    },
  });
  const data = reply.error?.data;
  const named = isObject(data) && isVersionList(data.supported) ? data.supported : undefined;
  return { ...answerOf(reply), named };
}

/** Sends a request whose header names another method than its body. Eras without that header have no such request. */
export async function probeContradiction({ opening }: EraFacts, link: Link): Promise<AnswerFacts | undefined> {
  if (opening === "initialize") return undefined;
  const reply = await link.ask(opening, undefined, {
    timeoutMs: REFUSAL_MS,
    tamper: (text, headers) => {
      headers?.set("mcp-method", "tools/list");
      return text;
    },
  });
  return answerOf(reply);
}

function answerOf({ result, error, failure, status, asked, line }: Reply): AnswerFacts {
  const code = typeof error?.code === "number" ? error.code : undefined;
  const message = typeof error?.message === "string" ? error.message : failure?.message;
  const isSilent = failure?.name === "TimeoutError";
  const outcome = result !== undefined ? "result" : isSilent ? "silent" : "error";
  return { outcome, code, status, message, asked, line };
}
