import { CALL, said, script } from "./client-words.mjs";

/** Returns scripts in which servers ask questions. */
export function clientQuestions(world) {
  const requestedSchema = { type: "object", properties: { name: { type: "string" } }, required: ["name"] };
  const asked = {
    form: ["elicitation/create", { mode: "form", message: "Name?", requestedSchema }],
    page: ["elicitation/create", { mode: "url", message: "Go", url: "https://example.com/in", elicitationId: "e-1" }],
    sample: [
      "sampling/createMessage",
      { messages: [{ role: "user", content: { type: "text", text: "Hi" } }], maxTokens: 5 },
    ],
    roots: ["roots/list", {}],
    own: ["com.example/question", { a: 1 }],
    none: ["no/such", {}],
    odd: ["elicitation/create", { message: 5 }],
  };
  return Object.entries(asked).flatMap(([name, [method, params]], at) => {
    const ways = ["accept", "decline", "wrong", "fails", undefined].filter(
      (_way, place) => name === "form" || (place + at) % 2 === 0,
    );
    return ways.map((answering) => {
      const rules = world.isModern
        ? [
            {
              on: "tools/call",
              once: true,
              reply: {
                result: { resultType: "input_required", inputRequests: { q: { method, params } }, requestState: "s" },
              },
            },
            { on: "tools/call", reply: { result: said(world, "answered") } },
          ]
        : [{ on: "tools/call", reply: pushing(world, { jsonrpc: "2.0", id: 900, method, params }) }];
      const answer = { jsonrpc: "2.0", id: "{{id}}", result: said(world, "answered") };
      const steps = [CALL, ...(world.isModern ? [] : [{ push: { event: answer, frame: answer } }])];
      return script(world, `${name} ${answering}`, rules, steps, { answering });
    });
  });
}

const pushing = ({ wire }, message) => (wire === "http" ? { sse: [message], open: true } : { frames: [message] });
