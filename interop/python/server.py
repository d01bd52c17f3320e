"""The server of the official Python SDK, in both eras: server.py stdio|http <folder>."""

import asyncio
import os
import sys
import warnings

warnings.simplefilter("ignore")

import hosting
from ledger import Ledger
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

mode, ledger = sys.argv[1], Ledger(sys.argv[2])
ledger.note("process", os.getpid())
server = MCPServer("interop", log_level="CRITICAL")


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
    await ledger.wait(key, "heard")
    return f"counted to {to}"


@plain
def fail() -> str:
    raise ToolError("the rope broke")


@plain
async def wait(key: str) -> str:
    ledger.note(key, "started")
    try:
        await asyncio.sleep(3600)
    finally:
        ledger.note(key, "cancelled")
    return "the answer of a call that should have been cancelled"


@plain
async def seen(key: str, what: str) -> str:
    return await ledger.wait(key, what)


@plain
def note(key: str) -> str:
    ledger.note(key, "heard")
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
    hosting.serve(server.streamable_http_app())
