"""A client of FastMCP with its tasks: fastmcp_tasks_client.py <era> <url> | <era> <command> <argument ...>."""

import asyncio
import sys
import warnings

from driver import Driver
from fastmcp import Client
from fastmcp.client.transports import StdioTransport
from fastmcp_tasks import call_tool_task
from mcp.types import CallToolResult
from pydantic import BaseModel

warnings.simplefilter("ignore")


class Started(BaseModel):
    id: str


class TasksDriver(Driver):
    def connect(self):
        self.tasks = {}
        target = StdioTransport(self.target, list(self.arguments), keep_alive=False) if self.arguments else self.target
        return Client(target, mode=self.mode, elicitation_handler=self.elicit)

    async def run(self, client, method, params, timeout, on_progress):
        match method:
            case "tools/call":
                return await client.call_tool_mcp(params["name"], params["arguments"])
            case "start":
                task = await call_tool_task(client, params["name"], params["arguments"], raise_on_error=False)
                self.tasks[task.task_id] = task
                return Started(id=task.task_id)
            case "status":
                return await self.tasks[params["id"]].status()
            case "result":
                result = await self.tasks[params["id"]].result()
                return CallToolResult(content=result.content, is_error=result.is_error)
            case "cancel task":
                await self.tasks[params["id"]].cancel()

    async def elicit(self, message, response_type, params, context):
        return {"name": "Ada"}


asyncio.run(TasksDriver(*sys.argv[1:]).main())
