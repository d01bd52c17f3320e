import { readFile, writeFile } from "node:fs/promises";
import { basename, resolve } from "node:path";
import type { ClientOptions } from "../../client/options.js";
import type { ProtocolVersion } from "../../era/versions.js";
import { InspectEndpoint } from "../../inspect/endpoint.js";
import { htmlOf } from "../../inspect/html-file.js";
import { Inspection, type InspectionParts, type LoadedRecording } from "../../inspect/inspection.js";
import { INSPECT_LIMITS } from "../../inspect/limits.js";
import type { MoreVerbs } from "../../inspect/verbs.js";
import { pageFolder } from "../../node/files/page.js";
import type { NewEvent } from "../../recording/events.js";
import { Recording } from "../../recording/recording.js";
import type { RedactionOptions } from "../../recording/redactor.js";
import type { CommandContext } from "../context.js";
import { UsageError } from "../failures.js";
import { doctorOf } from "../inspect/doctor.js";
import { type ListeningPage, listenForPage } from "../inspect/listen.js";
import { inspectTarget } from "../inspect/servers.js";
import { openPage } from "../open-page.js";
import { bowlineVersion, pageUrl } from "../package.js";
import { textValue, timeOf } from "../parse.js";
import { createRecording, problemOf, redactedText } from "../recordings/destination.js";
import { openRecording } from "../recordings/open.js";
import { secretsOf } from "../recordings/recorder.js";
import { secretVariables } from "../recordings/secret-variables.js";
import { tapHttp } from "../recordings/tap-http.js";
import { tapProcess } from "../recordings/tap-process.js";
import { findServer } from "../target.js";
import { visibleLine } from "../text.js";

/** What the page shows, and what runs until it ends. */
interface Plan extends Pick<InspectionParts, "mode" | "servers" | "recordings"> {
  /** Verbs beside those of connections. */
  readonly more?: MoreVerbs;
  /** Values that are secret beside those that look so. */
  readonly secrets?: { readonly [name: string]: string | undefined };
  /** Begins when the page is served. Without it, the command waits to be interrupted. */
  readonly run?: (inspection: Inspection, context: CommandContext) => Promise<void> | void;
}

/** Serves the page of the inspector: of a server, of recordings, or of a tap. */
export async function inspect(context: CommandContext): Promise<void> {
  const { values } = context;
  const port = portOf("port", values.port) ?? 0;
  const plan = await planOf(context);
  const html = textValue("html", values);
  if (html !== undefined) return writeHtml(html, plan, context);
  const redaction = { values: plan.secrets ?? {} };
  const recording = new Recording({ by: `bowline ${bowlineVersion()}`, redaction, limits: { maxKeptLines: 1 } });
  const name = textValue("record", values);
  const file = name === undefined ? undefined : await copyToFile(recording, name, redaction, context);
  try {
    await servePage(port, plan, recording, file !== undefined, context);
  } finally {
    await recording.close();
    await file?.();
  }
}

/** Writes all further lines to a file as well. A file that is full ends, and the page goes on. Returns what ends the file. */
async function copyToFile(
  recording: Recording,
  name: string,
  redaction: RedactionOptions,
  { io, screen, values }: CommandContext,
): Promise<() => Promise<void>> {
  const file = await createRecording(name, { overwrite: values.overwrite === true, redaction }, io);
  recording.subscribe(({ t: _, ...event }) => file.add(event as NewEvent));
  return async () => {
    await file.close().catch((error: unknown) => {
      throw problemOf(name, error);
    });
    screen.note(`recorded in ${visibleLine(name)}; ${redactedText(recording.redacted)}`);
  };
}

/** Writes the recordings as one page. A file that exists is kept, unless told. */
async function writeHtml(
  name: string,
  { recordings = [] }: Plan,
  { io, values, screen }: CommandContext,
): Promise<void> {
  const text = await htmlOf(pageFolder(pageUrl()), recordings);
  const flag = values.overwrite === true ? "w" : "wx";
  await writeFile(resolve(io.cwd, name), text, { flag }).catch((error: NodeJS.ErrnoException) => {
    throw error.code === "EEXIST"
      ? new UsageError(`${name} exists: choose another name, or pass --overwrite`)
      : problemOf(name, error);
  });
  screen.note(`written: ${visibleLine(name)}`);
}

async function servePage(
  port: number,
  { mode, servers, recordings, run, more }: Plan,
  recording: Recording,
  isRecording: boolean,
  context: CommandContext,
): Promise<void> {
  const { io, screen } = context;
  const by = `bowline ${bowlineVersion()}`;
  const limits = INSPECT_LIMITS;
  const inspection = new Inspection({ by, mode, recording, isRecording, servers, recordings, limits });
  let endpoint: InspectEndpoint | undefined;
  let page: ListeningPage | undefined;
  try {
    page = await listenForPage(port, (bound) => {
      const hosts = [`127.0.0.1:${bound}`, `localhost:${bound}`];
      const warn = (message: string) => screen.error(message);
      const files = pageFolder(pageUrl());
      endpoint = new InspectEndpoint({ inspection, files, path: "/", hosts: () => hosts, limits, warn, more });
      return endpoint;
    });
    await show(endpoint!.link(`http://127.0.0.1:${page.port}`), mode, context);
    const running = run?.(inspection, context);
    if (mode === "tap") await running;
    else if (!io.signal.aborted)
      await new Promise((resolve) => io.signal.addEventListener("abort", resolve, { once: true }));
  } finally {
    endpoint?.close();
    await inspection.close();
    await page?.close();
  }
}

