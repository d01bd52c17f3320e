import { BodyTooLarge } from "../../http/body-failure.js";
import { readText } from "../../http/client/read.js";
import { timeoutSignal } from "../abortable.js";
import type { IssuerLimits } from "./limits.js";
import { invalidRequest, OAuthProblem } from "./problem.js";

const MANY = new Set(["resource"]);

/** Parameters of a request. Only `resource` may be repeated. */
export class Params {
  readonly #all: URLSearchParams;

  constructor(all: URLSearchParams) {
    this.#all = all;
  }

  /** Returns the value of a parameter. An empty value counts as absent. */
  get(name: string): string | undefined {
    const value = this.#all.get(name);
    return value === null || value === "" ? undefined : value;
  }

  getAll(name: string): readonly string[] {
    return this.#all.getAll(name).filter((value) => value !== "");
  }

  /** Returns the value of a parameter. Throws `invalid_request` if it is absent. */
  need(name: string): string {
    const value = this.get(name);
    if (value === undefined) throw invalidRequest(`${name} is missing`);
    return value;
  }

  /**
   * Returns the first repeated parameter, among `names` or among all, that must not be repeated. Iterates only once,
   * because there may be thousands of parameters.
   */
  repeated(names?: readonly string[]): string | undefined {
    const seen = new Set<string>();
    for (const name of this.#all.keys()) {
      if (MANY.has(name) || names?.includes(name) === false) continue;
      if (seen.has(name)) return name;
      seen.add(name);
    }
    return undefined;
  }
}

/** Reads a form body. Throws for another media type, and for a body that is too large or too slow. */
export async function readForm(request: Request, { maxFormBytes, formMs }: IssuerLimits): Promise<Params> {
  if (mediaType(request) !== "application/x-www-form-urlencoded") {
    throw invalidRequest("the body must be application/x-www-form-urlencoded");
  }
  return new Params(new URLSearchParams(await readBody(request, maxFormBytes, formMs)));
}

/** Reads the form of an API endpoint. Throws for repeated parameters and for parameters in the URL. */
export async function readStrictForm(request: Request, limits: IssuerLimits): Promise<Params> {
  if (new URL(request.url).search !== "") throw invalidRequest("parameters must be in the body, not in the URL");
  const form = await readForm(request, limits);
  const repeated = form.repeated();
  if (repeated !== undefined) throw invalidRequest(`${named(repeated)} is repeated`);
  return form;
}

/** Reads a registration. */
export async function readJson(request: Request, { maxRegistrationBytes, formMs }: IssuerLimits): Promise<unknown> {
  const text = await readBody(request, maxRegistrationBytes, formMs);
  try {
    return JSON.parse(text);
  } catch {
    throw new OAuthProblem("invalid_client_metadata", "the body is not JSON");
  }
}

export function mediaType(message: Request | Response): string {
  return (message.headers.get("content-type") ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? "";
}

async function readBody(request: Request, maxBytes: number, ms: number): Promise<string> {
  const late = timeoutSignal(ms);
  const signal = AbortSignal.any([request.signal, late]);
  try {
    return await readText(new Response(request.body), maxBytes, { signal });
  } catch (error) {
    if (late.aborted && signal.reason === late.reason)
      throw new OAuthProblem("invalid_request", `the body did not arrive within ${ms} ms`, { status: 408 });
    if (!(error instanceof BodyTooLarge)) throw error;
    throw new OAuthProblem("invalid_request", `the body is larger than ${maxBytes} bytes`, { status: 413 });
  }
}

/** Returns the name of a parameter for a message. Unusual names are not repeated. */
export const named = (text: string) => (/^\w{1,64}$/.test(text) ? text : "a parameter");

/** Headers that keep responses about tokens out of caches. */
export const NOT_STORED = { "cache-control": "no-store", pragma: "no-cache" } as const;

export function json(status: number, value: unknown, headers: Readonly<Record<string, string>> = {}): Response {
  return new Response(JSON.stringify(value), { status, headers: { "content-type": "application/json", ...headers } });
}

/** Redirects a browser. After a form the status is 303, so that the form is not posted again. */
export function redirect(request: Request, location: string, cookies: readonly string[] = []): Response {
  const headers = new Headers({ location, "referrer-policy": "no-referrer", ...NOT_STORED });
  for (const cookie of cookies) headers.append("set-cookie", cookie);
  return new Response(null, { status: request.method === "POST" ? 303 : 302, headers });
}
