export {
  ConnectionError,
  DefinitionError,
  type Delivery,
  McpError,
  ProtocolError,
  type RequiredUrl,
  RpcError,
  TimeoutError,
  ToolError,
  UrlElicitationRequiredError,
  UserRejectedError,
} from "../schema/errors.js";
