import type { Client } from "../client/client.js";
import type { ClientOptions } from "../client/options.js";
import { ERA_NAMES } from "../era/era-names.js";
import type { RecordingEvent } from "../recording/events.js";
import type { Recording } from "../recording/recording.js";
import { lineOf } from "../recording/writer.js";
import { tasksClient } from "../tasks/client/extension.js";
import { InspectedConnection, type InspectTarget } from "./connection.js";
import { VerbError } from "./failure.js";
import type { InspectLimits } from "./limits.js";
import { ServerLogin } from "./login.js";
import type { InspectorState, OpenedRecording, VerbName } from "./protocol.js";
import { Questions } from "./questions.js";
import { LineRing } from "./ring.js";
import { type RunInfo, Runs } from "./runs.js";

/** Recording that was read from a file. */
export interface LoadedRecording extends OpenedRecording {
  readonly text: string;
}

/** What an inspection is made of. */
export interface InspectionParts {
  readonly by: string;
  readonly mode: InspectorState["mode"];
  readonly recording: Recording;
  readonly isRecording?: boolean | undefined;
  readonly servers: readonly InspectTarget[];
  readonly recordings?: readonly LoadedRecording[] | undefined;
  readonly limits: InspectLimits;
}

/** Servers, connections, runs and questions of one inspector, with the lines of its recording. */
export class Inspection {
  readonly lines: LineRing;
  readonly runs: Runs;
  readonly questions: Questions;
  readonly #parts: InspectionParts;
  readonly #connections = new Map<number, InspectedConnection>();
  readonly #logins: readonly (ServerLogin | undefined)[];
  readonly #listeners = new Set<(what: "line" | "state") => void>();
  readonly #unsubscribe: () => void;
  /** Number of the connection that the recording opened last. */
  #opened: number | undefined;
  #t = 0;
  #last = 0;
  #isClosed = false;

  constructor(parts: InspectionParts) {
    const { recording, limits } = parts;
    this.#parts = parts;
    this.lines = new LineRing(JSON.stringify(recording.header), limits);
    const onChange = () => this.#tell("state");
    this.questions = new Questions(onChange);
    this.runs = new Runs(limits, {
      position: () => ({ t: this.#t, line: this.lines.last }),
      redact: (end) => recording.redact(end),
      onChange,
    });
    this.#logins = parts.servers.map(({ targets: [first], options }) =>
      typeof first === "string" ? new ServerLogin(first, options.fetch, { recording, onChange }) : undefined,
    );
    this.#unsubscribe = recording.subscribe((event) => this.#take(event));
  }

  get mode(): InspectorState["mode"] {
    return this.#parts.mode;
  }

  get recording(): Recording {
    return this.#parts.recording;
  }

  get recordings(): readonly LoadedRecording[] {
    return this.#parts.recordings ?? [];
  }

  /** Returns the state. `verbs` are those that the inspector does. */
  state(verbs: readonly VerbName[]): InspectorState {
    const { by, mode, servers, isRecording = false } = this.#parts;
    return {
      by,
      mode,
      servers: servers.map(({ label, wire, url }, index) => {
        const login = this.#logins[index]?.state;
        return { label, wire, ...(url !== undefined && { url }), ...(login !== undefined && { login }) };
      }),
      connections: this.recording.redact([...this.#connections.values()].map(({ state }) => state)),
      runs: this.recording.redact(this.runs.open),
      questions: this.questions.open,
      recordings: this.recordings.map(({ name, lines }) => ({ name, lines })),
      isRecording,
      verbs,
    };
  }

  /** Calls the listener with each new line and each change of the state. Returns a function that removes it. */
  subscribe(listener: (what: "line" | "state") => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Tells that the state has changed. */
  changed(): void {
    this.#tell("state");
  }

  /** Connects to a server. */
  connect(server: number, era: ClientOptions["era"]): InspectedConnection {
    const target = this.#parts.servers[server];
    if (this.#isClosed) throw new VerbError("not_available", "the inspector is closed");
    if (target === undefined) throw new VerbError("not_available", `there is no server ${server}`);
    this.#makeRoom();
    const number = ++this.#last;
    const login = this.#logins[server];
    const options: ClientOptions = {
      info: { name: "bowline", version: this.#parts.by.replace(/^\S* /, "") },
      warnDeprecated: false,
      extensions: [tasksClient()],
      ...(era !== undefined && { era }),
      ...(login !== undefined && { fetch: login.fetch }),
      ...this.questions.handlers(number),
    };
    const connection = new InspectedConnection(number, server, target, options, {
      recording: this.#parts.recording,
      opened: () => this.#opened,
      onChange: () => this.#tell("state"),
    });
    this.#connections.set(number, connection);
    void connection.ready.then(() => {
      if (connection.needsLogin) login?.require();
    });
    this.#tell("state");
    return connection;
  }

  /** Returns the login of a server. Those that are not over HTTP have none. */
  login(server: number): ServerLogin {
    const login = this.#logins[server];
    if (login === undefined) throw new VerbError("not_available", `server ${server} is not over HTTP: it has no login`);
    return login;
  }

  connection(number: number): InspectedConnection {
    const connection = this.#connections.get(number);
    if (connection !== undefined) return connection;
    throw new VerbError("unknown_connection", `there is no connection ${number}`);
  }

  /** Returns a connection to the same server in the other era, which is opened if there is none. */
  async otherEra(connection: InspectedConnection): Promise<InspectedConnection> {
    const { era } = await connection.client();
    const other = ERA_NAMES.find((name) => name !== era);
    const open = [...this.#connections.values()].find(
      ({ server, state }) => server === connection.server && state.status === "open" && state.era === other,
    );
    return open ?? this.connect(connection.server, other);
  }

  /** Begins a run with the client of a connection. */
  start(
    connection: InspectedConnection,
    info: Omit<RunInfo, "connection">,
    work: (client: Client, signal: AbortSignal) => Promise<unknown>,
  ): number {
    return this.runs.start({ connection: connection.number, ...info }, async (signal) =>
      work(await connection.client(), signal),
    );
  }

  async closeConnection(number: number): Promise<void> {
    const connection = this.connection(number);
    this.runs.cancelAll("the connection was closed", number);
    await connection.close();
    this.#tell("state");
  }

  /** Closes all connections. The recording stays open, since it belongs to the caller. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.runs.cancelAll("the inspector was closed");
    await Promise.all([...this.#connections.values()].map((connection) => connection.close()));
    await Promise.all(this.#logins.map((login) => login?.close()));
    this.#unsubscribe();
  }

  /** Forgets the oldest connection that is over, or refuses another one. */
  #makeRoom(): void {
    const { maxConnections } = this.#parts.limits;
    if (this.#connections.size < maxConnections) return;
    const over = [...this.#connections.values()].find(({ isOver }) => isOver);
    if (over === undefined) throw new VerbError("too_many", `${maxConnections} connections are open: close one`);
    this.#connections.delete(over.number);
  }

  #take(event: RecordingEvent): void {
    this.#t = event.t;
    if (event.k === "open" && event.role === "client") this.#opened = event.c;
    if (event.k === "ask") this.questions.note(event);
    this.lines.add(event.t, lineOf(event));
    this.#tell("line");
  }

  #tell(what: "line" | "state"): void {
    for (const listener of this.#listeners) listener(what);
  }
}
