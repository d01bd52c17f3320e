import type { ClientOptions } from "../../client/options.js";
import type { FetchInit } from "../../http/client/send.js";
import type { CommandContext } from "../context.js";
import type { ServerPlan } from "../target.js";
import type { CommandAuth } from "./open-auth.js";
import { hasLogin } from "./place.js";

/** `fetch` of a command at a server that may require a login, and what ends with the command. */
export interface LoginOnDemand {
  readonly options: Pick<ClientOptions, "fetch">;
  close(): Promise<void>;
}

/**
 * Returns how a command logs in, or undefined if it cannot: it uses the stored login of the server, and on a terminal
 * lets the user log in when the server demands it. Neither is so with `--header Authorization`, nor for a process.
 */
export async function loginOnDemand(plan: ServerPlan, context: CommandContext): Promise<LoginOnDemand | undefined> {
  const servers = plan.targets.filter((target): target is string => typeof target === "string");
  if (servers.length === 0 || new Headers(plan.options.headers).has("authorization")) return undefined;
  const { values, io } = context;
  const isInteractive = values["no-login"] !== true && io.stdin.isTTY === true && io.stderr.isTTY === true;
  const stored = await Promise.all(servers.map((server) => hasLogin(new URL(server).href, io)));
  if (!isInteractive && !stored.includes(true)) return undefined;
  const opened = new Map<string, Promise<CommandAuth>>();
  const open = (server: string) => {
    const auth = opened.get(server) ?? openFor(server, isInteractive, context);
    opened.set(server, auth);
    return auth;
  };
  const fetch = async (url: URL, init: FetchInit): Promise<Response> => {
    const server = new URL(init.server ?? url).href;
    const send = async () => (await open(server)).oauth.fetch(url, init);
    if (opened.has(server) || (await hasLogin(server, io))) return send();
    const response = await (init.ownFetch ?? globalThis.fetch)(url, init);
    if (response.status !== 401 || !isInteractive) return response;
    await response.body?.cancel();
    return send();
  };
  return {
    options: { fetch },
    close: async () => {
      for (const auth of opened.values())
        await auth.then(
          (one) => one.close(),
          () => {},
        );
    },
  };
}

async function openFor(server: string, isInteractive: boolean, context: CommandContext): Promise<CommandAuth> {
  const { openAuth } = await import("./open-auth.js");
  return openAuth(
    server,
    { isInteractive, inMemory: context.values.memory === true, noBrowser: false, options: {} },
    context,
  );
}
