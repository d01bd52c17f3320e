export {
  ConnectionError,
  DefinitionError,
  type Delivery,
  McpError,
  ProtocolError,
  RpcError,
  TimeoutError,
  ToolError,
  VersionError,
} from "../schema/errors.js";
