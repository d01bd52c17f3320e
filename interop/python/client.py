"""A client of the official Python SDK on a stdio server: client.py <era> <command> [argument ...]. Prints its outcomes."""

import asyncio
import json
import sys

from mcp import Client, StdioServerParameters

era, command, *arguments = sys.argv[1:]
VERSIONS = {"legacy": "2025-11-25", "modern": "2026-07-28"}
outcomes = []


async def check(name, work):
    try:
        problem = await asyncio.wait_for(work(), 8)
    except Exception as error:
        problem = f"{type(error).__name__}: {error}"
    outcomes.append({"check": name, "problem": problem})


def expect(actual, wanted):
    return None if actual == wanted else f"got {actual!r} instead of {wanted!r}"


async def main():
    server = StdioServerParameters(command=command, args=arguments)
    async with Client(server, mode="legacy" if era == "legacy" else VERSIONS[era]) as client:

        async def version():
            return expect(client.protocol_version, VERSIONS[era])

        async def tools():
            listed = await client.list_tools()
            return expect({"echo", "add", "count"} <= {tool.name for tool in listed.tools}, True)

        async def plain():
            result = await client.call_tool("echo", {"text": "ahoy \u2028"})
            return expect(result.content[0].text, "ahoy \u2028")

        async def structured():
            result = await client.call_tool("add", {"a": 2, "b": 3})
            return expect(result.structured_content, {"sum": 5})

        async def tool_error():
            result = await client.call_tool("fail", {})
            return expect(result.is_error, True)

        async def resource():
            listed = await client.list_resources()
            result = await client.read_resource(listed.resources[0].uri)
            return expect(len(result.contents), 1)

        async def prompt():
            result = await client.get_prompt("greet", {"city": "Oslo"})
            return expect("Oslo" in result.messages[0].content.text, True)

        checks = {"version": version, "list": tools, "plain": plain, "structured": structured}
        checks |= {"tool error": tool_error, "resource": resource, "prompt": prompt}
        for name, work in checks.items():
            await check(name, work)


try:
    asyncio.run(main())
except Exception as error:
    outcomes.append({"check": "connect", "problem": f"{type(error).__name__}: {error}"})
print(json.dumps(outcomes))
