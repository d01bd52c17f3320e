import { serveFile } from "../node/sqlite/serve.js";
import { failureOf } from "../sqlite/failure.js";
import type { FileOptions, Reply, Request } from "../sqlite/messages.js";
import { FileServer } from "../sqlite/thread.js";

serveFile<FileOptions, Request, Reply>(({ options, ...thread }) => {
  try {
    const server = new FileServer({ ...options, ...thread });
    thread.post({ kind: "open" });
    return (request) => server.handle(request);
  } catch (error) {
    thread.post({ kind: "failed", ...failureOf(error) });
    thread.end();
    return () => {};
  }
});
