import { equal } from "node:assert/strict";
import { test } from "node:test";
import { createBrotliCompress, createGzip, gzipSync } from "node:zlib";
import type { ByteSource, OnChunk } from "#src/http/client/send.js";
import { inflate } from "#src/node/undici/inflate.js";
import { gate } from "../../../support/gate.js";

const sourceOf = (pump: (onChunk: OnChunk) => Promise<void>): ByteSource => ({ pump, cancel: async () => {} });

test("a reader that stops also ends the reading of the source", async () => {
  const packed = gzipSync(Buffer.alloc(1 << 20), { level: 0 });
  const stopped = gate();
  const source = sourceOf(async (onChunk) => {
    // The chunks are larger than the buffers, so the source waits while the reader works.
    while (await onChunk(packed));
    stopped.open();
  });
  await inflate(source, "gzip", () => false);
  await stopped.opened;
});

test("a source that sends more after the reader stopped is told so", async () => {
  const packed = gzipSync("plain");
  const over = gate();
  const told = gate<boolean>();
  const source = sourceOf(async (onChunk) => {
    await onChunk(packed);
    await over.opened;
    told.open(await onChunk(packed));
  });
  await inflate(source, "gzip", () => false);
  over.open();
  equal(await told.opened, false);
});

for (const [encoding, compressor] of [
  ["gzip", createGzip()],
  ["br", createBrotliCompress()],
] as const) {
  test(`${encoding}: data is passed on as it arrives, and the end may be missing`, async () => {
    const arrived = gate<string>();
    const source = sourceOf(async (onChunk) => {
      compressor.write("plain");
      const flushed = gate();
      compressor.flush(() => flushed.open());
      await flushed.opened;
      await onChunk(compressor.read() as Uint8Array);
      equal(await arrived.opened, "plain");
    });
    await inflate(source, encoding, (chunk) => {
      arrived.open(String(chunk));
      return true;
    });
  });
}
