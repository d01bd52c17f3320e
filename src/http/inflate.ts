import type { ByteSource, ReplyBody } from "./reply.js";

const FORMATS: Readonly<Record<string, CompressionFormat>> = { gzip: "gzip", "x-gzip": "gzip", deflate: "deflate" };

/** The plain bytes of a source, whatever they were packed in on the way. */
export function inflate(source: ByteSource, encoding: string | null): ReplyBody {
  const format = encoding === null ? undefined : FORMATS[encoding.toLowerCase()];
  if (format === undefined) return source;
  const packed = new ReadableStream<Uint8Array<ArrayBuffer>>({
    start(controller) {
      const read = source.pump((chunk) => {
        controller.enqueue(chunk as Uint8Array<ArrayBuffer>);
        return true;
      });
      read.then(
        () => controller.close(),
        (error) => controller.error(error),
      );
    },
    cancel: (reason) => source.cancel(reason),
  });
  return packed.pipeThrough(new DecompressionStream(format));
}
