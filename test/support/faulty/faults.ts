import { spawn } from "node:child_process";
import type { ServerResponse } from "node:http";
import { connect } from "node:net";
import { gzipSync } from "node:zlib";
import { program } from "../server-child.js";
import { HealthyServer, type Json, MODERN, Refused, type Tool, toolOf } from "./healthy.js";
import { HttpHabits } from "./http.js";
import { ProtectedPart } from "./issuer.js";
import { StdioHabits } from "./stdio.js";

/** A server with all that a fault may change. */
export interface ServerParts {
  readonly server: HealthyServer;
  readonly stdio: StdioHabits;
  readonly http: HttpHabits;
}

/** A fault of a server, by the id of the rule that finds it. */
export interface Fault {
  /** How the server is reached: as a process, by HTTP in the process of the test, or by HTTP in a process of its own. */
  readonly wire: "stdio" | "http" | "service";
  /** Other rules that the same fault necessarily breaks. */
  readonly also?: readonly string[];
  /** What the examination may do: call the tool `climb`, or wait. */
  readonly allows?: "try" | "slow";
  /** Claims of the token that is sent, in place of those of a healthy one. Without it none is sent. */
  readonly claims?: Json;
  /** Changes the URL that the command is given. */
  readonly place?: (url: string) => string;
  readonly change: (parts: ServerParts) => void;
}

