import { ServedCall } from "../../era/served-call.js";
import type { Call, HandlerResult, RunHandler, ServerEra } from "../../era/server-era.js";
import { toKeptAuth } from "../../protocol/brand.js";
import { isObject } from "../../protocol/json.js";
import type { Params } from "../../protocol/jsonrpc/message.js";
import type { TaskRecord } from "./record.js";

/** Creates a tool call without a request: it has the data of its task, and its notifications go to `notify`. */
export function createTaskCall(
  record: TaskRecord,
  era: ServerEra,
  runHandler: (run: RunHandler) => Promise<HandlerResult>,
  notify: (method: string, params: Params | undefined) => void,
): Call {
  const { id, tool, caller } = record;
  const { principal, version, capabilities, info } = caller;
  const auth = caller.hadToken === true && isObject(caller.auth) ? toKeptAuth(caller.auth) : caller.auth;
  return new ServedCall({
    era: { ...era, runHandler: (_call, _runtime, run) => runHandler(run) },
    session: undefined,
    id,
    method: "tools/call",
    params: {
      name: tool,
      ...(record.arguments !== undefined && { arguments: record.arguments }),
      ...(record.meta !== undefined && { _meta: record.meta }),
    },
    client: { version, capabilities, info },
    origin: { principal, auth },
    wire: {
      shared: false,
      notify: (_call, method, params) => notify(method, params),
      request: () => new Promise(() => {}),
    },
    progressToken: id,
    logLevel: () => "info",
  });
}

/** Text of the status for a notification of a handler, if it has any. */
export function statusText(method: string, params: Params | undefined): string | undefined {
  if (method === "notifications/message") return typeof params?.data === "string" ? params.data : undefined;
  if (method !== "notifications/progress") return undefined;
  const { progress, total, message } = params ?? {};
  if (typeof message === "string") return message;
  return total === undefined ? String(progress) : `${progress} of ${total}`;
}
