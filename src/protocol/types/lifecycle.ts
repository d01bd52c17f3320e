import type { CacheableResult, Implementation, JsonObject, Meta, Result } from "./base.js";

/** Capabilities of a client. A member that is present declares a capability, even if its value is empty. */
export interface ClientCapabilities {
  experimental?: { [name: string]: JsonObject };
  roots?: {
    /** The client notifies the server when its roots change. Only in versions with sessions. */
    listChanged?: boolean;
  };
  sampling?: { context?: JsonObject; tools?: JsonObject };
  elicitation?: { form?: JsonObject; url?: JsonObject };
  tasks?: JsonObject;
  extensions?: { [id: string]: JsonObject };
}

/** Capabilities of a server. A member that is present declares a capability, even if its value is empty. */
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

/** Result of `server/discover`: description of a server, obtained without a handshake. */
export interface DiscoverResult extends CacheableResult {
  supportedVersions: string[];
  capabilities: ServerCapabilities;
  /** Instructions for the model on how to use the server. */
  instructions?: string;
}

/** Parameters of `initialize`: description of the client. */
export interface InitializeParams {
  protocolVersion: string;
  capabilities: ClientCapabilities;
  clientInfo: Implementation;
  _meta?: Meta;
}

/** Result of `initialize`: description of the server. */
export interface InitializeResult extends Result {
  protocolVersion: string;
  capabilities: ServerCapabilities;
  serverInfo: Implementation;
  /** Instructions for the model on how to use the server. */
  instructions?: string;
}

/** Changes that a client subscribes to. */
export interface SubscriptionFilter {
  toolsListChanged?: boolean;
  promptsListChanged?: boolean;
  resourcesListChanged?: boolean;
  /** URIs of individual resources. */
  resourceSubscriptions?: string[];
}
