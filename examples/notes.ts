import { serveStdio } from "bowline/node";
import { McpServer, ToolError } from "bowline/server";
import * as z from "zod";

/**
 * A server for hosts that start their servers themselves: two tools, a family of resources and a prompt. In the
 * `mcpServers` file of such a host: `{ "notes": { "command": "node", "args": ["examples/dist/notes.js"] } }`.
 */
const notes = new Map([["welcome", "Write things down, find them again."]]);

const server = new McpServer({ name: "notes", version: "1.0.0" }, { instructions: "Look before you write." })
  .tool(
    "write",
    {
      description: "Write a note, or write it anew",
      input: z.object({ name: z.string().regex(/^[a-z-]+$/), text: z.string() }),
    },
    ({ name, text }) => {
      const isNew = !notes.has(name);
      notes.set(name, text);
      server.changes.resourceUpdated(`note://${name}`);
      if (isNew) server.changes.resourcesChanged();
      return isNew ? `wrote ${name}` : `wrote ${name} anew`;
    },
  )
  .tool(
    "find",
    {
      description: "Names of the notes that have these words",
      input: z.object({ words: z.string() }),
      output: z.object({ found: z.array(z.string()) }),
      annotations: { readOnlyHint: true },
    },
    ({ words }) => {
      const found = [...notes].filter(([, text]) => text.includes(words)).map(([name]) => name);
      if (found.length === 0) throw new ToolError(`No note has "${words}". There are: ${[...notes.keys()].join(", ")}`);
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
    { description: "Sum a note up", arguments: z.object({ name: z.string() }) },
    ({ name }) => `Sum this up in one sentence: ${notes.get(name) ?? "(an empty note)"}`,
  );

await serveStdio(server);
