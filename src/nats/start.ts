import { pause } from "../call/abortable.js";
import type { Clock } from "../call/clock.js";
import { ClusterError } from "../cluster/error.js";
import type { NatsLine } from "./client.js";
import { ask } from "./engine.js";
import { JetStreamError, notEnabled, Unanswered } from "./failure.js";
import type { Names } from "./names.js";

/** Version of the messages in the streams that this release stores and reads. It is in the description of a stream. */
const VERSION = 1;
const DESCRIPTION = /^bowline (\d+)$/;

/** Minimum of max_payload, so that usual texts fit. Longer ones are refused one by one. */
const MIN_PAYLOAD = 65_536;

/** Oldest server with everything that the cluster uses. */
const MIN_VERSION = [2, 9];

/** Error codes of a stream that exists, or whose subjects belong to another one. Another process may create it now. */
const TAKEN = new Set([10058, 10065]);

/** Attempts to create such a stream, and the time between them. */
const ATTEMPTS = 10;
const RETRY_MS = 30;

export interface StartOptions {
  readonly names: Names;
  readonly replicas: number;
  readonly clock: Clock;
  readonly warn: (message: string) => void;
}

/** Settings of a stream that the cluster depends on. */
interface StreamConfig {
  readonly description?: string;
  readonly subjects?: readonly string[];
  readonly max_msgs_per_subject?: number;
  readonly max_age?: number;
  readonly max_msgs?: number;
  readonly max_bytes?: number;
  readonly discard?: string;
  readonly discard_new_per_subject?: boolean;
  readonly retention?: string;
  readonly allow_direct?: boolean;
  readonly no_ack?: boolean;
  readonly sealed?: boolean;
  readonly deny_delete?: boolean;
  readonly deny_purge?: boolean;
  readonly num_replicas?: number;
  readonly storage?: string;
}

/** Settings that a stream must have as the cluster creates them. */
const FIXED = [
  "max_msgs_per_subject",
  "allow_direct",
  "retention",
  "discard_new_per_subject",
  "no_ack",
  "sealed",
  "deny_delete",
  "deny_purge",
] as const;

/** Examines the server and creates the streams, or examines those that exist. */
export async function prepare(line: NatsLine, options: StartOptions): Promise<void> {
  const { names, replicas } = options;
  const [major = 0, minor = 0] = line.version.split(".").map(Number);
  if (major < 2 || (major === 2 && minor < (MIN_VERSION[1] ?? 0)))
    throw refused(`the NATS server has version ${line.version}; version ${MIN_VERSION.join(".")} or newer is needed`);
  if (line.maxPayload < MIN_PAYLOAD)
    throw refused(
      `max_payload of the NATS server is ${line.maxPayload}; raise it to ${MIN_PAYLOAD} or more, the default is 1048576`,
    );
  const common = {
    description: `bowline ${VERSION}`,
    retention: "limits",
    storage: "file",
    num_replicas: replicas,
    discard: "old",
    // Replicas that answer directly may be behind.
    allow_direct: false,
    discard_new_per_subject: false,
    no_ack: false,
    sealed: false,
    deny_delete: false,
    deny_purge: false,
  };
  const documents = { ...common, name: names.documents, subjects: [names.allDocuments], max_msgs_per_subject: 1 };
  const entries = { ...common, name: names.entries, subjects: [names.allEntries], max_msgs_per_subject: -1 };
  for (const config of [documents, entries]) await create(line, config, options);
}

/** Creates a stream if there is none. Processes that start together may create it at the same time. */
async function create(line: NatsLine, config: StreamConfig & { name: string }, { clock, warn }: StartOptions) {
  const { name } = config;
  for (let attempt = 1; ; attempt++) {
    try {
      const found = await infoOf(line, name);
      if (found === undefined) await ask(line, `STREAM.CREATE.${name}`, config);
      else examine(name, found, config, warn);
      return;
    } catch (error) {
      if (error instanceof Unanswered && !line.hasJetStream) throw notEnabled("start", error);
      if (!(error instanceof JetStreamError) || !TAKEN.has(error.code)) throw error;
      if (attempt === ATTEMPTS)
        throw refused(`the subjects ${config.subjects} belong to another stream; use another prefix`, error);
      await pause(clock, RETRY_MS);
    }
  }
}

/** Reads the settings of a stream, if it exists. */
async function infoOf(line: NatsLine, name: string): Promise<StreamConfig | undefined> {
  try {
    return (await ask(line, `STREAM.INFO.${name}`, {})).config as StreamConfig;
  } catch (error) {
    if (error instanceof JetStreamError && error.isNoStream) return undefined;
    throw error;
  }
}

/** Examines a stream that exists. */
function examine(name: string, found: StreamConfig, wanted: StreamConfig, warn: (message: string) => void): void {
  const [, version] = DESCRIPTION.exec(found.description ?? "") ?? [];
  if (version === undefined)
    throw refused(`the stream ${name} was not created by a cluster; delete it, or use another prefix`);
  if (Number(version) > VERSION)
    throw refused(
      `the stream ${name} has version ${version}. This release works with versions up to ${VERSION}. Upgrade it, or use another prefix`,
    );
  // Servers leave out some settings that are false.
  const differs = FIXED.find((setting) => (found[setting] ?? false) !== wanted[setting]);
  if (differs !== undefined)
    throw refused(
      `the stream ${name} has ${differs} ${found[differs]}; set it to ${wanted[differs]}, or delete the stream if it cannot be changed`,
    );
  if ((found.max_age ?? 0) > 0) throw refused(`the stream ${name} has a max_age; set it to 0`);
  const limit = (["max_msgs", "max_bytes"] as const).find((setting) => (found[setting] ?? -1) > 0);
  if (limit !== undefined && found.discard !== "new")
    throw refused(
      `the stream ${name} has ${limit} ${found[limit]} and discard old, so that the server deletes state at that limit; set ${limit} to -1, or discard to new`,
    );
  if (found.storage === "memory") examineMemory(name, found.num_replicas ?? 1, warn);
  if (found.num_replicas !== wanted.num_replicas)
    warn(
      `natsCluster: the stream ${name} has ${found.num_replicas} replicas, and the option replicas is ${wanted.num_replicas}; the stream stays as it is`,
    );
}

/** A stream in the memory of one server is empty after a restart, and then gives the same numbers again. */
function examineMemory(name: string, replicas: number, warn: (message: string) => void): void {
  if (replicas === 1)
    throw refused(
      `the stream ${name} has storage memory and one replica, so that a restart of the server loses it; delete it, and it is created with storage file`,
    );
  warn(
    `natsCluster: the stream ${name} has storage memory, so that it is lost if most of its servers restart at once; storage file keeps it`,
  );
}

function refused(message: string, cause?: unknown): ClusterError {
  return new ClusterError("refused", `start: ${message}`, { cause });
}
