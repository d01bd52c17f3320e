"""A client of the official Python SDK: client.py <era> <url> | <era> <command> <argument ...>."""

import asyncio
import sys
import warnings

from driver import Driver
from mcp import Client, StdioServerParameters
from mcp.types import CreateMessageResult, ListRootsResult, PromptReference, Root, TextContent

warnings.simplefilter("ignore")


class OfficialDriver(Driver):
    def connect(self):
        return Client(
            StdioServerParameters(command=self.target, args=self.arguments) if self.arguments else self.target,
            mode=self.mode,
            elicitation_callback=self.elicit,
            sampling_callback=self.sample,
            list_roots_callback=self.roots,
            logging_callback=self.on_log,
            message_handler=self.on_message,
        )

    async def run(self, client, method, params, timeout, on_progress):
        match method:
            case "tools/list":
                return await client.list_tools()
            case "resources/list":
                return await client.list_resources()
            case "resources/templates/list":
                return await client.list_resource_templates()
            case "prompts/list":
                return await client.list_prompts()
            case "tools/call":
                meta = params.get("_meta")
                return await client.call_tool(params["name"], params["arguments"], timeout, on_progress, meta=meta)
            case "resources/read":
                return await client.read_resource(params["uri"])
            case "prompts/get":
                return await client.get_prompt(params["name"], params["arguments"])
            case "completion/complete":
                return await client.complete(PromptReference.model_validate(params["ref"]), params["argument"])

    async def elicit(self, context, params):
        return self.answer

    async def sample(self, context, params):
        text = f"{params.messages[0].content.text} bowline"
        return CreateMessageResult(role="assistant", model="interop", content=TextContent(type="text", text=text))

    async def roots(self, context):
        return ListRootsResult(roots=[Root(uri="file:///harbour", name="harbour")])


asyncio.run(OfficialDriver(*sys.argv[1:]).main())
