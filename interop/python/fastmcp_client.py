"""A client of FastMCP: fastmcp_client.py <era> <url> | <era> <command> <argument ...>."""

import asyncio
import sys
import warnings

from driver import Driver
from fastmcp import Client
from fastmcp.client.transports import StdioTransport
from mcp.types import PromptReference, Root

warnings.simplefilter("ignore")


class FastMcpDriver(Driver):
    def connect(self):
        return Client(
            StdioTransport(self.target, list(self.arguments), keep_alive=False) if self.arguments else self.target,
            mode=self.mode,
            elicitation_handler=self.elicit,
            sampling_handler=self.sample,
            roots=[Root(uri="file:///harbour", name="harbour")],
            log_handler=self.on_log,
            message_handler=self.on_message,
        )

    async def run(self, client, method, params, timeout, on_progress):
        match method:
            case "tools/list":
                return await client.list_tools_mcp()
            case "resources/list":
                return await client.list_resources_mcp()
            case "resources/templates/list":
                return await client.list_resource_templates_mcp()
            case "prompts/list":
                return await client.list_prompts_mcp()
            case "tools/call":
                return await client.call_tool_mcp(
                    params["name"], params["arguments"], on_progress, timeout, params.get("_meta")
                )
            case "resources/read":
                return await client.read_resource_mcp(params["uri"])
            case "prompts/get":
                return await client.get_prompt_mcp(params["name"], params["arguments"])
            case "completion/complete":
                return await client.complete_mcp(PromptReference.model_validate(params["ref"]), params["argument"])

    async def elicit(self, message, response_type, params, context):
        return self.answer

    async def sample(self, messages, params, context):
        return f"{messages[0].content.text} bowline"


asyncio.run(FastMcpDriver(*sys.argv[1:]).main())
