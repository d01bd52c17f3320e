import { type Scenario, scenarioOf } from "./client/scenarios.js";

/**
 * Client that the conformance suite starts once per scenario: `node dist/client.js <url>`. The environment names the
 * scenario and the protocol version.
 */
const {
  MCP_CONFORMANCE_SCENARIO = "",
  MCP_CONFORMANCE_PROTOCOL_VERSION = "",
  MCP_CONFORMANCE_CONTEXT = "{}",
} = process.env;
const url = process.argv.at(-1) ?? "";

const scenario: Scenario | undefined = scenarioOf(MCP_CONFORMANCE_SCENARIO);
if (scenario === undefined) {
  console.error(`unknown scenario: ${MCP_CONFORMANCE_SCENARIO}`);
  process.exit(1);
}
// A process that hangs, or does not end after its scenario, fails.
setTimeout(() => {
  console.error(`${MCP_CONFORMANCE_SCENARIO}: still running after 20 s`);
  process.exit(1);
}, 20_000).unref();

try {
  await scenario({ url, version: MCP_CONFORMANCE_PROTOCOL_VERSION, context: JSON.parse(MCP_CONFORMANCE_CONTEXT) });
} catch (error) {
  console.error(error);
  process.exitCode = 1;
}
