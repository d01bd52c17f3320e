import { serveStdio } from "../node/stdio/serve.js";
import { createStdioServerChannel, type StdioServerOptions } from "../node/stdio/server.js";
import type { Channel } from "../protocol/jsonrpc/channel.js";
import type { Server as BowlineServer } from "../server/server.js";

/** Handlers that a program assigns to a transport. They are called before the server's own. */
export interface TransportHandlers {
  onmessage?: ((message: never) => void) | undefined;
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
}

/** Options of {@link StdioServerTransport}. */
export interface StdioTransportOptions {
  /**
   * Maximum length of a line in bytes.
   * @default 32 MiB
   */
  readonly maxBufferSize?: number | undefined;
}

/**
 * Transport over stdin and stdout of the process, or over streams of the program, which are ended with the connection.
 * Over those of the process, `connect` calls `serveStdio`.
 */
export class StdioServerTransport implements TransportHandlers {
  readonly sessionId = undefined;
  onmessage: TransportHandlers["onmessage"];
  onclose: TransportHandlers["onclose"];
  onerror: TransportHandlers["onerror"];
  readonly #input: StdioServerOptions["input"];
  readonly #output: StdioServerOptions["output"];
  readonly #limits: { readonly maxLineBytes: number | undefined };
  #connection: ReturnType<BowlineServer["accept"]> | undefined;

  constructor(
    input: StdioServerOptions["input"] = process.stdin,
    output: StdioServerOptions["output"] = process.stdout,
    { maxBufferSize }: StdioTransportOptions = {},
  ) {
    this.#input = input;
    this.#output = output;
    this.#limits = { maxLineBytes: maxBufferSize };
  }

  /** Serves a server until the connection ends. `connect` of a server calls it. */
  async serve(server: BowlineServer, onError: (error: Error) => void): Promise<void> {
    const [input, output, limits] = [this.#input, this.#output, this.#limits];
    const accept = (channel: Channel) => {
      this.#connection = server.accept(heardBy(this, onError, channel));
      return this.#connection;
    };
    if (input === process.stdin && output === process.stdout)
      return serveStdio({ info: server.info, accept, close: () => server.close() }, { limits });
    const { closed } = await accept(createStdioServerChannel({ input, output, limits }));
    await closed;
  }

  /** Ends the connection. */
  async close(): Promise<void> {
    const connection = await this.#connection;
    await connection?.close();
  }
}

/** Calls the handlers of a program before the events of a channel. */
function heardBy(program: TransportHandlers, onError: (error: Error) => void, channel: Channel): Channel {
  const fail = (error: Error) => {
    program.onerror?.(error);
    onError(error);
  };
  return {
    open: (events) =>
      channel.open({
        onFrame(text) {
          try {
            program.onmessage?.(JSON.parse(text) as never);
          } catch (error) {
            program.onerror?.(error as Error);
          }
          events.onFrame(text);
        },
        onProblem(problem) {
          fail(problem);
          events.onProblem(problem);
        },
        onClose(reason) {
          if (reason !== undefined) fail(reason);
          program.onclose?.();
          events.onClose(reason);
        },
      }),
    send: (text) => channel.send(text),
    close: () => channel.close(),
  };
}
