import type { ClientOptions } from "../client/options.js";
import type { EraName, ProtocolVersion } from "../era/versions.js";
import type {
  CallToolResult,
  CompleteResult,
  CompletionReference,
  GetPromptResult,
  Implementation,
  JsonObject,
  Prompt,
  ReadResourceResult,
  Resource,
  ResourceTemplate,
  ServerCapabilities,
  Tool,
} from "../protocol/types/index.js";
import type { AskEvent, FrameDirection, RecordedWire, VerdictEvent } from "../recording/events.js";
import type { Skill } from "../skills/types.js";
import type { Task } from "../tasks/types.js";

/**
 * What a page and the inspector say to each other.
 *
 * The page is `GET ./`, with `app.js` and `app.css`. It begins with `POST ./enter`, a JSON object with the token of the
 * URL's fragment, and gets a cookie. With the cookie:
 *
 * - `GET ./events` is an event stream. Events without a type are lines of the live recording: `id` is the number of the
 *   line (the header is line 1), `data` the line. A stream with `Last-Event-ID` continues behind that line. Lines that are
 *   no longer kept are replaced by one of kind `gap`, whose id is the number of the last missing line. Events of the types
 *   `state` and `run` have no id; see {@link PageEvents}. The stream begins with `state`. The end of a
 *   run, also of those that are kept for pages that were away, follows its lines.
 * - `POST ./do` takes a verb: `{ "do": "call", ... }`, see {@link Verbs}, and answers with {@link VerbResponse}.
 * - `GET ./recordings/<n>` is the recording of `state.recordings[n]` as NDJSON.
 *
 * What may take long is a run: its verb answers at once with a number, and its end arrives as an event `run`.
 */

/** Types of events of `GET ./events`, besides lines of the recording. */
export interface PageEvents {
  /** Replaces the state. Sent at the beginning and after each change. */
  readonly state: InspectorState;
  /** A run has ended. After a reconnection those that are kept are sent again. */
  readonly run: RunEnd;
}

/** Everything that the lines of the recording do not tell. */
export interface InspectorState {
  /** Program, with its version. */
  readonly by: string;
  /** What the inspector was opened for. `files` has no live recording. */
  readonly mode: "client" | "tap" | "files";
  /** Servers that can be connected to, by number: those that the command line or the program named. */
  readonly servers: readonly InspectedServer[];
  readonly connections: readonly ConnectionState[];
  readonly runs: readonly OpenRun[];
  readonly questions: readonly OpenQuestion[];
  /** Recordings that were opened beside the live one. */
  readonly recordings: readonly OpenedRecording[];
  /** True while the live recording is also written to a file. */
  readonly isRecording: boolean;
  /** Names of the verbs that work here. */
  readonly verbs: readonly VerbName[];
}

/** Server that can be connected to. */
export interface InspectedServer {
  /** As the user named it. */
  readonly label: string;
  readonly wire: RecordedWire;
  /** Address, without user, query and fragment. */
  readonly url?: string | undefined;
  readonly login?: LoginState | undefined;
}

/** What is known of a login. */
export interface LoginState {
  readonly status: "none" | "needed" | "in the browser" | "done";
  /** Address to open, while the login waits for the browser. */
  readonly url?: string | undefined;
  readonly issuer?: string | undefined;
  readonly scopes?: readonly string[] | undefined;
  /** Tokens without their text. */
  readonly tokens: readonly HeldToken[];
}

/** Token without its text. */
export interface HeldToken {
  readonly name: "access" | "refresh";
  /** Type, such as Bearer or DPoP. */
  readonly type: string;
  readonly length: number;
  /** First 16 hexadecimal digits of its SHA-256. */
  readonly digest: string;
  /** Time of its end, in milliseconds since 1970. */
  readonly expiresAt?: number | undefined;
}

/** Connection to a server. */
export interface ConnectionState {
  /** Number of the connection, which verbs name. */
  readonly connection: number;
  /** Number of its server in `servers`. */
  readonly server: number;
  readonly status: "connecting" | "open" | "closed" | "failed";
  /** Number of the connection in the recording (`c`), once there is traffic. */
  readonly c?: number | undefined;
  readonly era?: EraName | undefined;
  readonly version?: ProtocolVersion | string | undefined;
  readonly info?: Implementation | undefined;
  readonly capabilities?: ServerCapabilities | undefined;
  readonly instructions?: string | undefined;
  /** Why it failed or was closed by the server. */
  readonly error?: Failure | undefined;
  readonly faults: FaultPlan;
}

