export { AuthError, type AuthStep } from "../schema/auth-error.js";
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
} from "../schema/errors.js";
export { type RequiredUrl, UrlElicitationRequiredError } from "../schema/url-elicitation-error.js";
