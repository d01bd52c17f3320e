import { type HostedNode, StateHost } from "#src/cluster/messages/host.js";
import type { FromHost, ToHost } from "#src/cluster/messages/link.js";
import { FakeClock } from "../fake-clock.js";

/** Program that hosts the states of tests, and connects the nodes of each by messages of one channel. */

export type Order =
  | { readonly kind: "connect"; readonly world: number; readonly node: number }
  | { readonly kind: "batch"; readonly node: number; readonly batch: readonly ToHost[] }
  /** Neither hears nor answers a node any more. */
  | { readonly kind: "mute"; readonly node: number }
  /** Ends a node, as the end of its process does. */
  | { readonly kind: "end"; readonly node: number }
  /** Writes nothing to a node until `read`. */
  | { readonly kind: "hold"; readonly node: number }
  | { readonly kind: "read"; readonly node: number }
  | { readonly kind: "advance"; readonly world: number; readonly ms: number };

export type Report =
  | { readonly kind: "connected"; readonly node: number; readonly name: string }
  | { readonly kind: "batch"; readonly node: number; readonly batch: readonly FromHost[] }
  | { readonly kind: "advanced"; readonly world: number };

interface Connected {
  readonly hosted: HostedNode;
  isMute: boolean;
  /** Function that lets a held batch count as written. */
  held: (() => void) | undefined;
  isHeld: boolean;
}

const worlds = new Map<number, { readonly clock: FakeClock; readonly host: StateHost }>();
const nodes = new Map<number, Connected>();

function worldOf(number: number) {
  const clock = new FakeClock();
  const world = worlds.get(number) ?? { clock, host: new StateHost({ clock }) };
  worlds.set(number, world);
  return world;
}

const report = (message: Report) => process.send?.(message);

function connect(world: number, node: number): void {
  const hosted = worldOf(world).host.connect({
    later: setImmediate,
    send(batch, written) {
      const connected = nodes.get(node);
      if (connected === undefined || connected.isMute) return written();
      report({ kind: "batch", node, batch });
      if (connected.isHeld) connected.held = written;
      else written();
    },
  });
  nodes.set(node, { hosted, isMute: false, held: undefined, isHeld: false });
  report({ kind: "connected", node, name: hosted.name });
}

function change(order: Exclude<Order, { kind: "connect" | "advance" }>, connected: Connected): void {
  if (order.kind === "batch") {
    if (!connected.isMute) connected.hosted.receive(order.batch);
  } else if (order.kind === "mute") connected.isMute = true;
  else if (order.kind === "end") connected.hosted.close();
  else {
    connected.isHeld = order.kind === "hold";
    if (!connected.isHeld) connected.held?.();
  }
}

process.on("message", (order: Order) => {
  if (order.kind === "connect") connect(order.world, order.node);
  else if (order.kind === "advance") {
    worldOf(order.world).clock.advance(order.ms);
    setImmediate(() => setImmediate(() => report({ kind: "advanced", world: order.world })));
  } else change(order, nodes.get(order.node) as Connected);
});
