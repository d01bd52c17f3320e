import { request as httpRequest, type IncomingMessage } from "node:http";
import type { TestContext } from "node:test";
import { Recording, type RecordingOptions } from "bowline/testing";
import { type ListeningPage, listenForPage } from "#src/cli/inspect/listen.js";
import { SseReader } from "#src/http/sse/reader.js";
import type { InspectTarget } from "#src/inspect/connection.js";
import { InspectEndpoint } from "#src/inspect/endpoint.js";
import { Inspection, type InspectionParts } from "#src/inspect/inspection.js";
import { INSPECT_LIMITS, type InspectLimits } from "#src/inspect/limits.js";
import type {
  Failure,
  PageEvents,
  RunEnd,
  RunResults,
  VerbName,
  VerbResponse,
  VerbResults,
  Verbs,
} from "#src/inspect/protocol.js";
import type { MoreVerbs } from "#src/inspect/verbs.js";
import type { PageFolder } from "#src/node/files/page.js";
import type { RecordingEvent } from "#src/recording/events.js";

export interface InspectorInit {
  readonly servers?: readonly InspectTarget[];
  readonly recording?: RecordingOptions;
  readonly parts?: Partial<InspectionParts>;
  readonly limits?: Partial<InspectLimits>;
  readonly more?: MoreVerbs;
  readonly files?: PageFolder;
  readonly listen?: Parameters<typeof listenForPage>[2];
}

/** Inspector that listens, with the requests that its page sends. */
export class InspectorWorld {
  readonly warnings: string[] = [];
  readonly inspection: Inspection;
  readonly recording: Recording;
  readonly #limits: InspectLimits;
  readonly #more: MoreVerbs | undefined;
  #listening!: ListeningPage;
  #endpoint!: InspectEndpoint;
  cookie = "";

  private constructor({ servers = [], recording, parts, limits, more }: InspectorInit) {
    this.#limits = { ...INSPECT_LIMITS, ...limits };
    this.#more = more;
    this.recording = new Recording({ ...recording, limits: { maxKeptLines: 1 } });
    this.inspection = new Inspection({
      by: "bowline 1.2.3",
      mode: "client",
      recording: this.recording,
      servers,
      limits: this.#limits,
      ...parts,
    });
  }

