import { pipeline, Readable, type Transform } from "node:stream";
import { constants, createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import type { ByteSource, OnChunk } from "../../http/client/send.js";
import { quoted } from "../../protocol/text.js";

/** Passes on data as it arrives, and accepts a missing end, as browsers do. */
const LENIENT = { flush: constants.Z_SYNC_FLUSH, finishFlush: constants.Z_SYNC_FLUSH };
const LENIENT_BROTLI = { finishFlush: constants.BROTLI_OPERATION_FLUSH };

const UNPACKERS: ReadonlyMap<string, () => Transform> = new Map([
  ["gzip", () => createGunzip(LENIENT)],
  ["x-gzip", () => createGunzip(LENIENT)],
  ["deflate", () => createInflate(LENIENT)],
  ["br", () => createBrotliDecompress(LENIENT_BROTLI)],
]);

/** Pumps the decompressed bytes of a source. The source is read no faster than the bytes are consumed. */
export async function inflate(packed: ByteSource, encoding: string, onChunk: OnChunk): Promise<void> {
  const unpackers = unpackersOf(encoding);
  let resume = () => {};
  const source = new Readable({
    read: () => resume(),
    destroy(error, done) {
      resume();
      done(error);
    },
  });
  let broken: { readonly reason: unknown } | undefined;
  const reading = packed.pump(async (chunk) => {
    if (!source.push(chunk) && !source.destroyed) {
      await new Promise<void>((resolve) => {
        resume = resolve;
      });
    }
    return !source.destroyed;
  });
  reading.then(
    () => source.push(null),
    (reason: unknown) => {
      broken = { reason };
      source.destroy(new Error("the compressed body is incomplete"));
    },
  );
  try {
    for await (const chunk of pipeline([source, ...unpackers], () => {}) as unknown as AsyncIterable<Uint8Array>) {
      if (!(await onChunk(chunk))) break;
    }
  } catch (error) {
    throw broken === undefined ? error : broken.reason;
  } finally {
    source.destroy();
  }
}

/** Maximum number of encodings. Each costs memory, and more than two do not occur in practice. */
const MOST_LAYERS = 2;

/** Creates a decompressor for each encoding. The encoding that was applied last comes first. */
function unpackersOf(encoding: string): Transform[] {
  const names = encoding
    .toLowerCase()
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "" && name !== "identity");
  if (names.length > MOST_LAYERS)
    throw new Error(`the response has ${names.length} content encodings, more than the limit of ${MOST_LAYERS}`);
  return names.reverse().map((name) => {
    const unpacker = UNPACKERS.get(name);
    if (unpacker === undefined)
      throw new Error(`the response has the unsupported content encoding ${quoted(name, 100)}`);
    return unpacker();
  });
}
