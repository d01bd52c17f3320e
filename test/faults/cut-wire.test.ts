import assert from "node:assert/strict";
import { Transform, type TransformCallback } from "node:stream";
import { describe, test } from "node:test";
import { type Client, ConnectionError, connect } from "bowline/client";
import { createStdioServerChannel } from "bowline/node";
import { McpServer } from "bowline/server";
import { FakeClock } from "bowline/testing";
import { type Era, RawEnd, speaking } from "../support/raw-peer.js";
import { watchRejections } from "../support/rejections.js";
import { child, Lines } from "../support/server-child.js";

const ANSWER = "é猫🦊";

/** A pipe that can be cut after so many more bytes. */
class CutPipe extends Transform {
  passed = 0;
  #left = Number.POSITIVE_INFINITY;
  #onCut: () => void = () => {};

  cutAfter(bytes: number, onCut: () => void): void {
    this.#left = bytes;
    this.#onCut = onCut;
    if (bytes === 0) onCut();
  }

  override _transform(chunk: Buffer, _encoding: string, done: TransformCallback): void {
    const piece = chunk.subarray(0, this.#left);
    this.#left -= piece.length;
    this.passed += piece.length;
    if (piece.length > 0) this.push(piece);
    done();
    if (this.#left === 0) this.#onCut();
  }
}

interface Wired {
  readonly client: Client;
  readonly server: McpServer;
  readonly up: CutPipe;
  readonly down: CutPipe;
  /** How many times the tool ran. */
  ran: number;
  cut(): void;
}

async function wire(era: Era): Promise<Wired> {
  const [up, down] = [new CutPipe(), new CutPipe()];
  const server = new McpServer({ name: "cut", version: "1.0.0" });
  const wired: { ran: number } = { ran: 0 };
  server.tool("say", {}, async () => {
    wired.ran++;
    return ANSWER;
  });
  await server.accept(createStdioServerChannel({ input: up, output: down, drainMs: 10 }));
  const channel = createStdioServerChannel({ input: down, output: up, drainMs: 10 });
  const client = await connect({ channel }, speaking(era));
  // What the client says last of its handshake may still be gathered: from here on, only the call passes.
  await new Promise(setImmediate);
  return Object.assign(wired, {
    client,
    server,
    up,
    down,
    cut: () => {
      up.destroy();
      down.end();
    },
  }) as Wired;
}

/** How a call ended; it is an error to end twice. */
async function outcomeOf(call: Promise<{ readonly text: string }>): Promise<string> {
  let settled = 0;
  const outcome = await call.then(
    ({ text }) => {
      settled++;
      return text;
    },
    (error: unknown) => {
      settled++;
      assert.ok(error instanceof ConnectionError, String(error));
      return error.delivery;
    },
  );
  assert.equal(settled, 1);
  return outcome;
}

/** The bytes that a call and its answer take. */
async function measure(era: Era): Promise<{ readonly request: number; readonly reply: number }> {
  const { client, server, up, down } = await wire(era);
  const before = [up.passed, down.passed] as const;
  await client.callTool("say");
  const sizes = { request: up.passed - before[0], reply: down.passed - before[1] };
  await Promise.all([client.close(), server.close()]);
  return sizes;
}

describe("a wire that is cut", { timeout: 240_000 }, () => {
  for (const era of ["modern", "legacy"] as const) {
    test(`${era}: at every byte of a request, the call ends once, and is told that it may have been received`, async (t) => {
      watchRejections(t);
      const { request } = await measure(era);
      for (let offset = 0; offset <= request; offset++) {
        const wired = await wire(era);
        wired.up.cutAfter(offset, wired.cut);
        const outcome = await outcomeOf(wired.client.callTool("say"));
        const possible = offset === 0 ? ["sent", "not_sent"] : ["sent"];
        assert.ok(possible.includes(outcome), `${outcome} at ${offset} of ${request}`);
        if (offset < request) assert.equal(wired.ran, 0, `at ${offset}`);
        assert.equal(wired.client.pending, 0);
        await wired.server.close();
        assert.equal(wired.server.stats().running, 0);
        await assert.rejects(wired.client.callTool("say"), { name: "ConnectionError", delivery: "not_sent" });
      }
    });

    test(`${era}: at every byte of a reply, the call ends once, with the answer only if all of it came`, async (t) => {
      watchRejections(t);
      const { reply } = await measure(era);
      for (let offset = 0; offset <= reply; offset++) {
        const wired = await wire(era);
        const call = wired.client.callTool("say");
        wired.down.cutAfter(offset, () => wired.cut());
        const outcome = await outcomeOf(call);
        if (offset > 0) assert.equal(outcome, offset === reply ? ANSWER : "sent", `at ${offset} of ${reply}`);
        else assert.ok(outcome === "sent" || outcome === "not_sent");
        if (offset > 0) assert.equal(wired.ran, 1);
        assert.equal(wired.client.pending, 0);
        await Promise.all([wired.client.close(), wired.server.close()]);
      }
    });

    test(`${era}: a server that is killed in mid call ends each call once, with what became of it`, async (t) => {
      watchRejections(t);
      const stderr = new Lines();
      const client = await connect({ ...child("mcp-server"), stderr: stderr.take }, speaking(era));
      const pid = Number((await client.callTool("pid")).text);
      const calls = Array.from({ length: 50 }, (_, index) =>
        index % 2 === 0 ? client.callTool("wait") : client.callTool("big", { size: 200_000 }),
      );
      await stderr.until("waiting");
      process.kill(pid, "SIGKILL");
      const outcomes = await Promise.all(calls.map(outcomeOf));
      for (const [index, outcome] of outcomes.entries()) {
        if (index % 2 === 0) assert.equal(outcome, "sent");
        else assert.ok(outcome === "sent" || outcome.length === 200_000);
      }
      assert.equal(client.pending, 0);
      await client.close();
    });
  }

  test("an input that breaks while an answer is being written ends both sides", async (t) => {
    watchRejections(t);
    const { client, server, up } = await wire("modern");
    const call = client.callTool("say");
    up.destroy(Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" }));
    await outcomeOf(call);
    await Promise.all([client.close(), server.close()]);
    assert.deepEqual([client.pending, server.stats().running], [0, 0]);
  });

  for (const how of ["closed", "cut"] as const) {
    test(`a call that pauses between two rounds ends with its connection (${how})`, async () => {
      const clock = new FakeClock();
      const raw = new RawEnd();
      const client = await connect({ channel: raw.near }, { ...speaking("modern"), clock });
      const call = client.callTool("any");
      const { id } = await raw.next();
      const timers = clock.delays.length;
      raw.write({ jsonrpc: "2.0", id, result: { resultType: "input_required", requestState: "later" } });
      await clock.started(timers + 1);
      if (how === "closed") await client.close();
      else raw.end();
      await assert.rejects(call, ConnectionError);
      assert.deepEqual([client.pending, clock.pending], [0, 0]);
    });
  }
});
