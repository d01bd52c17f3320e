import type { McpServer } from "bowline/server";
import { RED_PIXEL } from "./samples.js";

/** Adds a text, bytes, a template and a resource to subscribe to. */
export function addResources(server: McpServer): void {
  server.resource(
    "test://static-text",
    { name: "static-text", description: "A text that stays", mimeType: "text/plain" },
    () => "This is the content of the static text resource.",
  );

  server.resource(
    "test://static-binary",
    { name: "static-binary", description: "A picture that stays", mimeType: "image/png" },
    () => Buffer.from(RED_PIXEL, "base64"),
  );

  server.resource(
    "test://template/{id}/data",
    { name: "template", description: "One resource for each id", mimeType: "application/json" },
    ({ id }) => JSON.stringify({ id, data: `Data for ${id}` }),
  );

  server.resource(
    "test://watched-resource",
    { name: "watched-resource", description: "A resource to subscribe to", mimeType: "text/plain" },
    () => "Watched resource content",
  );
}
