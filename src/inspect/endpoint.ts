import { systemClock } from "../call/clock.js";
import { BodyFailure } from "../http/body-failure.js";
import type { HttpExchange, HttpHeaders } from "../http/exchange.js";
import { RequestBodies } from "../http/request-bodies.js";
import { KEEP_ALIVE_MS, KeepAlive, type Quiet } from "../http/sse/keep-alive.js";
import { SSE_HEADERS } from "../http/sse/writer.js";
import type { PageFolder } from "../node/files/page.js";
import { DefinitionError } from "../protocol/errors.js";
import { Access, type Hosts, type Refusal } from "./access.js";
import { toFailure, VerbError } from "./failure.js";
import { htmlOf } from "./html-file.js";
import type { Inspection } from "./inspection.js";
import type { InspectLimits } from "./limits.js";
import { PAGE_HEADERS } from "./page-headers.js";
import { PageStream } from "./page-stream.js";
import type { VerbResponse } from "./protocol.js";
import { assertVerb } from "./verb-options.js";
import { doVerb, type MoreVerbs, namesOf, verbsOf } from "./verbs.js";

/** What an endpoint is made of. */
export interface EndpointParts {
  readonly inspection: Inspection;
  readonly more?: MoreVerbs | undefined;
  /** Files of the page: `index.html`, `app.js` and `app.css`. */
  readonly files: PageFolder;
  /** Path of the page. It begins and ends with a slash. */
  readonly path: string;
  readonly hosts: () => Hosts;
  readonly limits: InspectLimits;
  /** Tells the user at the terminal. */
  readonly warn: (message: string) => void;
}

/** Warnings that the terminal gets of one run. A program that tries tokens does not fill it. */
const MAX_WARNINGS = 5;

/** Bytes of the body with the token, which anybody may send. */
const MAX_TOKEN_BODY = 1_000;

/** Names below the path that are files of the page. */
const FILES: { readonly [name: string]: string } = { "": "index.html", "app.js": "app.js", "app.css": "app.css" };

/** Serves the page of an inspection, and nothing to anybody else. */
export class InspectEndpoint {
  readonly #parts: EndpointParts;
  readonly #access: Access;
  readonly #bodies: RequestBodies;
  readonly #verbs: ReturnType<typeof verbsOf>;
  readonly #streams = new Set<PageStream>();
  readonly #alive = new KeepAlive<OpenPage>(systemClock, KEEP_ALIVE_MS);
  readonly #unsubscribe: () => void;
  #warnings = 0;
  #isClosed = false;

