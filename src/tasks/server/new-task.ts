import type { Call, ServerRuntime } from "../../era/server-era.js";
import { isObject } from "../../protocol/json.js";
import type { JsonObject } from "../../protocol/types/index.js";
import type { TaskMode } from "./options.js";
import { countedFor, ownerOf } from "./owner.js";
import { NO_JOURNAL, type TaskCaller, type TaskRecord } from "./record.js";

export interface NewTaskOptions {
  /** Time of day. */
  readonly createdAt: number;
  readonly runtime: Pick<ServerRuntime, "audience" | "options">;
  readonly realm?: string | undefined;
}

/** Returns the task of a call, before it runs. */
export async function toRecord(
  call: Call,
  tool: string,
  mode: TaskMode,
  { createdAt, runtime, realm }: NewTaskOptions,
): Promise<TaskRecord> {
  const { audience: server } = runtime;
  return {
    format: 1,
    id: crypto.randomUUID(),
    server,
    ...(await countedFor(call, runtime)),
    listedFor: realm === undefined ? undefined : await ownerOf(call.origin.principal, realm, server),
    tool,
    arguments: call.params.arguments as JsonObject | undefined,
    meta: call.params._meta as JsonObject | undefined,
    caller: { ...toCaller(call), realm },
    idempotencyKey: call.idempotencyKey,
    createdAt,
    updatedAt: createdAt,
    ttlMs: mode.ttlMs,
    stage: "queued",
    round: 1,
    fence: 0,
    losses: 0,
    journal: NO_JOURNAL,
    questions: {},
    mark: crypto.randomUUID(),
  };
}

/** Returns the data of the caller that a task keeps: never the token. */
function toCaller({ client, origin }: Call): TaskCaller {
  const { principal, auth } = origin;
  const { token, ...rest } = isObject(auth) ? auth : { token: undefined };
  return {
    principal,
    auth: isObject(auth) ? rest : undefined,
    hadToken: token === undefined ? undefined : true,
    version: client.version,
    capabilities: client.capabilities,
    info: client.info,
  };
}
