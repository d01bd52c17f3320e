import { COMMAND_TARGET, type CommandTarget, type LocalTarget } from "../client/options.js";
import type { HttpExchange } from "../http/exchange.js";
import type { PageFolder } from "../node/files/page.js";
import { DefinitionError } from "../protocol/errors.js";
import { assertOptions, type Known, type Optional, withDefaults } from "../protocol/known-options.js";
import type { RecordedWire } from "../recording/events.js";
import { type RecordableServer, Recording } from "../recording/recording.js";
import { REDACTION_OPTIONS, type RedactionOptions } from "../recording/redactor.js";
import type { InspectTarget } from "./connection.js";
import { InspectEndpoint } from "./endpoint.js";
import { Inspection } from "./inspection.js";
import { INSPECT_LIMITS, type InspectLimits } from "./limits.js";

/** Server that an inspector can connect to: one of this process, a URL or a command. */
export type InspectableServer = LocalTarget | CommandTarget | string;

/** Options of an {@link Inspector}. */
export interface InspectOptions<S extends InspectableServer = InspectableServer> {
  /** Server to inspect. */
  readonly server: S;
  /**
   * Path of the page. It begins and ends with a slash.
   * @default "/inspect/"
   */
  readonly path?: string | undefined;
  /** What is replaced in the recording in addition to what is replaced by default. */
  readonly redaction?: RedactionOptions | undefined;
  /**
   * Tells the developer of requests that were refused, such as a second use of the link.
   * @default prints to stderr
   */
  readonly onWarning?: ((message: string) => void) | undefined;
  /** Limits on what is kept for the page, and on what it may send. */
  readonly limits?: Optional<InspectLimits> | undefined;
}

const OPTIONS: Known<InspectOptions> = {
  server: "any",
  path: "string",
  redaction: REDACTION_OPTIONS,
  onWarning: "function",
  limits: INSPECT_LIMITS,
};

/**
 * Inspector in a development server. Pass it to `toNodeListener`, or to `serveHttp` with the same path. It answers requests to this
 * machine by name or address alone, and only those of its own page.
 */
export interface Inspector<S extends InspectableServer = InspectableServer> {
  /**
   * The server, whose traffic with all its clients is recorded. Serve it in place of the server. A URL or a command is
   * returned as it is.
   */
  readonly server: S;
  /** Returns the address of the page for the origin at which it is served. It has a token that is valid once: print it. */
  link(origin: string): string;
  handle(exchange: HttpExchange): void;
  /** Returns the paths that are served. */
  onListening(): readonly string[];
  /** Ends the connections of the page, and its recording. The server stays open. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** What an inspector takes from its surroundings. */
export interface InspectorHost {
  readonly by: string;
  readonly files: PageFolder;
  readonly isProduction: boolean;
  readonly warn: (message: string) => void;
}

/** Creates an inspector of one server. */
export function createInspector<S extends InspectableServer>(
  options: InspectOptions<S>,
  { by, files, isProduction, warn }: InspectorHost,
): Inspector<S> {
  assertOptions("inspect", options, OPTIONS);
  if (isProduction)
    throw new DefinitionError(
      "inspect is for development: NODE_ENV is production. Call it only if NODE_ENV is not production",
    );
  const { server, path = "/inspect/", redaction = {}, onWarning = warn } = options;
  if (!/^\/(?:[\w.~-]+\/)*$/.test(path))
    throw new DefinitionError(`inspect: path must begin and end with a slash, got ${JSON.stringify(path)}`);
  const limits = withDefaults(options.limits, INSPECT_LIMITS);
  const recording = new Recording({ by, redaction, limits: { maxKeptLines: 1 } });
  const inspection = new Inspection({ by, mode: "client", recording, servers: [targetOf(server)], limits });
  const endpoint = new InspectEndpoint({
    inspection,
    files,
    path,
    hosts: () => "this machine",
    limits,
    warn: onWarning,
  });
  const close = async () => {
    endpoint.close();
    await inspection.close();
    await recording.close();
  };
  return {
    server: isLocal(server) ? recording.server(server as S & RecordableServer) : server,
    link: (origin) => endpoint.link(new URL(origin).origin),
    handle: (exchange) => endpoint.handle(exchange),
    onListening: () => endpoint.paths,
    close,
    [Symbol.asyncDispose]: close,
  };
}

function targetOf(server: InspectableServer): InspectTarget {
  if (typeof server === "string") {
    if (!/^https?:\/\//i.test(server) || !URL.canParse(server))
      throw new DefinitionError(
        `inspect: server must be a URL with http:// or https://, got ${JSON.stringify(server)}`,
      );
    const { origin, pathname } = new URL(server);
    const url = origin + pathname;
    return { label: url, wire: "http", url, targets: [server], options: {} };
  }
  if (isLocal(server)) return plan(nameOf(server), "memory", server);
  if (typeof Object(server).command === "string") {
    assertOptions("inspect", { server }, { server: COMMAND_TARGET });
    return plan(server.command, "stdio", server);
  }
  throw new DefinitionError("inspect: server must be a server of this process, a URL, or { command, args }");
}

function plan(label: string, wire: RecordedWire, target: LocalTarget | CommandTarget): InspectTarget {
  return { label, wire, targets: [target], options: {} };
}

function isLocal(server: InspectableServer): server is LocalTarget {
  return typeof Object(server).accept === "function";
}

function nameOf(server: LocalTarget): string {
  const { info } = server as { readonly info?: { readonly name?: unknown } };
  return typeof info?.name === "string" ? info.name : "the server";
}
