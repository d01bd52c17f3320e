import { UrlElicitationRequiredError } from "../protocol/errors.js";
import type { Problem } from "../protocol/json.js";
import type { Params } from "../protocol/jsonrpc/message.js";
import type {
  CreateMessageParams,
  CreateMessageResult,
  ElicitResult,
  InputRequest,
  Progress,
  Root,
} from "../protocol/types/index.js";
import type { FormSchema } from "../schema/elicitation-form.js";
import type { OutputOf, StandardSchema } from "../schema/standard-schema.js";

export type ElicitAnswer<T> =
  | { readonly action: "accept"; readonly content: T }
  | { readonly action: "decline" | "cancel"; readonly content?: undefined };

/** What a handler may ask of the client, and do once. */
export interface ClientRequests {
  elicit<const S extends FormSchema>(
    message: string,
    schema: S,
    options: AskOptions,
  ): Promise<ElicitAnswer<OutputOf<S>>>;
  elicitUrl(message: string, url: string, options: AskOptions): Promise<Pick<ElicitResult, "action">>;
  sample(params: CreateMessageParams, options: AskOptions): Promise<CreateMessageResult>;
  listRoots(options: AskOptions): Promise<readonly Root[]>;
  request(
    method: string,
    params: Params | undefined,
    options: AskOptions & { readonly result?: StandardSchema },
  ): Promise<unknown>;
  step<T>(name: string, work: () => T | Promise<T>): Promise<T>;
}

/** The way to ask, which is made ready when a handler first needs it. */
export interface ClientRequestsOpener {
  /** The same promise each time: who asked first is heard first. */
  open(): Promise<ClientRequests>;
}

/** How an era asks the client for a handler, and remembers what the handler did, while its call runs. */
export interface RequestStrategy {
  /** Puts one question to the client; resolves with the client's answer as it came, once `options.check` has passed it. */
  ask(request: InputRequest, options: AskOptions): Promise<unknown>;
  /** Sends the client a request of the author's own; rejects in an era without such. */
  push(method: string, params: Params | undefined, options: AskOptions): Promise<{ readonly [key: string]: unknown }>;
  /** Runs work once per call, however often the handler is run. */
  step<T>(name: string, work: () => T | Promise<T>): Promise<T>;
}

export interface AskOptions {
  /** Names the question across rounds; by default questions are counted. */
  readonly key?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number | undefined;
  /** Names a question by URL for the notice that the page is done, in the versions that have one. */
  readonly elicitationId?: string | undefined;
  /** Hears how far the client has got, where it can tell. */
  readonly onProgress?: ((progress: Progress) => void) | undefined;
  /** Looks closer at an answer of the right shape. */
  readonly check?: ((answer: unknown) => Problem | undefined | Promise<Problem | undefined>) | undefined;
}

/** Whether a handler failed because the user must visit pages first. */
export function isUrlElicitationRequired(failure: unknown): failure is UrlElicitationRequiredError {
  return failure instanceof UrlElicitationRequiredError;
}
