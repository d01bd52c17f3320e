import { equal, match, ok, rejects } from "node:assert/strict";
import { type ClientExtension, connect, DefinitionError } from "bowline/client";
import { ServerScript } from "../../support/server-script.js";
import { proves } from "../../support/verifies.js";

const ID = "com.example/parcel";
const parcel: ClientExtension = {
  id: ID,
  methods: ["com.example/fetch"],
  results: { "com.example/ticket": { method: "tools/call", resolve: (result) => result } },
};

proves("extensions:conflict", {}, "on a client, before anything is sent", async () => {
  const announced = { capabilities: { extensions: { [ID]: {} } } };
  await rejects(connect({ channel: new ServerScript().modern().channel }, { ...announced, extensions: [parcel] }), {
    message: /com\.example\/parcel is claimed by the option extensions and by the option capabilities/,
  });
  const claims: readonly [readonly ClientExtension[], RegExp][] = [
    [[parcel, { id: "com.example/b", results: parcel.results ?? {} }], /com\.example\/ticket.*\/b and by .*parcel/],
    [[parcel, { id: "com.example/b", methods: ["com.example/fetch"] }], /com\.example\/fetch.*\/b and by .*parcel/],
    [[{ id: ID, methods: ["tools/call"] }], /tools\/call.*parcel and by the protocol/],
    [[{ id: ID, notifications: { "notifications/progress": () => {} } }], /progress.*parcel and by the protocol/],
    [
      [{ id: ID, results: { complete: { method: "tools/call", resolve: (result) => result } } }],
      /complete.*parcel and by the protocol/,
    ],
    [[parcel, { id: ID }], /^extensions: com\.example\/parcel is given twice$/],
    [[{ id: "parcel" }], /the extension "parcel" must be named like com\.example\/name/],
    [[{} as ClientExtension], /extensions\[0\]\.id is missing/],
    [{ [ID]: parcel } as never, /extensions must be of type array, got object/],
  ];
  for (const [extensions, words] of claims) {
    const script = new ServerScript().modern();
    await rejects(connect({ channel: script.channel }, { extensions }), (error) => {
      ok(error instanceof DefinitionError);
      match(error.message, words);
      return true;
    });
    equal(script.received.length, 0);
  }
});
