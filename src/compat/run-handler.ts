import { runInCall } from "../node/current-call.js";
import { HandlerSuspended, McpError, RpcError, URL_ELICITATION_REQUIRED } from "../protocol/errors.js";
import { isObject } from "../protocol/json.js";
import { fromErrorObject, INTERNAL_ERROR, INVALID_PARAMS } from "../protocol/jsonrpc/errors.js";
import type { CallToolResult } from "../protocol/types/index.js";
import type { Changes } from "../server/changes.js";
import type { Context } from "../server/context.js";
import { toExtra } from "./extra.js";

/** Result of a tool. `content` may be absent. */
export type CompatToolResult = Omit<CallToolResult, "content"> & { content?: CallToolResult["content"] };

/**
 * Checks the state of an `input_required` result before a handler gets it (version 2). Returns what the handler gets in its
 * place, or undefined to leave it. Throws to refuse the call.
 */
export type VerifyState = (state: string, extra: never) => unknown;

export interface RunnerOptions {
  /** Hides the messages of errors that have no code. */
  readonly maskErrors: boolean;
  readonly verifyState: VerifyState | undefined;
  /** Called with an error of which the client does not get the reason. */
  readonly report: (where: string, error: unknown) => void;
}

/** Runs handlers with `extra` as their last argument. Converts their errors in the same way as the official SDK. */
export class HandlerRunner {
  readonly #changes: Changes;
  readonly #options: RunnerOptions;

  constructor(changes: Changes, options: RunnerOptions) {
    this.#changes = changes;
    this.#options = options;
  }

  async run<R>(ctx: Context, handler: unknown, args: readonly unknown[]): Promise<R> {
    try {
      return await this.#call<R>(ctx, handler, args);
    } catch (error) {
      throw this.toRpcError(error);
    }
  }

  /**
   * Runs the handler of a tool. Converts `UrlElicitationRequired` to a JSON-RPC error. The Bowline server handles other
   * errors like those of its own tools.
   */
  async runTool<R>(ctx: Context, handler: unknown, args: readonly unknown[]): Promise<R> {
    try {
      return await this.#call<R>(ctx, handler, args);
    } catch (error) {
      throw isObject(error) && error.code === URL_ELICITATION_REQUIRED ? this.toRpcError(error) : error;
    }
  }

  /**
   * Converts an error of a handler to a JSON-RPC error. Keeps a numeric `code`, as in errors of the official SDK. Other
   * errors become internal errors with their message, unless `maskErrors` is set.
   */
  toRpcError(error: unknown): unknown {
    if (!isObject(error) || error instanceof McpError || error instanceof HandlerSuspended) return error;
    const { code, message, data } = error;
    if (code === URL_ELICITATION_REQUIRED) return fromErrorObject({ code, message: String(message), data });
    if (typeof code === "number") return new RpcError(code, String(message), data);
    if (this.#options.maskErrors || !(error instanceof Error)) return error;
    return new RpcError(INTERNAL_ERROR, String(message), undefined, { cause: error });
  }

  #call<R>(ctx: Context, handler: unknown, args: readonly unknown[]): R | Promise<R> {
    const call = handler as (...args: unknown[]) => R | Promise<R>;
    const extra = toExtra(ctx, this.#changes);
    const { verifyState: verify } = this.#options;
    const state = ctx.requestState;
    if (verify === undefined || typeof state !== "string") return runInCall(ctx, () => call(...args, extra));
    return runInCall(ctx, async () => {
      const read = await this.#verified(() => verify(state, extra as never));
      const given = read === undefined ? {} : { requestState: () => read as never };
      return call(...args, { ...extra, mcpReq: { ...extra.mcpReq, ...given } });
    });
  }

  /** Refuses a call in the same way as the official SDK if the check of its state fails. */
  async #verified(check: () => unknown): Promise<unknown> {
    try {
      return await check();
    } catch (error) {
      this.#options.report("requestState", error);
      throw new RpcError(INVALID_PARAMS, "Invalid or expired requestState", { reason: "invalid_request_state" });
    }
  }
}
