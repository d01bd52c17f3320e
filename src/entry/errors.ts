export {
  ConnectionError,
  DefinitionError,
  type Delivery,
  McpError,
  MissingCapabilityError,
  ProtocolError,
  RpcError,
  TimeoutError,
  ToolError,
  UnsupportedVersionError,
} from "../schema/errors.js";
