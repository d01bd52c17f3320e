"""Carries out the commands of interop/src/clients/process.ts with a client of one of the Python SDKs."""

import asyncio
import json
import sys
from abc import ABC, abstractmethod

from mcp.client.subscriptions import listen
from mcp.types import LOG_LEVEL_META_KEY, ElicitResult, ResourceUpdatedNotification, ToolListChangedNotification

MODES = {"legacy": "legacy", "modern": "2026-07-28", "auto": "auto"}


def write(line):
    print(json.dumps(line), flush=True)


class Driver(ABC):
    """Runs commands beside each other. Each has one answer."""

    def __init__(self, era, target, *arguments):
        self.mode = MODES[era]
        self.target = target
        self.arguments = arguments
        self.answer = ElicitResult(action="decline")
        self.commands = {}
        self.subscribed = asyncio.Event()

    @abstractmethod
    def connect(self):
        """Returns the client, an asynchronous context manager."""

    @abstractmethod
    async def run(self, client, method, params, timeout, on_progress):
        """Carries out a method of MCP."""

    async def main(self):
        async with self.connect() as client:
            write({"version": client.protocol_version, "server": client.server_info and client.server_info.name})
            closing = await self.take_commands(client)
        await asyncio.gather(*self.commands.values())
        write({"id": closing, "value": None})
        await asyncio.to_thread(sys.stdin.read)

    async def take_commands(self, client):
        while line := await asyncio.to_thread(sys.stdin.readline):
            command = json.loads(line)
            if command["method"] == "close":
                return command["id"]
            if command["method"] == "cancel":
                self.commands[command["id"]].cancel()
            else:
                self.commands[command["id"]] = asyncio.create_task(self.reply(client, command))

    async def reply(self, client, command):
        try:
            value = await self.carry_out(client, command)
            write({"id": command["id"], "value": value and value.model_dump(mode="json", by_alias=True, exclude_none=True)})
        except (Exception, asyncio.CancelledError) as error:
            problem = {"message": f"{type(error).__name__}: {error}", "code": getattr(error, "code", None)}
            write({"id": command["id"], "error": problem})

    async def carry_out(self, client, command):
        params, timeout = command["params"], command.get("timeoutMs")
        is_modern = client.protocol_version >= "2026"
        match command["method"]:
            case "answer":
                self.answer = ElicitResult.model_validate(params)
            case "log":
                if is_modern:
                    params["_meta"] = {LOG_LEVEL_META_KEY: "info"}
                else:
                    await client.set_logging_level("info")
                return await self.run(client, "tools/call", params, None, None)
            case "watch":
                if is_modern:
                    self.subscribed.clear()
                    self.watching = asyncio.create_task(self.tell_changes(client, params.get("uri")))
                    await self.subscribed.wait()
                elif "uri" in params:
                    await client.subscribe_resource(params["uri"])
            case "unwatch":
                if is_modern:
                    self.watching.cancel()
                elif "uri" in params:
                    await client.unsubscribe_resource(params["uri"])
            case method:

                async def on_progress(progress, total, message):
                    report = {"progress": progress, "total": total, "message": message}
                    write({"id": command["id"], "progress": report})

                seconds = timeout and timeout / 1000
                return await self.run(client, method, params, seconds, on_progress if command["progress"] else None)

    async def tell_changes(self, client, uri):
        wanted = {"tools_list_changed": True} if uri is None else {"resource_subscriptions": [uri]}
        async with listen(client.session, **wanted) as events:
            self.subscribed.set()
            async for _ in events:
                write({"changed": uri or "tools"})

    async def on_message(self, message):
        if isinstance(message, ToolListChangedNotification):
            write({"changed": "tools"})
        if isinstance(message, ResourceUpdatedNotification):
            write({"changed": str(message.params.uri)})

    async def on_log(self, params):
        write({"log": params.data})
