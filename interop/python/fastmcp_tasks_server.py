"""The tasks of FastMCP: fastmcp_tasks_server.py stdio|http <folder>."""

import asyncio
import logging
import os
import sys
import warnings

logging.disable()
warnings.simplefilter("ignore")

import hosting
from fastmcp import Context, FastMCP
from fastmcp.exceptions import ToolError
from fastmcp.utilities.tasks import TaskConfig
from fastmcp_tasks import TasksExtension
from ledger import Ledger
from mcp.types import ElicitRequest, ElicitRequestFormParams, InputRequiredResult

mode, folder = sys.argv[1], sys.argv[2]
ledger = Ledger(folder)
ledger.note("process", os.getpid())
server = FastMCP("interop-tasks")
server.add_extension(TasksExtension())


def question(message):
    schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    return ElicitRequest(params=ElicitRequestFormParams(message=message, requested_schema=schema))


@server.tool(output_schema=None)
async def plain() -> str:
    return "plain"


@server.tool(output_schema=None)
async def seen(key: str, what: str) -> str:
    return await ledger.wait(key, what)


@server.tool(task=True, output_schema=None)
async def slow(text: str) -> str:
    await asyncio.sleep(0.2)
    return text


@server.tool(task=TaskConfig(mode="required"), output_schema=None)
async def always() -> str:
    return "always"


@server.tool(task=True, output_schema=None)
async def broken() -> str:
    raise ToolError("no paper")


@server.tool(task=True, output_schema=None)
async def wait(key: str) -> str:
    ledger.note(key, "started")
    try:
        await asyncio.Event().wait()
    finally:
        ledger.note(key, "cancelled")


@server.tool(task=True, output_schema=None)
async def ask(ctx: Context) -> str | InputRequiredResult:
    if ctx.input_responses is None:
        return InputRequiredResult(input_requests={"name": question("Your name?")})
    return f"Hello, {ctx.input_responses['name'].content['name']}!"


@server.tool(task=True, output_schema=None)
async def pair(ctx: Context) -> str | InputRequiredResult:
    if ctx.input_responses is None:
        return InputRequiredResult(input_requests={"first": question("First?"), "second": question("Second?")})
    return " and ".join(ctx.input_responses[key].content["name"] for key in ("first", "second"))


if mode == "stdio":
    server.run(show_banner=False)
else:
    hosting.serve(server.http_app())