export const FAULTS: Readonly<Record<string, Fault>> = {
  "start/failed": {
    wire: "stdio",
    change: ({ stdio }) => {
      stdio.start = () => {
        process.stderr.write("Error: Cannot find module 'harbour'\n");
        process.exit(1);
      };
    },
  },
  "start/slow": {
    wire: "http",
    change: ({ server }) => {
      for (const method of ["server/discover", "initialize"]) before(server, method, () => server.pass(3_000));
    },
  },
  "stdio/noise": {
    wire: "stdio",
    change: ({ stdio }) => {
      stdio.start = () => void process.stdout.write("The harbour is open\n");
    },
  },
  "stdio/exit": {
    wire: "stdio",
    change: ({ stdio }) => {
      stdio.end = () => tellPresence();
      stdio.onTerm = () => process.exit(0);
    },
  },
  "stdio/orphans": {
    wire: "stdio",
    change: ({ stdio }) => {
      stdio.start = leaveOrphan;
    },
  },
  "stdio/flood": {
    wire: "stdio",
    change: ({ stdio }) => {
      const text = `${"The tide is rising. ".repeat(40)}\n`.repeat(2_000);
      stdio.start = () => new Promise((resolve) => process.stderr.write(text, () => resolve()));
    },
  },
  "http/reach": {
    wire: "http",
    place: (url) => url.replace(/\/mcp$/, "/api"),
    change: () => {},
  },
  "http/host": {
    wire: "http",
    change: ({ http }) => {
      http.guardsHost = false;
    },
  },
  "http/origin": {
    wire: "http",
    change: ({ http }) => {
      http.guardsOrigin = false;
    },
  },
  "http/cors": {
    wire: "http",
    change: ({ http }) => {
      http.allowedHeaders = "accept, authorization, content-type, last-event-id, mcp-protocol-version, mcp-session-id";
    },
  },
  "http/session": {
    wire: "http",
    change: ({ http }) => {
      http.unknownSession = 400;
    },
  },
  "http/limits": {
    wire: "http",
    change: ({ http }) => {
      http.change = (reply) => {
        if (reply.status === 413) Object.assign(reply, { status: 500, headers: {}, body: "Internal Server Error" });
      };
    },
  },
  "http/malformed": {
    wire: "http",
    change: ({ http }) => {
      http.change = (reply) => {
        if (reply.body?.includes("-32700")) Object.assign(reply, { status: 500, headers: {}, body: "SyntaxError" });
      };
    },
  },
  "http/buffered": {
    wire: "http",
    allows: "try",
    change: ({ http, server }) => {
      http.onStream = (response, method) => {
        if (method !== "tools/call") return;
        holdBack(response, (bytes) => {
          server.pass(3_000);
          return bytes;
        });
      };
    },
  },
  "http/keep-alive": {
    wire: "http",
    allows: "slow",
    change: ({ http }) => {
      http.keepAliveMs = 3_600_000;
    },
  },
  "http/compressed": {
    wire: "http",
    allows: "try",
    change: ({ http }) => {
      http.onStream = (response, method) => {
        if (method !== "tools/call") return;
        response.setHeader("content-encoding", "gzip");
        holdBack(response, (bytes) => gzipSync(bytes));
      };
    },
  },
  "http/retry-after": {
    wire: "http",
    change: ({ http }) => {
      http.change = (reply) => {
        if (reply.status === 413) reply.status = 503;
      };
    },
  },
  "era/versions": {
    wire: "http",
    change: ({ server }) => {
      server.versions = [MODERN];
      server.handlers.initialize = ({ params }) => {
        throw server.refuseVersion(params.protocolVersion);
      };
    },
  },
  "era/probe": {
    wire: "stdio",
    // A server that ends at the probe cannot be used by hosts of the newer era alone.
    also: ["era/versions"],
    change: ({ stdio }) => {
      stdio.onMessage = ({ method }) => method === "server/discover" && process.exit(1);
    },
  },
  "era/same": {
    wire: "http",
    change: ({ server }) => {
      server.wrap("tools/list", async (call, next) => {
        const { tools } = (await next(call)) as { tools: Tool[] };
        return { tools: call.isModern ? tools : tools.slice(1) };
      });
    },
  },
  "era/headers": {
    wire: "http",
    change: ({ http }) => {
      http.comparesHeaders = false;
    },
  },
  "era/unsupported": {
    wire: "http",
    change: ({ server }) => {
      server.refuseVersion = () => new Refused(-32022, "Unsupported protocol version");
    },
  },
  "auth/challenge": withProtection((protection) => {
    protection.challengeOf = () => undefined;
  }),
  "auth/metadata": withProtection((protection) => {
    protection.resourceOf = (metadata) => ({ ...metadata, resource: "https://harbour.example/mcp" });
  }),
  "auth/issuer": withProtection((protection) => {
    protection.issuerOf = (metadata) => ({ ...metadata, issuer: `${metadata.issuer}/other` });
  }),
  "auth/pkce": withProtection((protection) => {
    protection.issuerOf = (metadata) => ({ ...metadata, code_challenge_methods_supported: ["plain"] });
  }),
  "auth/registration": withProtection((protection) => {
    protection.issuerOf = ({ registration_endpoint: _, client_id_metadata_document_supported: __, ...rest }) => rest;
  }),
  "auth/token": {
    ...withProtection(() => {}),
    claims: { aud: "https://harbour.example/mcp" },
  },
  "catalogue/pages": {
    wire: "http",
    change: ({ server }) => {
      server.handlers["tools/list"] = () => ({ tools: server.tools, nextCursor: "again" });
    },
  },
  "catalogue/names": {
    wire: "http",
    change: ({ server }) => {
      server.tools.push(toolOf("h".repeat(65)));
    },
  },
  "catalogue/text": {
    wire: "http",
    change: ({ server }) => {
      server.tools.push(toolOf("moor", { description: "Moors a ship\u202e to a berth" }));
    },
  },
  "catalogue/hints": {
    wire: "http",
    change: ({ server }) => {
      server.tools.push(toolOf("moor", { annotations: {} }));
    },
  },
  "catalogue/declared": {
    wire: "http",
    change: ({ server }) => {
      server.prompts = [];
    },
  },
  "schema/invalid": {
    wire: "http",
    change: ({ server }) => {
      server.tools.push(toolOf("moor", { inputSchema: { type: "object", properties: { ship: shipOf("shipp") } } }));
    },
  },
  "schema/portable": {
    wire: "http",
    change: ({ server }) => {
      const inputSchema = { type: "object", properties: { ship: shipOf(["string", "null"]) } };
      server.tools.push(toolOf("moor", { inputSchema }));
    },
  },
  "schema/output": {
    wire: "http",
    allows: "try",
    change: ({ server }) => {
      server.climb = () =>
        Promise.resolve({ content: [{ type: "text", text: "climbed" }], structuredContent: { steps: "three" } });
    },
  },
  "cost/tokens": {
    wire: "http",
    change: ({ server }) => {
      for (let berth = 0; berth < 60; berth++)
        server.tools.push(toolOf(`berth_${berth}`, { description: proseOf(berth) }));
    },
  },
  "cost/repeated": {
    wire: "http",
    change: ({ server }) => {
      const ship = { ...shipOf("object"), properties: { name: { ...shipOf("string"), description: proseOf(0) } } };
      for (let berth = 0; berth < 12; berth++)
        server.tools.push(toolOf(`berth_${berth}`, { inputSchema: { type: "object", properties: { ship } } }));
    },
  },
  "call/errors": {
    wire: "http",
    change: ({ server }) => {
      server.wrap("resources/read", () => {
        throw new Refused(-32603, "Internal error");
      });
    },
  },
  "call/cancel": {
    wire: "stdio",
    allows: "try",
    change: ({ server }) => {
      server.answersCancelled = true;
    },
  },
  "call/silence": {
    wire: "http",
    allows: "try",
    change: ({ server }) => {
      const { climb } = server;
      server.climb = (...call) => {
        server.pass(61_000);
        return climb(...call);
      };
    },
  },
  "call/progress": {
    wire: "http",
    allows: "try",
    change: ({ server }) => {
      server.climb = async (_, steps, report) => {
        for (const step of [2, 1]) report(step);
        return { content: [{ type: "text", text: "climbed" }], structuredContent: { steps } };
      };
    },
  },
  "drain/term": {
    wire: "service",
    allows: "try",
    change: ({ http }) => {
      http.onTerm = () => process.exit(1);
    },
  },
  "drain/refuse": {
    wire: "service",
    allows: "try",
    change: ({ http }) => {
      http.onTerm = (listener, idle) => {
        listener.on("connection", (socket) => socket.destroy());
        void idle.then(() => process.exit(0));
      };
    },
  },
};

