import { envelope, headersOf, messagesIn } from "../workload/requests.mjs";

const elicitation = { elicitation: {} };
let ids = 0;

/** Calls a tool at a node as a client of 2026-07-28 with these capabilities. Returns the result. */
export async function callModern(node, name, further = {}, declared = elicitation) {
  const call = { method: "tools/call", params: { name, arguments: {}, ...further } };
  const capabilities = { "io.modelcontextprotocol/clientCapabilities": declared };
  const params = { ...call.params, _meta: { ...envelope, ...capabilities } };
  const body = JSON.stringify({ jsonrpc: "2.0", id: ++ids, method: call.method, params });
  const headers = headersOf({ modern: true }, call);
  const response = await node.server.fetch(new Request("http://127.0.0.1/mcp", { method: "POST", headers, body }));
  const answer = messagesIn(await response.text()).at(-1);
  if (answer?.result === undefined) throw new Error(`${name} was answered by ${JSON.stringify(answer)}`);
  return answer.result;
}

/** Returns the parameters of the request that answers the questions of a result. */
export function answersTo({ inputRequests, requestState }) {
  const accepted = { action: "accept", content: { sure: true } };
  const inputResponses = Object.fromEntries(Object.keys(inputRequests).map((key) => [key, accepted]));
  return { inputResponses, requestState };
}
