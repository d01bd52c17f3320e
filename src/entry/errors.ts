export {
  ConnectionError,
  DefinitionError,
  type Delivery,
  McpError,
  OutputError,
  ProtocolError,
  RpcError,
  TimeoutError,
  ToolError,
} from "../schema/errors.js";
