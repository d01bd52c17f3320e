export { AuthError, type AuthStep } from "../protocol/auth-error.js";
export {
  ConnectionError,
  DefinitionError,
  type Delivery,
  InputRequiredError,
  McpError,
  MissingCapabilityError,
  OutputError,
  ProtocolError,
  RpcError,
  ServerUnavailableError,
  TimeoutError,
  ToolError,
  UnsupportedVersionError,
  UserRejectedError,
  VersionError,
} from "../protocol/errors.js";
export { type RequiredUrl, UrlElicitationRequiredError } from "../protocol/url-elicitation-error.js";
