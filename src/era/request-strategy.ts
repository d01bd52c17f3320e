import { UrlElicitationRequiredError } from "../protocol/errors.js";
import type { Problem } from "../protocol/json.js";
import type { Params } from "../protocol/jsonrpc/message.js";
import type { Known } from "../protocol/known-options.js";
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

/** Requests that a handler may send to the client, and steps. */
export interface ClientRequests {
  /** Way in which the requests are sent. */
  readonly strategy: RequestStrategy;
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

/** Opens the requests to the client when a handler first needs them. */
export interface ClientRequestsOpener {
  /** Returns the same promise each time, so that requests keep their order. */
  open(): Promise<ClientRequests>;
}

/**
 * Way in which an era sends requests to the client while a handler runs, and keeps the results of the handler's steps.
 */
export interface RequestStrategy {
  /** Asks the client. Resolves with the unchanged answer after `options.check` has accepted it. */
  ask(request: InputRequest, options: AskOptions): Promise<unknown>;
  /** Sends a custom request to the client. Rejects in an era without requests from the server. */
  push(method: string, params: Params | undefined, options: AskOptions): Promise<{ readonly [key: string]: unknown }>;
  /**
   * Runs the work, and returns its result again if the handler runs several times for one call. Work that has failed
   * runs again if the same run of the handler asks again.
   */
  step<T>(name: string, work: () => T | Promise<T>): Promise<T>;
  /** Progress of the call so far. Undefined if the handler runs again within the same request only. */
  readonly recorded?: RecordedProgress | undefined;
}

/** Steps, questions and answers of a call whose handler runs again in later requests. */
export interface RecordedProgress {
  /** Results of completed steps by name. */
  readonly steps: { readonly [name: string]: unknown };
  /** Questions that were asked, as JSON text by key. */
  readonly asked: { readonly [key: string]: string };
  /** Answers to these questions that have the right shape. They are not checked otherwise. */
  readonly answers: { readonly [key: string]: unknown };
}

/** Options of a request to the client. */
export interface AskOptions {
  /** Name of the question across rounds. Without it, questions are numbered. */
  readonly key?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number | undefined;
  /** Id of a URL elicitation for `notifications/elicitation/complete`, in the versions that have it. */
  readonly elicitationId?: string | undefined;
  /** Called with the progress that the client reports, if the transport can carry it. */
  readonly onProgress?: ((progress: Progress) => void) | undefined;
  /** Validates an answer that has the right shape. Returns the problem, or its description. */
  readonly check?:
    | ((answer: unknown) => Problem | string | undefined | Promise<Problem | string | undefined>)
    | undefined;
}

export const ASK_OPTIONS: Known<AskOptions & { readonly result: unknown }> = {
  key: "any",
  signal: "object",
  timeoutMs: "ms",
  elicitationId: "any",
  onProgress: "function",
  check: "function",
  result: "any",
};

/** True if a handler failed because the user must visit URLs first. */
export function isUrlElicitationRequired(failure: unknown): failure is UrlElicitationRequiredError {
  return failure instanceof UrlElicitationRequiredError;
}
