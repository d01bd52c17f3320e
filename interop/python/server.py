"""A server of the official Python SDK, over stdio."""

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import BaseModel

server = MCPServer("python")


class Sum(BaseModel):
    sum: int


@server.tool(structured_output=False)
def echo(text: str) -> str:
    return text


@server.tool()
def add(a: int, b: int) -> Sum:
    return Sum(sum=a + b)


@server.tool(structured_output=False)
async def count(to: int, ctx: Context) -> str:
    for step in range(1, to + 1):
        await ctx.report_progress(step, to, f"step {step}")
    return f"counted to {to}"


@server.tool(structured_output=False)
def fail() -> str:
    raise ToolError("run aground")


@server.resource("note://1")
def note() -> str:
    return "a note"


@server.prompt()
def greet(city: str) -> str:
    return f"Greet {city}"


server.run()