/** Run that has not ended. */
export interface OpenRun {
  readonly run: number;
  /** Number of its connection; 0 if it has none. */
  readonly connection: number;
  readonly verb: VerbName;
  /** Name, URI or id of what it is about. */
  readonly name?: string | undefined;
  /** Time of its beginning in the recording, in microseconds. */
  readonly from: number;
  /** Number of the last line before it. */
  readonly line: number;
  /** Run of the same call in the other era. */
  readonly other?: number | undefined;
}

/** Question that waits for `answer`. `c` and `n` are those of its line of kind `ask`. */
export interface OpenQuestion extends Pick<AskEvent, "c" | "n" | "method" | "params" | "t"> {
  readonly connection: number;
}

/** Recording that was opened from a file. */
export interface OpenedRecording {
  readonly name: string;
  readonly lines: number;
}

/** End of a run. */
export interface RunEnd extends OpenRun {
  /** Time of its end in the recording, in microseconds. */
  readonly to: number;
  /** Number of the last line of it. */
  readonly lastLine: number;
  /** What its verb returns, see {@link RunResults}. */
  readonly result?: unknown;
  readonly error?: Failure | undefined;
}

/** Failure of a verb or a run. */
export interface Failure {
  /** Code of the error, such as `timeout`; `invalid_verb`, `unknown_connection` and others for mistakes of the page. */
  readonly code: string;
  readonly message: string;
  readonly rpcCode?: number | undefined;
  readonly data?: unknown;
  readonly status?: number | undefined;
  /** What is known of the delivery of the request, such as `answer_lost`. */
  readonly delivery?: string | undefined;
  readonly retrySafe?: boolean | undefined;
}

/** Faults of one direction. `1 in n` is decided by the seed. */
export interface DirectionFaults {
  /** Delays each frame by milliseconds. */
  readonly delayMs?: number | undefined;
  /** Drops one frame in n. */
  readonly drop?: number | undefined;
  /** Sends one frame in n twice. */
  readonly duplicate?: number | undefined;
  /** Cuts the connection behind the nth frame from now. Over HTTP: the stream of a response behind its nth event. */
  readonly cutAfter?: number | undefined;
}

/** Faults that a connection injects. Only over HTTP, `http` exists. Each fault is a line of kind `fault`. */
export interface FaultPlan {
  readonly on: boolean;
  /** Decides what `1 in n` meets. */
  readonly seed?: number | undefined;
  /** Only frames, or requests, of this method and this name of a tool, prompt or resource; all without it. */
  readonly match?: { readonly method?: string | undefined; readonly name?: string | undefined } | undefined;
  readonly toServer?: DirectionFaults | undefined;
  readonly toClient?: DirectionFaults | undefined;
  /** Answers the next `count` requests (1) with a status in place of the server. */
  readonly http?:
    | { readonly status: number; readonly retryAfterS?: number | undefined; readonly count?: number | undefined }
    | undefined;
}

