import type { CacheableResult, Implementation, JsonObject, Meta, Result } from "./base.js";

/** What a client can do. A member that is present is a capability, even when it is empty. */
export interface ClientCapabilities {
  experimental?: { [name: string]: JsonObject };
  roots?: {
    /** Tells the server when its roots change; only in versions with sessions. */
    listChanged?: boolean;
  };
  sampling?: { context?: JsonObject; tools?: JsonObject };
  elicitation?: { form?: JsonObject; url?: JsonObject };
  tasks?: JsonObject;
  extensions?: { [id: string]: JsonObject };
}

/** What a server can do. A member that is present is a capability, even when it is empty. */
export interface ServerCapabilities {
  experimental?: { [name: string]: JsonObject };
  logging?: JsonObject;
  completions?: JsonObject;
  prompts?: { listChanged?: boolean };
  resources?: { subscribe?: boolean; listChanged?: boolean };
  tools?: { listChanged?: boolean };
  tasks?: JsonObject;
  extensions?: { [id: string]: JsonObject };
}

/** What a server offers, asked for without a handshake. */
export interface DiscoverResult extends CacheableResult {
  supportedVersions: string[];
  capabilities: ServerCapabilities;
  /** How to use the server, for the model. */
  instructions?: string;
}

/** What a client says of itself in a handshake. */
export interface InitializeParams {
  protocolVersion: string;
  capabilities: ClientCapabilities;
  clientInfo: Implementation;
  _meta?: Meta;
}

/** What a server says of itself in a handshake. */
export interface InitializeResult extends Result {
  protocolVersion: string;
  capabilities: ServerCapabilities;
  serverInfo: Implementation;
  /** How to use the server, for the model. */
  instructions?: string;
}

/** Which changes a client wants to hear of. */
export interface SubscriptionFilter {
  toolsListChanged?: boolean;
  promptsListChanged?: boolean;
  resourcesListChanged?: boolean;
  /** Addresses of single resources. */
  resourceSubscriptions?: string[];
}
