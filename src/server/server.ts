import type { AcceptChannel, CallOrigin, OfferedEra } from "../era/server-era.js";
import { pathOf, resolveSsePaths } from "../era/sse-paths.js";
import { McpError } from "../protocol/errors.js";
import type { Channel } from "../protocol/jsonrpc/channel.js";
import type { AnySchema } from "../schema/compile.js";
import type { PromptHandler, PromptOptions } from "./definitions/prompt.js";
import type { ResourceHandler, ResourceOptions } from "./definitions/resource.js";
import type { ToolHandler, ToolOptions } from "./definitions/tool.js";
import {
  HttpServer,
  type PromptType,
  type PromptTypes,
  type ResourceType,
  type ResourceTypes,
  type ToolType,
  type ToolTypes,
} from "./http-server.js";
import { prepareRoutes } from "./routes.js";
import type { ChannelEndpoint, ServedConnection } from "./transports/channel.js";

/** One definition of a server, for every client, wire and protocol version: over HTTP, and over channels such as stdio. */
// biome-ignore-start lint/complexity/noBannedTypes: the empty start of a chain of intersections
export class Server<
  Tools extends ToolTypes = {},
  Prompts extends PromptTypes = {},
  Resources extends ResourceTypes = {},
> extends HttpServer<Tools, Prompts, Resources> {
  // biome-ignore-end lint/complexity/noBannedTypes: the empty start of a chain of intersections
  readonly #doors = new Set<ChannelEndpoint>();
  /** What channels take, from the first of them on. */
  #loading: Promise<unknown> | undefined;
  #ended = false;

  override tool<
    const Name extends string,
    I extends AnySchema | undefined = undefined,
    O extends AnySchema | undefined = undefined,
  >(
    name: Name,
    options: ToolOptions<I, O>,
    handler: ToolHandler<I, O>,
  ): Server<Tools & ToolType<Name, I, O>, Prompts, Resources> {
    super.tool(name, options, handler);
    return this as unknown as Server<Tools & ToolType<Name, I, O>, Prompts, Resources>;
  }

  override prompt<const Name extends string, A extends AnySchema | undefined = undefined>(
    name: Name,
    options: PromptOptions<A>,
    handler: PromptHandler<A>,
  ): Server<Tools, Prompts & PromptType<Name, A>, Resources> {
    super.prompt(name, options, handler);
    return this as unknown as Server<Tools, Prompts & PromptType<Name, A>, Resources>;
  }

  override resource<const Uri extends string, V extends AnySchema | undefined = undefined>(
    uri: Uri,
    options: ResourceOptions<V>,
    handler: ResourceHandler<Uri, V>,
  ): Server<Tools, Prompts, Resources & ResourceType<Uri>> {
    super.resource(uri, options, handler);
    return this as unknown as Server<Tools, Prompts, Resources & ResourceType<Uri>>;
  }

  /** Serves a channel until it ends. Many channels may be served at once. */
  async accept(channel: Channel, origin: CallOrigin = {}): Promise<ServedConnection> {
    return this.#accept(this.core.eras, channel, () => origin);
  }

  async #accept(offered: readonly OfferedEra[], channel: Channel, origin: () => CallOrigin): Promise<ChannelEndpoint> {
    if (this.#ended) throw closed();
    const prepared = prepareRoutes(this.core.registry);
    const loading = Promise.all([
      import("./transports/channel.js"),
      prepared,
      this.core.prepare(),
      ...offered.map((era) => era.load()),
    ]);
    this.#loading = loading;
    const [{ ChannelEndpoint }, , , ...eras] = await loading;
    if (this.#ended) {
      await channel.close();
      throw closed();
    }
    const door = new ChannelEndpoint(this.core, eras, channel, origin);
    this.#doors.add(door);
    door.closed.then(() => this.#doors.delete(door));
    try {
      await door.open();
    } catch (error) {
      this.#doors.delete(door);
      throw error;
    }
    this.core.options.onConnection?.(door);
    return door;
  }

  override onListening(runtime: string): readonly string[] {
    const paths = super.onListening(runtime);
    const { sse = false } = this.core.options.http ?? {};
    if (sse === false) return paths;
    const { stream, messages } = resolveSsePaths(sse);
    return [stream, pathOf(messages), ...paths];
  }

  protected override get acceptChannel(): AcceptChannel {
    return (era, channel, origin) => this.#accept([era], channel, origin);
  }

  override stats(): Readonly<Record<string, number>> {
    const { running = 0, ...stats } = super.stats();
    const inside = [...this.#doors].reduce((sum, door) => sum + door.running, running);
    return { ...stats, connections: this.#doors.size, running: inside };
  }

  protected override async idle(): Promise<void> {
    await Promise.all([super.idle(), ...[...this.#doors].map((door) => door.idle())]);
  }

  protected override async end(): Promise<void> {
    this.#ended = true;
    // A channel that is accepted just now is closed by whoever accepts it.
    const accepting = this.#loading?.catch(() => {});
    await Promise.all([super.end(), accepting, ...[...this.#doors].map((door) => door.close())]);
  }
}

function closed(): McpError {
  return new McpError("server_closing", "The server has been closed");
}
