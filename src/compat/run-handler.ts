import { runInCall } from "../node/current-call.js";
import { HandlerSuspended, McpError, RpcError, URL_ELICITATION_REQUIRED } from "../protocol/errors.js";
import { isObject } from "../protocol/json.js";
import { fromErrorObject, INTERNAL_ERROR } from "../protocol/jsonrpc/errors.js";
import type { Changes } from "../server/changes.js";
import type { Context } from "../server/context.js";
import { toExtra } from "./extra.js";

/** Runs the handlers of a server with `extra` behind their arguments, and answers their errors as the official SDK does. */
export class HandlerRunner {
  readonly #changes: Changes;
  readonly #maskErrors: boolean;

  constructor(changes: Changes, maskErrors: boolean) {
    this.#changes = changes;
    this.#maskErrors = maskErrors;
  }

  async run<R>(ctx: Context, handler: unknown, args: readonly unknown[]): Promise<R> {
    try {
      return await this.#call<R>(ctx, handler, args);
    } catch (error) {
      throw this.toRpcError(error);
    }
  }

  /** Runs the handler of a tool. Its errors become results for the model, except the one that sends the user to a URL. */
  async runTool<R>(ctx: Context, handler: unknown, args: readonly unknown[]): Promise<R> {
    try {
      return await this.#call<R>(ctx, handler, args);
    } catch (error) {
      throw isObject(error) && error.code === URL_ELICITATION_REQUIRED ? this.toRpcError(error) : error;
    }
  }

  /** Returns the JSON-RPC error for an error of a handler: with its numeric `code`, as errors of the official SDK have it. */
  toRpcError(error: unknown): unknown {
    if (!isObject(error) || error instanceof McpError || error instanceof HandlerSuspended) return error;
    const { code, message, data } = error;
    if (code === URL_ELICITATION_REQUIRED) return fromErrorObject({ code, message: String(message), data });
    if (typeof code === "number") return new RpcError(code, String(message), data);
    if (this.#maskErrors || !(error instanceof Error)) return error;
    return new RpcError(INTERNAL_ERROR, String(message), undefined, { cause: error });
  }

  #call<R>(ctx: Context, handler: unknown, args: readonly unknown[]): R | Promise<R> {
    const call = handler as (...args: unknown[]) => R | Promise<R>;
    return runInCall(ctx, () => call(...args, toExtra(ctx, this.#changes)));
  }
}
