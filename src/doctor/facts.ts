import type { EraName, ProtocolVersion } from "../era/versions.js";
import type { Prompt, Resource, ResourceTemplate, ServerCapabilities, Tool } from "../protocol/types/index.js";
import type { AuthFacts } from "./auth-facts.js";
import type { HttpFacts } from "./http-facts.js";

/**
 * What probes have found out about a server. A member is missing if its probe does not apply or has failed. Numbers called
 * `line` are lines of the recording.
 */
export interface Facts {
  /** How the server is reached. */
  readonly wire: "stdio" | "http";
  readonly scope: Scope;
  readonly start?: StartFacts;
  readonly eras?: readonly EraFacts[];
  readonly processes?: readonly ProcessFacts[];
  readonly http?: HttpFacts | undefined;
  readonly auth?: AuthFacts | undefined;
  readonly trial?: TrialFacts;
  readonly drain?: DrainFacts;
  readonly hosts?: HostsFacts;
}

/** What the user wants to know. */
export interface Scope {
  /** Time of day, in milliseconds since 1970. */
  readonly now: number;
  /** Hosts that the user named. Without them, all count. */
  readonly hosts?: readonly string[] | undefined;
}

export interface StartFacts {
  /** Time until the first message of the server. Undefined if there was none. */
  readonly firstAnswerMs?: number | undefined;
  readonly line?: number | undefined;
  /** Program that looks up the package of the server at each start. */
  readonly launcher?: string | undefined;
  readonly failure?: StartFailure | undefined;
}

/** A server that could not be started, or ended before it said anything. */
export interface StartFailure {
  readonly message: string;
  readonly exitCode?: number | null | undefined;
  readonly exitSignal?: string | null | undefined;
  readonly stderr: readonly string[];
  readonly likelyCause?: string | undefined;
  /** Variables that it names, and that only the whole environment has. */
  readonly missing: readonly string[];
  /** True if it starts with the whole environment. */
  readonly startsWithAll: boolean;
  readonly line?: number | undefined;
}

/** The server in one era. */
export interface EraFacts {
  readonly era: EraName;
  /** Versions of the era that this package speaks. */
  readonly versions: readonly ProtocolVersion[];
  /** `refused`: it answered with an error. `silent`: no answer in time. `died`: it ended instead of an answer. */
  readonly outcome: "spoken" | "refused" | "silent" | "died";
  /** The request that begins a connection. */
  readonly opening: string;
  /** Line that shows the outcome. */
  readonly line?: number | undefined;
  /** Error of the opening, if it was not spoken. */
  readonly failure?:
    | { readonly message: string; readonly status?: number | undefined; readonly cause?: Error | undefined }
    | undefined;
  /** Version in use. */
  readonly version?: string | undefined;
  /** Versions that the server names, if it names any. */
  readonly offered?: readonly string[] | undefined;
  readonly server?:
    | {
        readonly name: string | undefined;
        readonly version: string | undefined;
        readonly instructions: string | undefined;
      }
    | undefined;
  readonly capabilities?: ServerCapabilities | undefined;
  /** True if the server speaks the transport HTTP+SSE alone. */
  readonly isSse?: boolean | undefined;
  readonly catalogue?: CatalogueFacts | undefined;
  /** Answers to requests for what does not exist. */
  readonly errors?: readonly ErrorFacts[] | undefined;
  /** Answer to a request in a version that does not exist. */
  readonly unknownVersion?: (AnswerFacts & { readonly named: readonly string[] | undefined }) | undefined;
  /** Answer to a request whose header names another method than its body. */
  readonly contradiction?: AnswerFacts | undefined;
}

/** An answer that should be an error. */
export interface AnswerFacts {
  readonly outcome: "error" | "result" | "silent";
  readonly code?: number | undefined;
  readonly status?: number | undefined;
  readonly message?: string | undefined;
  /** Line of the request. */
  readonly asked?: number | undefined;
  readonly line?: number | undefined;
}

