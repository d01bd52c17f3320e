export {
  ConnectionError,
  DefinitionError,
  type Delivery,
  InputRequiredError,
  McpError,
  ProtocolError,
  RpcError,
  TimeoutError,
  ToolError,
  VersionError,
} from "../schema/errors.js";