  /** Listens until the test ends. */
  static async open(t: TestContext, init: InspectorInit = {}): Promise<InspectorWorld> {
    const world = new InspectorWorld(init);
    const { files = onePage } = init;
    world.#listening = await listenForPage(
      0,
      (port) => {
        world.#endpoint = new InspectEndpoint({
          inspection: world.inspection,
          files,
          path: "/",
          hosts: () => [`127.0.0.1:${port}`, `localhost:${port}`],
          limits: world.#limits,
          warn: (message) => world.warnings.push(message),
          more: world.#more,
        });
        return world.#endpoint;
      },
      init.listen,
    );
    t.after(async () => {
      world.#endpoint.close();
      await world.inspection.close();
      await world.recording.close();
      await world.#listening.close();
    });
    return world;
  }

  /** The same with a page that has entered. */
  static async entered(t: TestContext, init: InspectorInit = {}): Promise<InspectorWorld> {
    const world = await InspectorWorld.open(t, init);
    await world.enter();
    return world;
  }

  get port(): number {
    return this.#listening.port;
  }

  get origin(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  get token(): string {
    return new URLSearchParams(new URL(this.#endpoint.link(this.origin)).hash.slice(1)).get("token") ?? "";
  }

  /** Sends a request with the headers of the page; those that are given replace them, or leave them out. */
  request(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string | undefined> = {},
  ): Promise<Answer> {
    const text = body === undefined || typeof body === "string" ? (body as string | undefined) : JSON.stringify(body);
    const own = {
      host: `127.0.0.1:${this.port}`,
      "sec-fetch-site": "same-origin",
      cookie: this.cookie,
      ...(method === "POST" && { origin: this.origin, "content-type": "application/json" }),
    };
    const all = Object.entries({ ...own, ...headers }).filter(
      (each): each is [string, string] => each[1] !== undefined,
    );
    return new Promise((resolve, reject) => {
      const sent = httpRequest(
        { host: "127.0.0.1", port: this.port, method, path, headers: Object.fromEntries(all), agent: false },
        (response) => {
          let received = "";
          response.on("data", (piece) => {
            received += String(piece);
          });
          response.on("end", () =>
            resolve({ status: response.statusCode ?? 0, headers: response.headers, text: received }),
          );
          response.on("error", reject);
        },
      );
      sent.on("error", reject);
      sent.end(text);
    });
  }

  async enter(token = this.token): Promise<Answer> {
    const answer = await this.request("POST", "/enter", { token });
    this.cookie = (answer.headers["set-cookie"]?.[0] ?? this.cookie).split(";")[0] as string;
    return answer;
  }

  /** Does a verb. Throws its failure. */
  async do<Name extends VerbName>(name: Name, members: Verbs[Name]): Promise<VerbResults[Name]> {
    const { text } = await this.request("POST", "/do", { do: name, ...members });
    const answer = JSON.parse(text) as VerbResponse<Name>;
    if (!answer.ok) throw new VerbFailure(answer.error);
    return answer.result;
  }

  /** Opens an event stream. It ends with the test. */
  events(t: TestContext, lastEventId?: number): Promise<PageEventsReader> {
    return PageEventsReader.open(t, this, lastEventId);
  }
}

/** Files of a page without script and style. */
const onePage: PageFolder = async (name) =>
  name.endsWith(".html") ? { type: "text/html; charset=utf-8", text: "<!doctype html><title>page</title>" } : undefined;

/** Response with its whole text. */
export interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  readonly text: string;
}

/** Failure of a verb, as the page gets it. */
export class VerbFailure extends Error {
  constructor(readonly failure: Failure) {
    super(`${failure.code}: ${failure.message}`);
  }
}

/** Line of a recording with the id of its event. */
export interface ReceivedLine {
  readonly id: number;
  readonly event: RecordingEvent;
}

/** What a page has received. */
export class PageEventsReader {
  readonly lines: ReceivedLine[] = [];
  readonly runs: PageEvents["run"][] = [];
  state: PageEvents["state"] | undefined;
  readonly #waiting = new Set<() => void>();
  #response: IncomingMessage | undefined;

  static async open(t: TestContext, world: InspectorWorld, lastEventId?: number): Promise<PageEventsReader> {
    const reader = new PageEventsReader();
    await new Promise<void>((resolve, reject) => {
      const headers = {
        "sec-fetch-site": "same-origin",
        cookie: world.cookie,
        ...(lastEventId !== undefined && { "last-event-id": String(lastEventId) }),
      };
      const sent = httpRequest(
        { host: "127.0.0.1", port: world.port, path: "/events", headers, agent: false },
        (response) => {
          if (response.statusCode !== 200) return reject(new Error(`status ${response.statusCode}`));
          reader.#read(response);
          resolve();
        },
      );
      sent.on("error", reject);
      sent.end();
      t.after(() => sent.destroy());
    });
    return reader;
  }

  /** Resolves when what was received satisfies the condition. */
  async until(holds: (reader: this) => boolean): Promise<this> {
    while (!holds(this)) {
      await new Promise<void>((resolve) => {
        const wake = () => {
          this.#waiting.delete(wake);
          resolve();
        };
        this.#waiting.add(wake);
      });
    }
    return this;
  }

  /** Resolves with a line that satisfies the condition, now or later. */
  async line(holds: (event: RecordingEvent) => boolean): Promise<ReceivedLine> {
    await this.until(() => this.lines.some(({ event }) => holds(event)));
    return this.lines.find(({ event }) => holds(event)) as ReceivedLine;
  }

  /** Resolves with the result of a run. Throws its failure. */
  async result<Name extends keyof RunResults>(_: Name, run: number): Promise<RunResults[Name]> {
    const { result, error } = await this.end(run);
    if (error !== undefined) throw new VerbFailure(error);
    return result as RunResults[Name];
  }

  async end(run: number): Promise<RunEnd> {
    await this.until(() => this.runs.some((end) => end.run === run));
    return this.runs.find((end) => end.run === run) as RunEnd;
  }

  /** Disconnects. */
  close(): void {
    this.#response?.destroy();
  }

  #read(response: IncomingMessage): void {
    this.#response = response;
    const sse = new SseReader(
      ({ data, id, event }) => {
        if (event === "state") this.state = JSON.parse(data);
        else if (event === "run") this.runs.push(JSON.parse(data));
        else this.lines.push({ id: Number(id), event: JSON.parse(data) });
      },
      { maxEventSize: 2 ** 25 },
    );
    response.on("data", (piece: Uint8Array) => {
      sse.push(piece);
      for (const wake of [...this.#waiting]) wake();
    });
    response.on("error", () => {});
  }
}