export interface ErrorFacts extends AnswerFacts {
  /** What was asked for and does not exist. `argument` is a tool call that is no valid request. */
  readonly of: "method" | "resource" | "prompt" | "tool" | "argument";
}

/** What the server lists. */
export interface CatalogueFacts {
  readonly tools: Listing<Tool>;
  readonly prompts: Listing<Prompt>;
  readonly resources: Listing<Resource>;
  readonly resourceTemplates: Listing<ResourceTemplate>;
}

/** A listing, page by page. Items are as the server sent them, so members may be missing or have other types. */
export interface Listing<T> {
  readonly method: string;
  readonly items: readonly T[];
  /** Lines with the pages. */
  readonly lines: readonly number[];
  /** Pages as the server sent them, without their items. */
  readonly pages: readonly Readonly<Record<string, unknown>>[];
  /** Error instead of a page. */
  readonly error?: { readonly code: number | undefined; readonly message: string; readonly line?: number | undefined };
  /** Why reading ended before the last page. */
  readonly endless?: "repeated cursor" | "too many pages" | undefined;
}

/** A server process, from its start to its end. */
export interface ProcessFacts {
  readonly era: EraName;
  /** Texts on stdout that are no messages. */
  readonly noise: readonly { readonly text: string; readonly line: number }[];
  /** Bytes on stderr before the first message. */
  readonly stderrBytes: number;
  readonly end?: ProcessEnd | undefined;
  /** Last line of its connection. */
  readonly line?: number | undefined;
}

/** What a process did at the end of its input. */
export interface ProcessEnd {
  /** Time until it ended. Undefined if it had to be ended. */
  readonly ms: number | undefined;
  /** Time that it had. */
  readonly waitedMs: number;
  readonly code: number | null;
  readonly signal: string | null;
  /** Requests of the server that had no answer at that time. */
  readonly asking: readonly { readonly method: string; readonly line: number }[];
  /** Processes that it left behind, by name. */
  readonly orphans: readonly string[];
}

/** Calls of a tool that the user allowed. */
export interface TrialFacts {
  readonly tool: Tool;
  readonly call: CallFacts;
  /** A second call, which was cancelled. Undefined if the first was too quick. */
  readonly cancelled?: CancelFacts | undefined;
}

/** A call to its end. */
export interface CallFacts {
  readonly ms: number;
  readonly line?: number | undefined;
  readonly result?: Readonly<Record<string, unknown>> | undefined;
  readonly error?: string | undefined;
  /** Longest time without a message. */
  readonly silenceMs: number;
  /** Token that the request has. */
  readonly token: unknown;
  readonly progress: readonly { readonly token: unknown; readonly progress: unknown; readonly line: number }[];
}

/** What came after a cancellation. */
export interface CancelFacts {
  /** Lines of answers to the call. */
  readonly answers: readonly number[];
  /** Lines of its progress. */
  readonly progress: readonly number[];
  /** True if the server answered another request afterwards. */
  readonly isResponsive: boolean;
}

/** A process that got SIGTERM during a call. */
export interface DrainFacts {
  /** True if the call got its result. */
  readonly answered: boolean;
  /** Time until the process ended. Undefined if it had to be ended. */
  readonly ms: number | undefined;
  readonly code: number | null;
  readonly signal: string | null;
  /** Connections that were accepted after the signal and closed without an answer, for a server at a URL. */
  readonly dropped?: number | undefined;
  /** Last line of the call. */
  readonly line?: number | undefined;
}

/** Configuration files of hosts. */
export interface HostsFacts {
  /** Files that cannot be used, with the reasons. */
  readonly problems: readonly string[];
  readonly servers: readonly ConfiguredFacts[];
}

export interface ConfiguredFacts {
  readonly name: string;
  readonly host: string;
  readonly file: string;
  /** Program that does not exist. */
  readonly missing?: string | undefined;
  /** Paths that depend on the folder in which the host starts. */
  readonly relative: readonly string[];
  /** Members whose values are secrets in plain text. */
  readonly secrets: readonly string[];
}
