import { closeSync, constants, openSync, readFileSync, writeSync } from "node:fs";

/**
 * Record of what really happened, in a file outside of the engine. Each entry is one short line that one write appends,
 * so that entries of several processes do not mix, and an entry survives `kill -9` of its process.
 *
 * | entry | meaning |
 * | --- | --- |
 * | `start node` | a node serves |
 * | `begin node call principal session` | a handler begins |
 * | `answered node call` | a handler has the answer to its question |
 * | `end node call` | a handler returns its result |
 * | `fail node call` | a handler ends without a result |
 * | `elsewhere node question` | a node has stored the answer to a question of another node |
 * | `open node session principal attempt` | `onOpen` of a session, in the handshake of this attempt of its client to connect |
 * | `close node session` | `onEnd` of a session |
 * | `hold node session reason` | a node writes the standalone stream of a session, by a `handshake` or by a `get` |
 * | `resume node session stream` | a node sends the stream of a call that another node writes |
 * | `event node session id digest` | a node sends a message to a client, as an event with this id |
 * | `tell node number` | a node sends a numbered message to all sessions |
 * | `change node uri` | a node announces the change of a resource |
 * | `cut node principal method name` | a node cuts the connection of a request. The name is that of the JSON-RPC method, if a header has it |
 * | `stall node ms` | the machine did not let a process run: a node, the `clients`, or the `engine` if it is a process of this run |
 * | `ran node ranMs waitedMs` | the threads of a process have run, and have waited for a core of the machine, so long until now |
 *
 * Entries of tasks are in `tasks/app.mjs`.
 */
export class Truth {
  #file;
  #node;

  constructor(path, node) {
    this.#file = openSync(path, constants.O_APPEND | constants.O_CREAT | constants.O_WRONLY);
    this.#node = node;
  }

  write(kind, ...words) {
    writeSync(this.#file, `${[kind, this.#node, ...words, Date.now()].join(" ")}\n`);
  }

  close() {
    closeSync(this.#file);
  }
}

/** Returns the entries in the order in which they were written. */
export function readTruth(path) {
  const lines = readFileSync(path, "utf8").split("\n");
  return lines.filter((line) => line !== "").map(toEntry);
}

/** Returns the entry of a line. */
export function toEntry(line) {
  const words = line.split(" ");
  const [kind, node, subject, principal, session] = words;
  return { kind, node, subject, principal, session, at: Number(words.at(-1)) };
}
