"""The skills of FastMCP: fastmcp_skills_server.py stdio|http <folder>."""

import logging
import os
import sys
import warnings

logging.disable()
warnings.simplefilter("ignore")

import hosting
from fastmcp import FastMCP
from fastmcp.server.providers.skills import SkillsDirectoryProvider
from fastmcp.skills.extension import SkillsExtension
from ledger import Ledger

mode, folder = sys.argv[1], sys.argv[2]
Ledger(folder).note("process", os.getpid())
server = FastMCP("interop-skills", list_page_size=2)
provider = SkillsDirectoryProvider(roots=f"{folder}/skills", reload=True, experimental_skills=True)
server.add_provider(provider)
server.add_extension(SkillsExtension(providers=[provider]))

if mode == "stdio":
    server.run(show_banner=False)
else:
    hosting.serve(server.http_app())
