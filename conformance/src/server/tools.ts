import { audio, detachStream, embedded, image, type McpServer, ToolError, text } from "bowline/server";
import * as z from "zod";
import { addressBook } from "./address-book.js";
import { RED_PIXEL, SILENCE } from "./samples.js";

/** Adds tools that need only their arguments. The first tool in the list must work without arguments. */
export function addTools(server: McpServer): void {
  server.tool("test_simple_text", { description: "Says something" }, () => "This is a simple text response.");

  server.tool("test_image_content", { description: "Shows a picture" }, () => image(RED_PIXEL, "image/png"));

  server.tool("test_audio_content", { description: "Plays a sound" }, () => audio(SILENCE, "audio/wav"));

  const note = (uri: string) => embedded({ uri, mimeType: "text/plain", text: "This is an embedded resource." });

  server.tool("test_embedded_resource", { description: "Embeds a resource" }, () => note("test://embedded-resource"));

  server.tool("test_multiple_content_types", { description: "Text, a picture and a resource" }, () => [
    text("Multiple content types:"),
    image(RED_PIXEL, "image/png"),
    note("test://mixed-content-resource"),
  ]);

  server.tool("test_error_handling", { description: "Fails" }, () => {
    throw new ToolError("This tool fails on purpose");
  });

  server.tool("test_tool_with_progress", { description: "Reports progress" }, async (_, ctx) => {
    for (const done of [0, 50, 100]) await ctx.progress(done, 100, `${done} %`);
    return "done";
  });

  server.tool("test_tool_with_logging", { description: "Logs while it runs" }, async (_, ctx) => {
    for (const message of ["started", "working", "finished"]) await ctx.log("info", message);
    return "done";
  });

  server.tool("test_logging_tool", { description: "Logs to whoever asked for it" }, async (_, ctx) => {
    await ctx.log("info", "test_logging_tool was called");
    return "done";
  });

  server.tool("test_reconnection", { description: "Answers after its stream was closed" }, async (_, ctx) => {
    detachStream(ctx);
    return "delivered to the client that came back";
  });

  server.tool(
    "test_param_header",
    {
      description: "Has an argument that travels in a header",
      input: z.object({ region: z.string().meta({ "x-mcp-header": "Region" }).optional() }),
    },
    ({ region }) => `region: ${region ?? "none"}`,
  );

  server.tool("json_schema_2020_12_tool", { description: "Takes a contact", input: addressBook }, () => "noted");

  server.tool("test_trigger_tool_change", { description: "Changes the list of tools" }, () => {
    server.changes.toolsChanged();
    return "the tools changed";
  });

  server.tool("test_trigger_prompt_change", { description: "Changes the list of prompts" }, () => {
    server.changes.promptsChanged();
    return "the prompts changed";
  });
}
