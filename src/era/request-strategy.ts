import type { JournalRun } from "../journal/run.js";
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
 * Way in which requests are sent to the client while a handler runs: that of an era, or that of a task.
 */
export interface RequestStrategy {
  /** Asks the client. Resolves with the unchanged answer after `options.check` has accepted it. */
  ask(request: InputRequest, options: AskOptions): Promise<unknown>;
  /** Sends a custom request to the client. Rejects in an era without requests from the server. */
  push(method: string, params: Params | undefined, options: AskOptions): Promise<{ readonly [key: string]: unknown }>;
  /** This run of the handler, with the journal of its steps, questions and answers. */
  readonly run: JournalRun;
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
