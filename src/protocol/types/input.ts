import type { Meta, Result } from "./base.js";
import type { ElicitParams, ElicitResult } from "./elicitation.js";
import type { CreateMessageParams, CreateMessageResult } from "./sampling.js";

/** A place the client lets the server work in. */
export interface Root {
  /** A `file://` address. */
  uri: string;
  name?: string;
  _meta?: Meta;
}

/** The client's roots. */
export interface ListRootsResult {
  roots: Root[];
  _meta?: Meta;
}

/** Asks for something from the user. */
export interface ElicitRequest {
  method: "elicitation/create";
  params: ElicitParams;
}

/** Asks for something from the client's model. */
export interface CreateMessageRequest {
  method: "sampling/createMessage";
  params: CreateMessageParams;
}

/** Asks for the client's roots. */
export interface ListRootsRequest {
  method: "roots/list";
  params?: { _meta?: Meta };
}

/** One thing the server needs from the client before it can go on. */
export type InputRequest = ElicitRequest | CreateMessageRequest | ListRootsRequest;

/** What the server needs, under names of its own choice. */
export interface InputRequests {
  [key: string]: InputRequest;
}

/** The answer to one input request. */
export type InputResponse = ElicitResult | CreateMessageResult | ListRootsResult;

/** The answers, under the names of their requests. */
export interface InputResponses {
  [key: string]: InputResponse;
}

/** Not an answer yet: the client sends the request again with the answers and the state. */
export interface InputRequiredResult extends Result {
  resultType: "input_required";
  inputRequests?: InputRequests;
  /** Opaque to the client, which returns it unchanged. */
  requestState?: string;
}

/** What a retried request carries on top of its own parameters. */
export interface InputParams {
  inputResponses?: InputResponses;
  requestState?: string;
}
