"""A client of FastMCP with its skills: fastmcp_skills_client.py <era> <url> | <era> <command> <argument ...>."""

import asyncio
import sys
import warnings

from driver import Driver
from fastmcp import Client
from fastmcp.client.transports import StdioTransport
from fastmcp.skills import SkillsClientExtension
from fastmcp.utilities.skills import list_skills
from pydantic import BaseModel

warnings.simplefilter("ignore")


class Summaries(BaseModel):
    """Skills as FastMCP finds them in the list of resources."""

    skills: list[dict]


class SkillsDriver(Driver):
    def connect(self):
        target = StdioTransport(self.target, list(self.arguments), keep_alive=False) if self.arguments else self.target
        return Client(target, mode=self.mode, extensions=[SkillsClientExtension()])

    async def run(self, client, method, params, timeout, on_progress):
        match method:
            case "skills/list":
                return await client.list_skills_mcp(cursor=params.get("cursor"))
            case "skills/get":
                return await client.get_skill_mcp(params["uri"])
            case "resources/read":
                return await client.read_resource_mcp(params["uri"])
            case "summaries":
                found = await list_skills(client)
                return Summaries(skills=[{"uri": s.uri, "name": s.name, "description": s.description} for s in found])


asyncio.run(SkillsDriver(*sys.argv[1:]).main())
