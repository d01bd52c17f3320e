"""A client of the official Python SDK: client.py <era> <url> | <era> <command> <argument ...>. Prints its outcomes."""

import asyncio
import json
import sys
import time
import uuid

from mcp import Client, StdioServerParameters
from mcp.types import CreateMessageResult, ElicitResult, ListRootsResult, Root, TextContent

era, target, *arguments = sys.argv[1:]
VERSIONS = {"legacy": "2025-11-25", "modern": "2026-07-28"}
outcomes = []


async def check(name, work):
    begun = time.monotonic()
    try:
        problem = await asyncio.wait_for(work(), 20)
    except Exception as error:
        problem = f"{type(error).__name__}: {error}"
    outcomes.append({"check": name, "problem": problem, "ms": round((time.monotonic() - begun) * 1000)})


def expect(actual, wanted):
    return None if actual == wanted else f"got {actual!r} instead of {wanted!r}"


async def elicit(context, params):
    return ElicitResult(action="accept", content={"colour": "blue"})


async def sample(context, params):
    text = f"{params.messages[0].content.text} bowline"
    return CreateMessageResult(role="assistant", model="interop", content=TextContent(type="text", text=text))


async def roots(context):
    return ListRootsResult(roots=[Root(uri="file:///harbour")])


async def main():
    server = StdioServerParameters(command=target, args=arguments) if arguments else target
    answers = {"elicitation_callback": elicit, "sampling_callback": sample, "list_roots_callback": roots}
    async with Client(server, mode="legacy" if era == "legacy" else VERSIONS[era], **answers) as client:

        async def text_of(tool, **args):
            return (await client.call_tool(tool, args)).content[0].text

        async def version():
            return expect(client.protocol_version, VERSIONS[era])

        async def tools():
            listed = await client.list_tools()
            return expect({"echo", "add", "count"} <= {tool.name for tool in listed.tools}, True)

        async def plain():
            return expect(await text_of("echo", text="ahoy \u2028"), "ahoy \u2028")

        async def large():
            return expect(len(await text_of("echo", text="bowline " * 131072)), 1048576)

        async def parallel():
            texts = [f"call {index}" for index in range(25)]
            return expect(await asyncio.gather(*(text_of("echo", text=text) for text in texts)), texts)

        async def progress():
            key, steps = str(uuid.uuid4()), []

            async def step(done, total, message):
                steps.append(message)
                if done == 3:
                    await client.call_tool("note", {"key": key})

            await client.call_tool("count", {"to": 3, "key": key}, progress_callback=step)
            return expect(steps, ["step 1", "step 2", "step 3"])

        async def structured():
            result = await client.call_tool("add", {"a": 2, "b": 3})
            return expect(result.structured_content, {"sum": 5})

        async def tool_error():
            result = await client.call_tool("fail", {})
            return expect(result.is_error, True)

        async def cancel():
            key = str(uuid.uuid4())
            call = asyncio.create_task(client.call_tool("wait", {"key": key}))
            await text_of("seen", key=key, what="started")
            call.cancel()
            return expect(await text_of("seen", key=key, what="cancelled"), "cancelled")

        async def timeout():
            key = str(uuid.uuid4())
            try:
                await client.call_tool("wait", {"key": key}, read_timeout_seconds=0.3)
            except Exception:
                return expect(await text_of("seen", key=key, what="cancelled"), "cancelled")
            return "the call did not time out"

        async def resource():
            listed = await client.list_resources()
            result = await client.read_resource(listed.resources[0].uri)
            return expect(result.contents[0].text, "hold fast")

        async def prompt():
            result = await client.get_prompt("greet", {"city": "Oslo"})
            return expect(result.messages[0].content.text, "Greet the people of Oslo")

        async def asked():
            return expect(await text_of("ask"), "colour blue")

        async def sampled():
            return expect(await text_of("sample"), "knot? bowline")

        async def rooted():
            return expect(await text_of("roots"), "file:///harbour")

        checks = {"version": version, "list": tools, "plain": plain, "large": large, "parallel": parallel}
        checks |= {"progress": progress, "structured": structured, "tool error": tool_error, "cancel": cancel}
        checks |= {"timeout": timeout, "resource": resource, "prompt": prompt}
        checks |= {"elicit": asked, "sample": sampled, "roots": rooted}
        for name, work in checks.items():
            await check(name, work)


try:
    asyncio.run(main())
except Exception as error:
    outcomes.append({"check": "connect", "problem": f"{type(error).__name__}: {error}", "ms": 0})
print(json.dumps(outcomes))
