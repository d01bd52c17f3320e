"""The server of the official Python SDK, in both eras: server.py stdio|http <folder>."""

import asyncio
import os
import socket
import sys
import threading
import time
import warnings
from pathlib import Path

warnings.simplefilter("ignore")

import uvicorn
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import (
    Completion,
    CreateMessageRequest,
    CreateMessageRequestParams,
    ElicitRequest,
    ElicitRequestFormParams,
    InputRequiredResult,
    ListRootsRequest,
    SamplingMessage,
    TextContent,
)
from pydantic import BaseModel

mode, folder = sys.argv[1], Path(sys.argv[2])
(folder / f"process {os.getpid()}").touch()
server = MCPServer("interop", log_level="CRITICAL")


def note(key: str, what: str) -> None:
    (folder / f"{key} {what}").touch()


async def until_seen(key: str, what: str) -> str:
    end = time.monotonic() + 5
    while not (folder / f"{key} {what}").exists():
        if time.monotonic() > end:
            raise ToolError(f"not {what} within 5 s")
        await asyncio.sleep(0.01)
    return what


def is_modern(ctx: Context) -> bool:
    return (ctx.protocol_version or "") >= "2026"


class Sum(BaseModel):
    sum: int


class Colour(BaseModel):
    colour: str


def plain(function):
    return server.tool(structured_output=False)(function)


@plain
def echo(text: str) -> str:
    return text


@server.tool()
def add(a: int, b: int) -> Sum:
    return Sum(sum=a + b)


@plain
async def count(to: int, key: str, ctx: Context) -> str:
    for step in range(1, to + 1):
        await ctx.report_progress(step, to, f"step {step}")
    await until_seen(key, "heard")
    return f"counted to {to}"


@plain
def fail() -> str:
    raise ToolError("the rope broke")


@plain
async def wait(key: str) -> str:
    note(key, "started")
    try:
        await asyncio.sleep(3600)
    finally:
        note(key, "cancelled")
    return "the answer of a call that should have been cancelled"


@plain
async def seen(key: str, what: str) -> str:
    return await until_seen(key, what)


@plain
def heard(key: str) -> str:
    note(key, "heard")
    return ""


@plain
async def ask(ctx: Context) -> str | InputRequiredResult:
    if not is_modern(ctx):
        answer = await ctx.elicit("Which colour?", Colour)
        return f"colour {answer.data.colour}" if answer.action == "accept" else answer.action
    if ctx.input_responses is None:
        form = ElicitRequestFormParams(message="Which colour?", requested_schema=Colour.model_json_schema())
        return InputRequiredResult(input_requests={"colour": ElicitRequest(params=form)}, request_state="asked")
    reply = ctx.input_responses["colour"]
    return f"colour {reply.content['colour']}" if reply.action == "accept" else reply.action


@plain
async def sample(ctx: Context) -> str | InputRequiredResult:
    messages = [SamplingMessage(role="user", content=TextContent(type="text", text="knot?"))]
    if not is_modern(ctx):
        return (await ctx.session.create_message(messages, max_tokens=10)).content.text
    if ctx.input_responses is None:
        params = CreateMessageRequestParams(messages=messages, max_tokens=10)
        return InputRequiredResult(input_requests={"knot": CreateMessageRequest(params=params)})
    return ctx.input_responses["knot"].content.text


@plain
async def roots(ctx: Context) -> str | InputRequiredResult:
    if not is_modern(ctx):
        return " ".join(str(root.uri) for root in (await ctx.session.list_roots()).roots)
    if ctx.input_responses is None:
        return InputRequiredResult(input_requests={"roots": ListRootsRequest()})
    return " ".join(str(root.uri) for root in ctx.input_responses["roots"].roots)


@plain
async def log(ctx: Context) -> str:
    await ctx.log("debug", "too much")
    await ctx.log("info", "logged")
    return ""


@plain
async def touch(ctx: Context) -> str:
    if is_modern(ctx):
        await ctx.notify_tools_changed()
    else:
        await ctx.session.send_tool_list_changed()
    return ""


server.tool("note", structured_output=False)(heard)
server.remove_tool("heard")


@server.resource("note://pinned")
def pinned() -> str:
    return "hold fast"


@server.resource("note://numbered/{id}")
def numbered(id: str) -> str:
    return f"note number {id}"


@server.prompt()
def greet(city: str) -> str:
    return f"Greet the people of {city}"


@server.completion()
async def complete(ref, argument, context):
    return Completion(values=[city for city in ("oslo", "osaka", "rome") if city.startswith(argument.value)])


if mode == "stdio":
    server.run()
else:
    door = socket.create_server(("127.0.0.1", 0))
    host = uvicorn.Server(uvicorn.Config(server.streamable_http_app(), log_level="error", timeout_graceful_shutdown=1))

    def end_with_input() -> None:
        sys.stdin.read()
        host.should_exit = True

    threading.Thread(target=end_with_input, daemon=True).start()
    print(f"http://127.0.0.1:{door.getsockname()[1]}/mcp", flush=True)
    host.run(sockets=[door])
