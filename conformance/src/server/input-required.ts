import { type Context, type McpServer, text } from "bowline/server";
import * as z from "zod";

/** Adds tools and a prompt that need answers, under the keys that the suite expects. */
export function addInputRequired(server: McpServer): void {
  server.tool("test_input_required_result_elicitation", { description: "Asks for a name" }, async (_, ctx) => {
    const answer = await ctx.elicit("What is your name?", z.object({ name: z.string() }), { key: "user_name" });
    return answer.action === "accept" ? `Hello, ${answer.content.name}!` : "Hello, whoever you are!";
  });

  server.tool("test_input_required_result_sampling", { description: "Asks the model" }, async (_, ctx) => {
    const { content } = await askCapital(ctx);
    return `The model said: ${JSON.stringify(content)}`;
  });

  server.tool("test_input_required_result_list_roots", { description: "Asks for the roots" }, async (_, ctx) => {
    const roots = await ctx.listRoots({ key: "client_roots" });
    return `The roots: ${roots.map(({ uri }) => uri).join(", ")}`;
  });

  for (const name of ["test_input_required_result_request_state", "test_input_required_result_tampered_state"]) {
    server.tool(name, { description: "Asks for a confirmation, with sealed state" }, async (_, ctx) => {
      const number = await ctx.step("number", () => Math.random());
      const answer = await ctx.elicit("Confirm?", z.object({ ok: z.boolean() }), { key: "confirm" });
      return `state-ok: ${number} and ${answer.action}`;
    });
  }

  server.tool("test_input_required_result_multiple_inputs", { description: "Asks all at once" }, async (_, ctx) => {
    const [name, capital, roots] = await Promise.all([
      ctx.elicit("What is your name?", z.object({ name: z.string() }), { key: "user_name" }),
      askCapital(ctx),
      ctx.listRoots({ key: "client_roots" }),
    ]);
    return `${name.action}, ${JSON.stringify(capital.content)}, ${roots.length} roots`;
  });

  server.tool("test_input_required_result_multi_round", { description: "Asks in two rounds" }, async (_, ctx) => {
    const first = await ctx.elicit("Your name?", z.object({ name: z.string() }), { key: "step1" });
    const second = await ctx.elicit("Your colour?", z.object({ color: z.string() }), { key: "step2" });
    return `${first.content?.name} likes ${second.content?.color}`;
  });

  server.tool("test_input_required_result_capabilities", { description: "Asks what can be asked" }, async (_, ctx) => {
    const { elicitation, sampling } = ctx.client.capabilities;
    const [name, capital] = await Promise.all([
      elicitation && ctx.elicit("What is your name?", z.object({ name: z.string() }), { key: "user_name" }),
      sampling && askCapital(ctx),
    ]);
    return `name: ${name?.action ?? "not asked"}, capital: ${capital?.model ?? "not asked"}`;
  });

  server.prompt(
    "test_input_required_result_prompt",
    { description: "Asks for context before it speaks" },
    async (_, ctx) => {
      const answer = await ctx.elicit("What is it about?", z.object({ context: z.string() }), { key: "user_context" });
      return `Use this context: ${answer.content?.context ?? "none"}`;
    },
  );
}

function askCapital(ctx: Context) {
  const messages = [{ role: "user" as const, content: text("What is the capital of France?") }];
  return ctx.sample({ messages, maxTokens: 100 }, { key: "capital_question" });
}
