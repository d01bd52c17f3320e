import { serveStdio } from "bowline/node";
import { McpServer, ToolError } from "bowline/server";
import * as z from "zod";

/**
 * A stdio server with two tools, a resource template and a prompt. Entry in the `mcpServers` file of a host:
 * `{ "notes": { "command": "node", "args": ["examples/dist/notes.js"] } }`.
 */
const notes = new Map([["welcome", "Write things down, find them again."]]);

const server = new McpServer({ name: "notes", version: "1.0.0" }, { instructions: "Look before you write." })
  .tool(
    "write",
    {
      description: "Write a note, or replace it",
      input: z.object({
        name: z
          .string()
          .regex(/^[a-z-]+$/)
          .describe("Name, in small letters"),
        text: z.string().describe("The whole text"),
      }),
      annotations: { destructiveHint: true, idempotentHint: true },
    },
    ({ name, text }) => {
      const isNew = !notes.has(name);
      notes.set(name, text);
      server.changes.resourceUpdated(`note://${name}`);
      if (isNew) server.changes.resourcesChanged();
      return isNew ? `wrote ${name}` : `replaced ${name}`;
    },
  )
  .tool(
    "find",
    {
      description: "Find the names of notes that contain these words",
      input: z.object({ words: z.string().describe("A part of the text") }),
      output: z.object({ found: z.array(z.string()) }),
      annotations: { readOnlyHint: true },
    },
    ({ words }) => {
      const found = [...notes].filter(([, text]) => text.includes(words)).map(([name]) => name);
      if (found.length === 0)
        throw new ToolError(`No note contains "${words}". There are: ${[...notes.keys()].join(", ")}`);
      return { found };
    },
  )
  .resource(
    "note://{name}",
    {
      name: "note",
      mimeType: "text/plain",
      list: () => [...notes.keys()].map((name) => ({ uri: `note://${name}`, name })),
      complete: { name: (typed) => [...notes.keys()].filter((name) => name.startsWith(typed)) },
    },
    ({ name }) => notes.get(name), // undefined: no such resource
  )
  .prompt(
    "summary",
    { description: "Summarize a note", arguments: z.object({ name: z.string() }) },
    ({ name }) => `Summarize this in one sentence: ${notes.get(name) ?? "(an empty note)"}`,
  );

await serveStdio(server);