/** Creates a server with which nothing is wrong. */
export function healthyParts(): ServerParts {
  return { server: new HealthyServer(), stdio: new StdioHabits(), http: new HttpHabits() };
}

/** Runs something before a method is served. */
function before(server: HealthyServer, method: string, run: () => void): void {
  server.wrap(method, (call, next) => {
    run();
    return next(call);
  });
}

/** Asks for a token. */
export function withProtection(change: (protection: ProtectedPart) => void): Fault {
  return {
    wire: "http",
    change: ({ http }) => {
      http.protection = new ProtectedPart();
      change(http.protection);
    },
  };
}

/** Keeps what is written to a response until its end, and sends what `toBytes` makes of it. */
function holdBack(response: ServerResponse, toBytes: (bytes: Buffer) => Buffer): void {
  const kept: Buffer[] = [];
  const { end } = response;
  response.flushHeaders = () => {};
  response.write = (chunk: string) => kept.push(Buffer.from(chunk)) > 0;
  response.end = (() => end.call(response, toBytes(Buffer.concat(kept)), "utf8")) as ServerResponse["end"];
}

const shipOf = (type: unknown): Json => ({ type, description: "The ship" });

/** Returns 900 characters, which differ from those of any other number. */
function proseOf(number: number): string {
  const words = ["tide", "quay", "rope", "mast", "keel", "buoy", "sail", "crew"];
  const word = (at: number) => words[(number * 7 + at * (number + 3)) % words.length];
  return `Moors a ship at berth ${number}. ${Array.from({ length: 180 }, (_, at) => word(at)).join(" ")}`;
}

/** Connects to the port in the environment, by which the test learns that this process lives. */
function tellPresence(): void {
  connect(Number(process.env.PRESENCE), "127.0.0.1").resume();
}

/** Leaves a process behind, which ends when the test lets it go. */
function leaveOrphan(): void {
  const args = [program("present"), process.env.PRESENCE ?? ""];
  spawn(process.execPath, args, { stdio: "ignore" }).unref();
}
