import { equal } from "node:assert/strict";
import { Writable } from "node:stream";
import { test } from "node:test";
import { FrameWriter } from "#src/node/stdio/frame-writer.js";
import { gate } from "../../../support/gate.js";

/** Creates a stream whose writes complete when the test says so. */
function createStream() {
  const began = gate<() => void>();
  const stream = new Writable({ write: (_chunk, _encoding, done) => began.open(done) });
  return { stream, began: began.opened };
}

test("a write that completes after the writer was detached leaves nothing to wait for", async () => {
  const { stream, began } = createStream();
  const writer = new FrameWriter(stream, () => {});
  const written = new Promise((resolve) => stream.once("drain", resolve));
  writer.send("x".repeat(stream.writableHighWaterMark));
  const complete = await began;
  const before = writer.flushed();
  writer.detach();
  await before;
  complete();
  await written;
  await writer.flushed();
});

test("flushed waits for each write and resolves when the stream fails", async () => {
  const { stream, began } = createStream();
  const broken = gate<Error>();
  const writer = new FrameWriter(stream, broken.open);
  writer.send("{}");
  await began;
  let over = false;
  const flushed = writer.flushed().then(() => {
    over = true;
  });
  await Promise.resolve();
  equal(over, false);
  const cause = new Error("broken");
  stream.destroy(cause);
  await flushed;
  equal(await broken.opened, cause);
});
