import { equal, rejects } from "node:assert/strict";
import { test } from "node:test";
import { loadIcon } from "bowline/client";

const PNG = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];
const png = (size: number) => Uint8Array.from({ length: size }, (_, at) => PNG[at] ?? 0);
const tooLarge = (most: number) => ({ code: "unsafe_icon", message: new RegExp(`more than ${most} bytes`) });

test("a downloaded icon may have exactly as many bytes as are allowed, in one piece or in several", async () => {
  const src = "https://example.com/i.png";
  for (const pieces of [1, 3]) {
    const load = (size: number, maxBytes?: number) => {
      const body = new ReadableStream<Uint8Array>({
        start(controller) {
          const bytes = png(size);
          const step = Math.ceil(size / pieces);
          for (let at = 0; at < size; at += step) controller.enqueue(bytes.subarray(at, at + step));
          controller.close();
        },
      });
      const fetch = async () => new Response(body, { headers: { "content-type": "image/png" } });
      return loadIcon(
        { src },
        { server: "https://example.com", fetch, ...(maxBytes === undefined ? {} : { maxBytes }) },
      );
    };
    equal((await load(100, 100)).bytes.length, 100);
    await rejects(load(101, 100), tooLarge(100));
    equal((await load(262_144)).bytes.length, 262_144);
    await rejects(load(262_145), tooLarge(262_144));
  }
});

test("an icon in a data URI may have exactly as many bytes as are allowed", async () => {
  for (const size of [99, 100, 101]) {
    const src = `data:image/png;base64,${Buffer.from(png(size)).toString("base64")}`;
    if (size <= 100) equal((await loadIcon({ src }, { maxBytes: 100 })).bytes.length, size);
    else await rejects(loadIcon({ src }, { maxBytes: 100 }), tooLarge(100));
  }
  const svg = (size: number) => `<svg${" ".repeat(size - 6)}/>`;
  const src = (size: number) => `data:image/svg+xml,${encodeURIComponent(svg(size))}`;
  const load = (size: number) => loadIcon({ src: src(size) }, { maxBytes: 100, allowSvg: true });
  equal((await load(100)).bytes.length, 100);
  await rejects(load(101), tooLarge(100));
});
