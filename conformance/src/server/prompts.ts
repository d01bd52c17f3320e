import { embedded, image, type McpServer, text } from "bowline/server";
import * as z from "zod";
import { RED_PIXEL } from "./samples.js";

/** Adds prompts with each kind of content. */
export function addPrompts(server: McpServer): void {
  server.prompt("test_simple_prompt", { description: "A prompt" }, () => "This is a simple prompt for testing.");

  server.prompt(
    "test_prompt_with_arguments",
    {
      description: "A prompt with two arguments",
      arguments: z.object({ arg1: z.string(), arg2: z.string() }),
      complete: { arg1: (typed) => ["paris", "park", "party"].filter((word) => word.startsWith(typed)) },
    },
    ({ arg1, arg2 }) => `Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`,
  );

  server.prompt(
    "test_prompt_with_embedded_resource",
    { description: "A prompt around a resource", arguments: z.object({ resourceUri: z.string() }) },
    ({ resourceUri }) => [
      { role: "user", content: embedded({ uri: resourceUri, mimeType: "text/plain", text: "Embedded content." }) },
      { role: "user", content: text("Please process the resource above.") },
    ],
  );

  server.prompt("test_prompt_with_image", { description: "A prompt about a picture" }, () => [
    { role: "user", content: image(RED_PIXEL, "image/png") },
    { role: "user", content: text("Please analyze the picture above.") },
  ]);
}
