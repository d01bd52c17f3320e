import type { Meta, Result } from "./base.js";
import type { ElicitParams, ElicitResult } from "./elicitation.js";
import type { CreateMessageParams, CreateMessageResult } from "./sampling.js";

/** Directory or file that the client exposes to the server. */
export interface Root {
  /** `file://` URI. */
  uri: string;
  name?: string;
  _meta?: Meta;
}

/** Roots of the client. */
export interface ListRootsResult {
  roots: Root[];
  _meta?: Meta;
}

/** Request for input from the user. */
export interface ElicitRequest {
  method: "elicitation/create";
  params: ElicitParams;
}

/** Request for a message from the client's model. */
export interface CreateMessageRequest {
  method: "sampling/createMessage";
  params: CreateMessageParams;
}

/** Request for the client's roots. */
export interface ListRootsRequest {
  method: "roots/list";
  params?: { _meta?: Meta };
}

/** Request for input that the server needs before it can complete a call. */
export type InputRequest = ElicitRequest | CreateMessageRequest | ListRootsRequest;

/** Input requests under keys that the server chooses. */
export interface InputRequests {
  [key: string]: InputRequest;
}

/** Response to an input request. */
export type InputResponse = ElicitResult | CreateMessageResult | ListRootsResult;

/** Input responses under the keys of their requests. */
export interface InputResponses {
  [key: string]: InputResponse;
}

/** Intermediate result of a call. The client sends the call again with the responses and the state. */
export interface InputRequiredResult extends Result {
  resultType: "input_required";
  inputRequests?: InputRequests;
  /** Opaque to the client, which returns it unchanged. */
  requestState?: string;
}

/** Additional parameters of a call that is sent again after an `input_required` result. */
export interface InputParams {
  inputResponses?: InputResponses;
  requestState?: string;
}
