import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type Client, ConnectionError, connect, TimeoutError } from "bowline/client";
import { McpServer } from "bowline/server";
import { createChannelPair, FakeClock, type FaultOptions, type FaultyChannel, withFaults } from "bowline/testing";
import * as z from "zod";
import { type Era, speaking } from "../support/raw-peer.js";

interface Wired {
  readonly client: Client;
  readonly channel: FaultyChannel;
  readonly server: McpServer;
  readonly errors: Error[];
  readonly ran: number[];
}

const isCall = (frame: string) => frame.includes('"tools/call"');
const isAnswer = (frame: string) => frame.includes('"content"');

async function wire(era: Era, faults: FaultOptions, clock?: FakeClock): Promise<Wired> {
  const ran: number[] = [];
  const errors: Error[] = [];
  const server = new McpServer({ name: "faulty", version: "1.0.0" });
  server.tool("say", { input: z.object({ n: z.number() }) }, ({ n }) => {
    ran.push(n);
    return String(n);
  });
  const [ours, theirs] = createChannelPair();
  await server.accept(theirs);
  const channel = withFaults(ours, faults);
  const options = { ...speaking(era), onError: (error: Error) => void errors.push(error) };
  const client = await connect({ channel }, clock === undefined ? options : { ...options, clock, timeoutMs: 1000 });
  return { client, channel, server, errors, ran };
}

const texts = async (calls: readonly Promise<{ readonly text: string }>[]) =>
  (await Promise.all(calls)).map(({ text }) => text);

describe("a wire on which things go wrong", { timeout: 240_000 }, () => {
  for (const era of ["modern", "legacy"] as const) {
    test(`${era}: answers that come twice settle their calls once and are no news`, async () => {
      const faults = { receive: { fate: (frame: string) => (isAnswer(frame) ? "duplicate" : "pass") } } as const;
      const { client, errors } = await wire(era, faults);
      assert.deepEqual(await texts([1, 2, 3].map((n) => client.callTool("say", { n }))), ["1", "2", "3"]);
      assert.deepEqual([client.pending, errors], [0, []]);
      await client.close();
    });

    test(`${era}: a request that comes twice is served twice and answered to one call`, async () => {
      const faults = { send: { fate: (frame: string) => (isCall(frame) ? "duplicate" : "pass") } } as const;
      const { client, server, ran } = await wire(era, faults);
      assert.equal((await client.callTool("say", { n: 1 })).text, "1");
      assert.equal((await client.callTool("say", { n: 2 })).text, "2");
      assert.deepEqual([...ran], [1, 1, 2, 2]);
      await client.close();
      assert.equal(server.stats().running, 0);
    });

    test(`${era}: requests and answers that change places reach the calls they belong to`, async () => {
      const swap = (fits: (frame: string) => boolean) => {
        let odd = false;
        return (frame: string) => {
          if (!fits(frame)) return "pass" as const;
          odd = !odd;
          return odd ? ("hold" as const) : ("pass" as const);
        };
      };
      const { client, ran } = await wire(era, { send: { fate: swap(isCall) }, receive: { fate: swap(isAnswer) } });
      const calls = [1, 2, 3, 4].map((n) => client.callTool("say", { n }));
      assert.deepEqual(await texts(calls), ["1", "2", "3", "4"]);
      assert.deepEqual([...ran], [2, 1, 4, 3]);
      await client.close();
    });

    test(`${era}: an answer that is lost ends the call by its time, and a late one is no news`, async () => {
      const clock = new FakeClock();
      const faults: FaultOptions = {
        receive: { fate: (frame) => (isAnswer(frame) ? { delayMs: 1500 } : "pass") },
        clock,
      };
      const { client, errors } = await wire(era, faults, clock);
      const call = client.callTool("say", { n: 1 });
      const started = clock.delays.length;
      await clock.started(started + 1);
      clock.advance(1000);
      await assert.rejects(call, TimeoutError);
      clock.advance(500);
      assert.deepEqual([client.pending, errors], [0, []]);
      await client.close();
      assert.equal(clock.pending, 0);
    });

    test(`${era}: a wire that stalls and flows again loses nothing`, async () => {
      const { client, channel, ran } = await wire(era, {});
      channel.stall("send");
      const first = client.callTool("say", { n: 1 });
      assert.deepEqual([...ran], []);
      channel.flow("send");
      assert.equal((await first).text, "1");
      channel.stall("receive");
      const second = client.callTool("say", { n: 2 });
      const third = client.callTool("say", { n: 3 });
      channel.flow("receive");
      assert.deepEqual(await texts([second, third]), ["2", "3"]);
      await client.close();
    });

    test(`${era}: a cut at every byte ends each of many calls once, on both sides`, async () => {
      const seen: unknown[] = [];
      const listen = (reason: unknown) => void seen.push(reason);
      process.on("unhandledRejection", listen);
      const start = era === "modern" ? 0 : 400;
      for (const direction of ["send", "receive"] as const) {
        for (let cutAt = start; cutAt < start + 900; cutAt += 7) {
          const { client, server } = await wire(era, { [direction]: { cutAt } });
          const calls = [1, 2, 3].map((n) => client.callTool("say", { n }));
          for (const [index, outcome] of (await Promise.allSettled(calls)).entries()) {
            if (outcome.status === "fulfilled") assert.equal(outcome.value.text, String(index + 1));
            else assert.ok(outcome.reason instanceof ConnectionError, String(outcome.reason));
          }
          assert.equal(client.pending, 0);
          await client.close();
          assert.deepEqual(server.stats().running, 0);
          await server.close();
        }
      }
      await new Promise(setImmediate);
      process.off("unhandledRejection", listen);
      assert.deepEqual(seen, []);
    });
  }

  test("a cut gives its reason to the owner, once, and refuses frames", async () => {
    const [ours, theirs] = createChannelPair();
    const reasons: unknown[] = [];
    theirs.open({ onFrame() {}, onProblem() {}, onClose: (reason) => void reasons.push(["theirs", reason]) });
    const channel = withFaults(ours, { send: { cutAt: 4 } });
    const closed = new Promise<Error | undefined>((resolve) => {
      channel.open({ onFrame() {}, onProblem() {}, onClose: resolve });
    });
    assert.equal(channel.send("{}"), undefined);
    assert.equal(channel.send("{}"), undefined);
    const reason = await closed;
    assert.ok(reason instanceof ConnectionError);
    assert.equal(reason.delivery, "sent");
    await assert.rejects(async () => channel.send("{}"), ConnectionError);
    channel.cut();
    await channel.close();
    assert.deepEqual(reasons, [["theirs", undefined]]);
  });
});
