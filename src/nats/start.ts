import { type Clock, pause } from "../call/clock.js";
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
  readonly allow_direct?: boolean;
  readonly num_replicas?: number;
  readonly storage?: string;
}

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
  const differs = (["max_msgs_per_subject", "allow_direct"] as const).find(
    (setting) => found[setting] !== wanted[setting],
  );
  if (differs !== undefined)
    throw refused(`the stream ${name} has ${differs} ${found[differs]}; set it to ${wanted[differs]}`);
  if ((found.max_age ?? 0) > 0) throw refused(`the stream ${name} has a max_age; set it to 0`);
  if (found.num_replicas !== wanted.num_replicas)
    warn(
      `natsCluster: the stream ${name} has ${found.num_replicas} replicas, and the option replicas is ${wanted.num_replicas}; the stream stays as it is`,
    );
}

function refused(message: string, cause?: unknown): ClusterError {
  return new ClusterError("refused", `start: ${message}`, { cause });
}