/** Prints the address, and opens it in the browser of a person. A tap of a process has no stdout of its own. */
async function show(link: string, mode: Plan["mode"], context: CommandContext): Promise<void> {
  const { values, io, screen } = context;
  const isForHost = mode === "tap" && context.line.program !== undefined;
  if (isForHost) screen.error(`Inspector: ${link}`);
  else context.item({ url: link }, () => screen.line(link));
  if (values["no-open"] === true || io.stderr.isTTY !== true) return;
  await openPage(new URL(link), context, "The browser cannot be opened: open the address above.");
}

async function planOf(context: CommandContext): Promise<Plan> {
  const { line, values, io } = context;
  const names = [line.server ?? [], line.names].flat();
  const [server, ...more] = names;
  if (values.tap === true) {
    if (values.html !== undefined) throw new UsageError("--html is for recordings (*.rec.ndjson)");
    return tapPlan(context, names);
  }
  if (values.listen !== undefined) throw new UsageError("--listen is for --tap");
  if (line.program === undefined && names.length > 0 && names.every((name) => name.endsWith(".rec.ndjson")))
    return { mode: "files", servers: [], recordings: await loadAll(names, context) };
  if (values.html !== undefined) throw new UsageError("--html is for recordings (*.rec.ndjson)");
  if (line.program === undefined && server === undefined)
    throw new UsageError(
      "bowline inspect needs a server or recordings: a URL, a file, a name, a package, or -- and a command",
    );
  const stray = line.program === undefined ? more[0] : names[0];
  if (stray !== undefined)
    throw new UsageError(
      `unexpected argument ${JSON.stringify(stray)}: the inspector has one server, or recordings alone`,
    );
  const version = textValue("version", values);
  const chosen = version !== undefined ? "version" : values.era !== undefined ? "era" : undefined;
  if (values.eras !== undefined && chosen !== undefined)
    throw new UsageError(`--eras both and --${chosen} contradict each other`);
  const found = await findServer(line, io);
  const timeoutMs = timeOf("timeout", values);
  const deadlineMs = timeOf("deadline", values);
  const versions = version === undefined ? undefined : [version as ProtocolVersion];
  const target = inspectTarget({ ...found, options: { ...found.options, timeoutMs, deadlineMs, versions } });
  return {
    mode: "client",
    servers: [target],
    secrets: secretsOf(found),
    // A recording answers only what was recorded.
    ...(target.wire !== "memory" && { more: { doctor: doctorOf(found, context) } }),
    run: (inspection) => connectAll(inspection, context),
  };
}

/** Connects from the start. The page tells how it went. */
function connectAll(inspection: Inspection, { values }: CommandContext): void {
  const era = textValue("era", values) as ClientOptions["era"];
  const first = inspection.connect(0, era);
  if (values.eras === undefined) return;
  // The other era is known when the first connection is open.
  void inspection.otherEra(first).catch(() => {});
}

function tapPlan({ line, values, io }: CommandContext, names: readonly string[]): Plan {
  const listen = portOf("listen", values.listen);
  const secrets = secretVariables(io.env);
  const [url, stray] = names;
  if (stray !== undefined || (line.program !== undefined && url !== undefined))
    throw new UsageError(`unexpected argument ${JSON.stringify(stray ?? url)}`);
  if ((line.program === undefined) === (listen === undefined))
    throw new UsageError("--tap needs what to stand before: either -- and a command, or --listen <port> and a URL");
  if (line.program !== undefined) {
    const { program } = line;
    return {
      mode: "tap",
      servers: [],
      secrets,
      run: async (inspection, context) => {
        context.exit = await tapProcess(program, inspection.recording, context.io);
      },
    };
  }
  if (url === undefined || !/^https?:\/\//i.test(url) || !URL.canParse(url))
    throw new UsageError(`--tap --listen needs a URL with http:// or https://, got ${JSON.stringify(url)}`);
  return {
    mode: "tap",
    servers: [],
    secrets,
    run: (inspection, { screen }) =>
      tapHttp({ target: new URL(url), port: listen as number, hasForms: false }, inspection.recording, io, (tap) =>
        screen.note(`The application connects to ${tap}`),
      ),
  };
}

async function loadAll(names: readonly string[], { io }: CommandContext): Promise<readonly LoadedRecording[]> {
  return Promise.all(
    names.map(async (name) => {
      // Read and checked first: a damaged file is a mistake of the command line.
      const { events } = await openRecording(name, io);
      const text = await readFile(resolve(io.cwd, name), "utf8");
      return { name: basename(name), lines: events.length + 1, text };
    }),
  );
}

function portOf(name: string, text: unknown): number | undefined {
  if (text === undefined) return undefined;
  const port = Number(text);
  if (text !== "" && Number.isInteger(port) && port >= 0 && port < 65_536) return port;
  throw new UsageError(`--${name} must be a number from 0 to 65535, got ${JSON.stringify(text)}`);
}
