export {
  AuthError,
  type AuthStep,
  ConnectionError,
  DefinitionError,
  type Delivery,
  McpError,
  ProtocolError,
  RpcError,
  TimeoutError,
  ToolError,
} from "../schema/errors.js";
