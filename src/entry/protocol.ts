export { AuthError, type AuthErrorDetails, type AuthStep } from "../protocol/auth-error.js";
export type { Delivery } from "../protocol/delivery.js";
export {
  ConnectionError,
  type ConnectionErrorDetails,
  DefinitionError,
  InputRequiredError,
  McpError,
  MissingCapabilityError,
  OutputError,
  ProtocolError,
  type RequiredUrl,
  RpcError,
  type RpcErrorOptions,
  ServerUnavailableError,
  TimeoutError,
  ToolError,
  UnsupportedVersionError,
  UrlElicitationRequiredError,
  UserRejectedError,
  VersionError,
} from "../protocol/errors.js";
export type { Channel, ChannelEvents } from "../protocol/jsonrpc/channel.js";
export type { Params } from "../protocol/jsonrpc/message.js";
export type * from "../protocol/types/index.js";