  constructor(parts: EndpointParts) {
    this.#parts = parts;
    this.#access = new Access(parts.hosts, parts.path);
    this.#bodies = new RequestBodies(parts.limits);
    this.#verbs = verbsOf(parts.inspection, (recordings) => htmlOf(parts.files, recordings), parts.more);
    this.#unsubscribe = parts.inspection.subscribe((what) => {
      for (const stream of this.#streams) stream.note(what);
    });
  }

  /** Paths that the page requests. */
  get paths(): readonly string[] {
    const recordings = this.#parts.inspection.recordings.map((_, index) => `recordings/${index}`);
    const names = [...Object.keys(FILES), ...Object.keys(this.#routes), ...recordings];
    return [this.#parts.path.slice(0, -1), ...names.map((name) => this.#parts.path + name)];
  }

  /** Returns the address of the page with the token, for the user alone. */
  link(origin: string): string {
    return this.#access.link(origin);
  }

  handle(exchange: HttpExchange): void {
    void this.#serve(exchange).catch((error: unknown) => {
      const isWrong = error instanceof BodyFailure || error instanceof WrongBody;
      const status = (isWrong ? error.status : undefined) ?? (isWrong ? 400 : 500);
      refuse(exchange, { status, message: error instanceof Error ? error.message : String(error) });
    });
  }

  close(): void {
    this.#isClosed = true;
    this.#unsubscribe();
    this.#alive.stop();
    for (const stream of this.#streams) stream.end();
    this.#streams.clear();
  }

  readonly #routes: {
    readonly [name: string]: readonly [method: string, serve: (exchange: HttpExchange) => void | Promise<void>];
  } = {
    enter: ["POST", (exchange) => this.#enter(exchange)],
    events: ["GET", (exchange) => this.#events(exchange)],
    do: ["POST", (exchange) => this.#do(exchange)],
    recordings: ["GET", (exchange) => this.#recording(exchange)],
  };

  async #serve(exchange: HttpExchange): Promise<void> {
    const refusal = this.#access.refuseHost(exchange);
    if (refusal !== undefined) return refuse(exchange, refusal);
    if (this.#isClosed) return refuse(exchange, { status: 503, message: "the inspector is closed" });
    const { path: base } = this.#parts;
    const [path = ""] = exchange.url.split("?", 1);
    // The page's own addresses are relative to its folder.
    if (`${path}/` === base) return exchange.reply(308, { ...PAGE_HEADERS, location: base });
    if (!path.startsWith(base)) return refuse(exchange, NOT_FOUND);
    const [name = "", ...rest] = path.slice(base.length).split("/");
    const isRoute = Object.hasOwn(this.#routes, name) && rest.length === (name === "recordings" ? 1 : 0);
    const route = isRoute ? this.#routes[name] : undefined;
    if (route === undefined) return this.#file(exchange, [name, ...rest].join("/"));
    const [method, serve] = route;
    if (exchange.method !== method)
      return refuse(exchange, { status: 405, message: `${exchange.method} is not allowed` }, { allow: method });
    const foreign = this.#access.refuseOrigin(exchange);
    if (foreign !== undefined) return refuse(exchange, foreign);
    if (name === "enter") return serve(exchange);
    const stranger = this.#access.refuseCookie(exchange);
    if (stranger !== undefined) return refuse(exchange, stranger);
    return serve(exchange);
  }

  async #file(exchange: HttpExchange, name: string): Promise<void> {
    const wanted = Object.hasOwn(FILES, name) ? FILES[name] : undefined;
    const file = wanted === undefined ? undefined : await this.#parts.files(wanted);
    if (file === undefined) return refuse(exchange, NOT_FOUND);
    if (exchange.method !== "GET")
      return refuse(exchange, { status: 405, message: `${exchange.method} is not allowed` }, { allow: "GET" });
    exchange.reply(200, { ...PAGE_HEADERS, "content-type": file.type }, file.text);
  }

  async #enter(exchange: HttpExchange): Promise<void> {
    const { token } = (await this.#json(exchange, MAX_TOKEN_BODY)) as { readonly token?: unknown };
    const entered = this.#access.enter(token);
    if ("cookie" in entered) return exchange.reply(204, { ...PAGE_HEADERS, "set-cookie": entered.cookie });
    if (this.#warnings++ < MAX_WARNINGS)
      this.#parts.warn(
        entered.again
          ? "The address of the inspector was used a second time. The second use was refused: if it was not you, another program knows the address."
          : "A program sent a wrong token to the inspector. It was refused.",
      );
    refuse(exchange, entered);
  }

  #events(exchange: HttpExchange): void {
    const { inspection, limits } = this.#parts;
    if (this.#streams.size >= limits.maxStreams)
      return refuse(exchange, { status: 503, message: `${limits.maxStreams} pages are open: close one` });
    const hasLines = inspection.mode !== "files";
    const after = hasLines ? numberOf(exchange.header("last-event-id")) : Number.MAX_SAFE_INTEGER;
    const stream = exchange.stream(200, { ...SSE_HEADERS, ...PAGE_HEADERS });
    const state = () => JSON.stringify(inspection.state(namesOf(this.#verbs)));
    const page = new PageStream(stream, inspection, after, state);
    const open = new OpenPage(page);
    this.#streams.add(page);
    this.#alive.add(open);
    exchange.onGone(() => {
      this.#streams.delete(page);
      this.#alive.delete(open);
      page.end();
    });
  }

  async #do(exchange: HttpExchange): Promise<void> {
    const verb = await this.#json(exchange);
    try {
      assertVerb(verb);
    } catch (error) {
      if (!(error instanceof DefinitionError)) throw error;
      return reply(exchange, 400, { ok: false, error: { code: "invalid_verb", message: error.message } });
    }
    try {
      const result = await doVerb(verb, this.#verbs, this.#parts.inspection);
      reply(exchange, 200, { ok: true, result } as VerbResponse);
    } catch (error) {
      reply(exchange, 200, { ok: false, error: this.#parts.inspection.recording.redact(toFailure(error)) });
    }
  }

  #recording(exchange: HttpExchange): void {
    const wanted = /\/(\d{1,4})(?:\?|$)/.exec(exchange.url)?.[1];
    const recording = wanted === undefined ? undefined : this.#parts.inspection.recordings[Number(wanted)];
    if (recording === undefined) return refuse(exchange, NOT_FOUND);
    exchange.reply(200, { ...PAGE_HEADERS, "content-type": "application/x-ndjson; charset=utf-8" }, recording.text);
  }

  /** Reads a body that no form and no simple request of another page can send. */
  async #json(exchange: HttpExchange, limit = this.#parts.limits.maxBodyBytes): Promise<unknown> {
    const type = exchange.header("content-type") ?? "";
    if (!/^application\/json(?:;|$)/.test(type)) throw new WrongBody(415, "content-type must be application/json");
    const text = await exchange.text(limit, this.#bodies);
    try {
      const value: unknown = JSON.parse(text);
      return typeof value === "object" && value !== null ? value : {};
    } catch {
      throw new WrongBody(400, "the body is not JSON");
    }
  }
}

/** Body that is refused before it is looked at. */
class WrongBody extends VerbError {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super("invalid_verb", message);
  }
}

/** Page that is reminded when it was quiet. */
class OpenPage implements Quiet {
  spokeAt = systemClock.now();
  constructor(readonly page: PageStream) {}

  onQuiet(now: number): void {
    this.spokeAt = now;
    this.page.keepAlive();
  }
}

const NOT_FOUND: Refusal = { status: 404, message: "not found" };

/** Returns the number of the last line that a page has, 0 if it has none. */
function numberOf(id: string | undefined): number {
  return id !== undefined && /^\d{1,15}$/.test(id) ? Number(id) : 0;
}

function refuse(exchange: HttpExchange, { status, message }: Refusal, more: HttpHeaders = {}): void {
  if (exchange.answered) return;
  exchange.reply(status, { ...PAGE_HEADERS, "content-type": "text/plain; charset=utf-8", ...more }, `${message}\n`);
}

function reply(exchange: HttpExchange, status: number, response: VerbResponse): void {
  exchange.reply(status, { ...PAGE_HEADERS, "content-type": "application/json" }, JSON.stringify(response));
}