/** What `POST ./do` takes, by the member `do`. */
export interface Verbs {
  /** Connects to a server. With `both`, in both eras. Answers at once; the state tells how it went. */
  readonly connect: {
    readonly server?: number | undefined;
    readonly era?: ClientOptions["era"];
    readonly both?: boolean | undefined;
  };
  readonly close: { readonly connection: number };
  /** Lists all items of a kind. */
  readonly list: {
    readonly connection: number;
    readonly what: ListName;
    /** Asks the server although the list is in the cache. */
    readonly fresh?: boolean | undefined;
  };
  /** Calls a tool. */
  readonly call: {
    readonly connection: number;
    readonly name: string;
    readonly arguments?: JsonObject | undefined;
    /** Calls it in the other era too, on a connection that is opened if there is none. */
    readonly both?: boolean | undefined;
    /** Ends the run with the task that the server creates, instead of waiting for it. */
    readonly task?: boolean | undefined;
  };
  /** Reads a resource, or with `skill` a file of that skill, whose digest is verified. */
  readonly read: { readonly connection: number; readonly uri: string; readonly skill?: string | undefined };
  readonly prompt: {
    readonly connection: number;
    readonly name: string;
    readonly arguments?: { readonly [name: string]: string } | undefined;
  };
  readonly complete: {
    readonly connection: number;
    readonly ref: CompletionReference;
    readonly argument: { readonly name: string; readonly value: string };
    readonly context?: { readonly arguments?: { readonly [name: string]: string } | undefined } | undefined;
  };
  /** Subscribes to changes of lists, or of resources. The run lasts until `unwatch`. Changes are lines. */
  readonly watch: { readonly connection: number; readonly resources?: readonly string[] | undefined };
  readonly unwatch: { readonly run: number };
  /** Answers a question, or refuses it with an error. */
  readonly answer: {
    readonly c: number;
    readonly n: number;
    readonly result?: JsonObject | undefined;
    readonly error?: string | undefined;
  };
  /** Cancels a run, and on the server what it asked for. */
  readonly cancel: { readonly run: number; readonly reason?: string | undefined };
  /** Takes a task up: its state now, its result when it ends, or its cancellation. */
  readonly task: { readonly connection: number; readonly id: string; readonly act: "get" | "result" | "cancel" };
  /** Replaces the faults of a connection, or does something to it now. */
  readonly faults: {
    readonly connection: number;
    readonly plan?: FaultPlan | undefined;
    readonly now?: "cut" | "stall" | "flow" | undefined;
    /** Direction of `stall` and `flow`; both without it. */
    readonly direction?: FrameDirection | undefined;
  };
  /** Checks the server. Findings are lines of kind `verdict`. */
  readonly doctor: { readonly server?: number | undefined };
  /** Logs in, in the browser. */
  readonly login: { readonly server?: number | undefined };
  readonly logout: { readonly server?: number | undefined };
  /** Returns the text of a token. The page forgets it at `until`. */
  readonly reveal: { readonly server?: number | undefined; readonly token: HeldToken["name"] };
  /** Returns a file: the live recording, or one HTML page with it and all opened recordings. */
  readonly save: { readonly as: "recording" | "html" };
}

/** Name of a verb. */
export type VerbName = keyof Verbs;

/** Verb as it is sent. */
export type Verb = { readonly [Name in VerbName]: { readonly do: Name } & Verbs[Name] }[VerbName];

/** Kind of what a server lists. */
export type ListName = "tools" | "prompts" | "resources" | "templates" | "skills" | "tasks";

/** A run has begun. `other` is the run of the same call in the other era. */
export interface Started {
  readonly run: number;
  readonly other?: number | undefined;
}

/** What the response to each verb has as `result`. */
export interface VerbResults {
  readonly connect: { readonly connections: readonly number[] };
  readonly close: Done;
  readonly list: Started;
  readonly call: Started;
  readonly read: Started;
  readonly prompt: Started;
  readonly complete: Started;
  readonly watch: Started;
  readonly unwatch: Done;
  readonly answer: Done;
  readonly cancel: Done;
  readonly task: Started;
  readonly faults: Done;
  readonly doctor: Started;
  readonly login: Started;
  readonly logout: Started;
  /** `until` is in milliseconds since 1970. */
  readonly reveal: { readonly text: string; readonly until: number };
  readonly save: { readonly name: string; readonly type: string; readonly text: string };
}

/** A verb without a result was done. */
export type Done = Readonly<Record<string, never>>;

/** What the end of a run has as `result`, by its verb. */
export interface RunResults {
  readonly list: { readonly [What in ListName]: readonly ListedItems[What][] }[ListName];
  readonly call: CallToolResult | Task;
  readonly read: ReadResourceResult;
  readonly prompt: GetPromptResult;
  readonly complete: CompleteResult["completion"];
  readonly watch: Done;
  readonly task: Task | CallToolResult;
  readonly doctor: { readonly verdicts: readonly Omit<VerdictEvent, "t" | "k">[] };
  readonly login: Done;
  readonly logout: Done;
}

/** Items of each list. */
export interface ListedItems {
  readonly tools: Tool;
  readonly prompts: Prompt;
  readonly resources: Resource;
  readonly templates: ResourceTemplate;
  readonly skills: Skill;
  readonly tasks: Task;
}

/** Response of `POST ./do`. Its status is 200 unless the request itself is wrong. */
export type VerbResponse<Name extends VerbName = VerbName> =
  | { readonly ok: true; readonly result: VerbResults[Name] }
  | { readonly ok: false; readonly error: Failure };
