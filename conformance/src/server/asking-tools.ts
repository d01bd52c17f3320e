import { type McpServer, text } from "bowline/server";
import * as z from "zod";

/** Adds tools that ask a question, in the way of each era. */
export function addAskingTools(server: McpServer): void {
  server.tool(
    "test_sampling",
    { description: "Asks the client's model", input: z.object({ prompt: z.string() }) },
    async ({ prompt }, ctx) => {
      const { content } = await ctx.sample({
        messages: [{ role: "user", content: text(prompt) }],
        maxTokens: 100,
      });
      return `The model said: ${JSON.stringify(content)}`;
    },
  );

  server.tool(
    "test_elicitation",
    { description: "Asks the user", input: z.object({ message: z.string() }) },
    async ({ message }, ctx) => {
      const answer = await ctx.elicit(message, z.object({ username: z.string(), email: z.string() }));
      return `The user said: ${JSON.stringify(answer)}`;
    },
  );

  server.tool("test_elicitation_sep1034_defaults", { description: "A form with defaults" }, async (_, ctx) => {
    const answer = await ctx.elicit(
      "Please check your details",
      z.object({
        name: z.string().default("John Doe"),
        age: z.int().default(30),
        score: z.number().default(95.5),
        status: z.enum(["active", "inactive", "pending"]).default("active"),
        verified: z.boolean().default(true),
      }),
    );
    return `The user said: ${JSON.stringify(answer)}`;
  });

  server.tool("test_elicitation_sep1330_enums", { description: "A form of choices" }, async (_, ctx) => {
    const answer = await ctx.elicit("Please choose", choices);
    return `The user said: ${JSON.stringify(answer)}`;
  });

  server.tool("test_streaming_elicitation", { description: "Asks without holding its stream" }, async (_, ctx) => {
    const answer = await ctx.elicit("Go on?", z.object({ confirmed: z.boolean() }));
    return `The user said: ${JSON.stringify(answer)}`;
  });

  server.tool("test_missing_capability", { description: "Cannot do without the client's model" }, async (_, ctx) => {
    const { model } = await ctx.sample({
      messages: [{ role: "user", content: text("Hello") }],
      maxTokens: 10,
    });
    return `answered by ${model}`;
  });
}

const options = ["option1", "option2", "option3"];
const titled = [
  { const: "value1", title: "First Option" },
  { const: "value2", title: "Second Option" },
  { const: "value3", title: "Third Option" },
];

/**
 * Every form of a choice. They are plain JSON Schema, since no schema library writes the older form with `enumNames`.
 */
const choices = {
  type: "object",
  properties: {
    untitledSingle: { type: "string", enum: options },
    titledSingle: { type: "string", oneOf: titled },
    legacyEnum: {
      type: "string",
      enum: ["opt1", "opt2", "opt3"],
      enumNames: ["Option One", "Option Two", "Option Three"],
    },
    untitledMulti: { type: "array", items: { type: "string", enum: options } },
    titledMulti: { type: "array", items: { anyOf: titled } },
  },
} as const;
