import type { Context, ServerOptions } from "bowline/server";
import type { CallerState, StateDefinition } from "bowline/state";
import type { OpenableState } from "#src/era/openable-state.js";
import type { Call, OfferedEra } from "#src/era/server-era.js";
import type { Implementation } from "#src/protocol/types/index.js";
import type { SchemaCompiler } from "#src/schema/json-schema/types.js";
import type { ServerCore } from "#src/server/runtime.js";
import { Server } from "#src/server/server.js";

// The declarations of the build leave out what users must not use. These functions give it to tests.

/** The core of a server. */
export function coreOf(server: object): ServerCore {
  return (server as { readonly core: ServerCore }).core;
}

/** A server of these eras. */
export const serverOfEras = (
  info: Implementation,
  options: ServerOptions,
  eras: readonly OfferedEra[],
  validator?: SchemaCompiler,
): Server => Reflect.construct(Server, [info, options, eras, validator]);

/** Opens a value as `ctx.state` does in a call of the server. */
export function openState<In, Out>(
  definition: StateDefinition<In, Out>,
  call: Call,
  server: object,
): CallerState<In, Out> {
  return (definition as OpenableState<CallerState<In, Out>>).open(call, coreOf(server));
}

/** True while notifications and requests can be sent for the call of a context. */
export function isOpen(ctx: Context): boolean {
  return (ctx as unknown as { readonly open: boolean }).open;
}
