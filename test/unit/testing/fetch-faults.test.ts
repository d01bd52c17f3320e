import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { describe, it } from "node:test";
import { connect } from "bowline/client";
import { FakeClock, type FetchFate, Recording, withFetchFaults } from "bowline/testing";
import { fetchInto, HTTP_URL, harbour } from "../../support/recorded-wires.js";

const url = new URL("http://localhost/mcp");
const EVENTS = "data: 1\n\nid: a\r\ndata: 2\r\n\r\ndata: 3\n\n";
const streaming = async () => new Response(EVENTS, { headers: { "content-type": "text/event-stream", "x-a": "1" } });

/** Reads the body of a response under a fate: its text, and the error that ended it. */
async function read(fate: FetchFate): Promise<readonly [text: string, error: string | undefined]> {
  const response = await withFetchFaults(streaming, { fate: () => fate })(url, {});
  equal(response.headers.get("x-a"), "1");
  let text = "";
  try {
    for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>)
      text += Buffer.from(chunk).toString();
    return [text, undefined];
  } catch (error) {
    return [text, (error as Error).message];
  }
}

const CUT = "terminated: the connection was cut";

describe("fetch with faults", () => {
  it("passes requests on, with what the fate is chosen by", async () => {
    const seen: unknown[] = [];
    const fetch = withFetchFaults(streaming, {
      fate: ({ method, url: { pathname }, headers, body }, index) => {
        seen.push([method, pathname, headers.get("a"), body, index]);
        return "pass";
      },
    });
    equal(await (await fetch(url, { method: "POST", headers: { A: "b" }, body: "text" })).text(), EVENTS);
    await fetch(url, {});
    deepEqual(seen, [
      ["POST", "/mcp", "b", "text", 0],
      ["GET", "/mcp", null, undefined, 1],
    ]);
  });

  it("cuts a response after bytes, or after events", async () => {
    deepEqual(await read({ cutAfterBytes: 5 }), ["data:", CUT]);
    deepEqual(await read({ cutAfterBytes: 0 }), ["", CUT]);
    deepEqual(await read({ cutAfterEvents: 2 }), ["data: 1\n\nid: a\r\ndata: 2\r\n\r\n", CUT]);
    deepEqual(await read({ cutAfterEvents: 0 }), ["", CUT]);
    deepEqual(await read({ cutAfterEvents: 9 }), [EVENTS, undefined]);
  });

  it("repeats an event", async () => {
    deepEqual(await read({ duplicateEvent: 1 }), [
      "data: 1\n\nid: a\r\ndata: 2\r\n\r\nid: a\r\ndata: 2\r\n\r\ndata: 3\n\n",
      undefined,
    ]);
  });

  it("drops a request, loses a response, and answers by itself", async () => {
    let sent = 0;
    const count = () => {
      sent++;
      return streaming();
    };
    const under = (fate: FetchFate) => withFetchFaults(count, { fate: () => fate })(url, {});
    await rejects(under("drop"), /the request was dropped/);
    equal(sent, 0);
    await rejects(under("lose"), /the response was lost/);
    equal(sent, 1);
    const busy = await under({ status: 503, headers: { "retry-after": "2" }, body: "busy" });
    deepEqual([busy.status, busy.headers.get("retry-after"), await busy.text(), sent], [503, "2", "busy", 1]);
  });

  it("delays a request by the clock, until its signal aborts", async () => {
    const clock = new FakeClock();
    const fetch = withFetchFaults(streaming, { clock, fate: () => ({ delayMs: 100 }) });
    const response = fetch(url, {});
    clock.advance(100);
    equal((await response).status, 200);
    const aborter = new AbortController();
    const aborted = fetch(url, { signal: aborter.signal });
    aborter.abort(new Error("enough"));
    await rejects(aborted, /enough/);
    equal(clock.pending, 0);
  });

  it("stalls a response, or the rest of a stream, until it flows or its signal aborts", async () => {
    const fates: FetchFate[] = ["stall", { stallAfterEvents: 1 }, "stall"];
    const fetch = withFetchFaults(streaming, { fate: (_request, index) => fates[index] as FetchFate });
    let isThere = false;
    const first = fetch(url, {}).then((response) => {
      isThere = true;
      return response;
    });
    await new Promise(setImmediate);
    equal(isThere, false);
    fetch.flow();
    equal(await (await first).text(), EVENTS);
    const reader = ((await fetch(url, {})).body as ReadableStream<Uint8Array>).getReader();
    equal(Buffer.from((await reader.read()).value as Uint8Array).toString(), "data: 1\n\n");
    const rest = reader.read();
    await new Promise(setImmediate);
    fetch.flow();
    equal(Buffer.from((await rest).value as Uint8Array).toString(), "id: a\r\ndata: 2\r\n\r\n");
    const aborter = new AbortController();
    const stalled = fetch(url, { signal: aborter.signal });
    await new Promise(setImmediate);
    aborter.abort(new Error("enough"));
    await rejects(stalled, /enough/);
  });

  it("refuses a misspelt fault", async () => {
    const fetch = withFetchFaults(streaming, { fate: () => ({ delayMS: 1 }) as never });
    await rejects(fetch(url, {}), /unknown option delayMS; did you mean delayMs/);
  });

  it("lets a client meet them, and a recording tell of them", async (t) => {
    const server = harbour();
    t.after(() => server.close());
    for (const era of ["modern", "legacy"] as const) {
      const recording = new Recording();
      const fetch = withFetchFaults(fetchInto(server), {
        fate: ({ body }) => (body?.includes('"moor"') ? { cutAfterEvents: 1 } : "pass"),
        onFault: (what) => recording.add({ k: "fault", what }),
      });
      const options = { era, fetch, reconnect: { maxFruitless: 1, firstDelayMs: 1 } };
      const client = await connect(...recording.client(HTTP_URL, options));
      const seen: number[] = [];
      await rejects(client.callTool("moor", { ship: "Maria" }, { onProgress: ({ progress }) => seen.push(progress) }), {
        code: "connection_error",
        delivery: "answer_lost",
      });
      ok(seen.length <= 1);
      equal((await client.readResource("berth://n1")).contents.length, 1);
      await client.close();
      deepEqual(
        recording.events.filter(({ k }) => k === "fault").map((event) => "what" in event && event.what),
        ["cutAfterEvents"],
      );
    }
  });
});
