import { equal, match, ok, rejects } from "node:assert/strict";
import { createHash } from "node:crypto";
import { describe, it } from "node:test";
import { htmlFile } from "#src/inspect/html-file.js";
import { parseRecording } from "#src/recording/reader.js";

const HEADER = '{"mcpRecording":1,"by":"a","at":"2026-01-01T00:00:00Z","unit":"us","redaction":{"profile":"default"}}';
const page = { script: 'console.log("<b>");\n', style: "a { color: red }\n" };

describe("the HTML file of a recording", () => {
  it("allows its script and its style by their hashes, and nothing else", async () => {
    const html = await htmlFile(page, [{ name: "a", text: HEADER }]);
    for (const [element, text] of [
      ["module", page.script],
      ["style", page.style],
    ] as const) {
      const hash = createHash("sha256").update(text.trim()).digest("base64");
      ok(html.includes(`'sha256-${hash}'`), element);
    }
    match(
      html,
      /content="default-src 'none'; script-src 'sha256-[^']+'; style-src 'sha256-[^']+'; img-src blob: data:; base-uri 'none'/,
    );
    equal(/connect-src|unsafe|https?:/.test(html), false);
  });

  it("contains recordings whose texts cannot end their element", async () => {
    const nasty = `</script><script>alert(1)</script><!-- ${"</ScRiPt "}`;
    const text = `${HEADER}\n${JSON.stringify({ t: 1, k: "note", text: nasty })}\n`;
    const html = await htmlFile(page, [{ name: 'a"><script>b', text }]);
    equal(html.match(/<\/script/gi)?.length, 2);
    equal(html.match(/<script/gi)?.length, 2);
    const [, embedded = ""] = /<script type="application\/x-ndjson"[^>]*>\n(.*?)\n<\/script>/s.exec(html) ?? [];
    const [note] = parseRecording(embedded).events;
    equal(note?.k === "note" && note.text, nasty);
  });

  it("refuses a page that would end its own element", async () => {
    await rejects(htmlFile({ ...page, script: "x='</SCRIPT>'" }, []), /The script of the page contains <\/script/);
    await rejects(htmlFile({ ...page, style: "</style>" }, []), /The style of the page contains <\/style/);
  });
});
