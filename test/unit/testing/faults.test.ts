import { deepEqual } from "node:assert/strict";
import { test } from "node:test";
import { FakeClock, withFaults } from "bowline/testing";
import type { Channel, ChannelEvents } from "#src/protocol/jsonrpc/channel.js";
import { ChannelLog } from "../../support/channel-log.js";

/** Channel that a test drives by its events. */
class DrivenChannel implements Channel {
  events: ChannelEvents | undefined;
  readonly sent: string[] = [];

  open(events: ChannelEvents): void {
    this.events = events;
  }

  async send(text: string): Promise<void> {
    this.sent.push(text);
    throw new Error("the peer is gone");
  }

  async close(): Promise<void> {
    this.events?.onClose(undefined);
  }
}

test("a faulty channel reports the problems of the channel that it wraps", async () => {
  const inner = new DrivenChannel();
  const log = await ChannelLog.open(withFaults(inner, {}));
  const problem = new Error("a line is too long");
  inner.events?.onProblem(problem);
  inner.events?.onFrame("{}");
  deepEqual([log.problems, log.frames], [[problem], ["{}"]]);
});

test("a frame that the wrapped channel cannot send is lost without a failure of the process", async (t) => {
  const rejections: unknown[] = [];
  const note = (reason: unknown) => rejections.push(reason);
  process.on("unhandledRejection", note);
  t.after(() => process.off("unhandledRejection", note));
  const inner = new DrivenChannel();
  const channel = withFaults(inner, {});
  const log = await ChannelLog.open(channel);
  await channel.send("{}");
  await new Promise(setImmediate);
  await channel.close();
  deepEqual([inner.sent, log.closes, rejections], [["{}"], [undefined], []]);
});

test("each fault is told with its direction", async () => {
  const inner = new DrivenChannel();
  const told: (readonly [string, string | undefined])[] = [];
  const fates = ["pass", "drop", "duplicate", "hold", { delayMs: 5 }] as const;
  const clock = new FakeClock();
  const channel = withFaults(inner, {
    clock,
    receive: { fate: (_frame, index) => fates[index] ?? "pass" },
    onFault: (what, direction) => told.push([what, direction]),
  });
  await ChannelLog.open(channel);
  for (const _ of fates) inner.events?.onFrame("{}");
  channel.stall("send");
  channel.stall("send");
  channel.cut();
  channel.cut();
  await Promise.resolve();
  deepEqual(told, [
    ["drop", "receive"],
    ["duplicate", "receive"],
    ["hold", "receive"],
    ["delay", "receive"],
    ["stall", "send"],
    ["cut", undefined],
  ]);
});
