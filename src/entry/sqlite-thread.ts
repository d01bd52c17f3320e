import { ClusterError } from "../cluster/error.js";
import { serveFile } from "../node/sqlite/serve.js";
import { FileServer } from "../sqlite/file-server.js";
import type { FileOptions, Reply, Request } from "../sqlite/messages.js";

serveFile<FileOptions, Request, Reply>(({ options, ...thread }) => {
  try {
    const server = new FileServer({ ...options, ...thread });
    thread.post({ kind: "open" });
    return (request) => server.handle(request);
  } catch (error) {
    const { failure, message } = error instanceof ClusterError ? error : new ClusterError("refused", String(error));
    thread.post({ kind: "failed", failure, message });
    thread.end();
    return () => {};
  }
});
