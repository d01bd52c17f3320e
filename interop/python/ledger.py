"""Notes events of calls as files in a folder. Another call, also of another process, waits for them."""

import asyncio
import time
from pathlib import Path


class Ledger:
    def __init__(self, folder):
        self.folder = Path(folder)

    def note(self, key, event):
        (self.folder / f"{key} {event}").touch()

    async def wait(self, key, event):
        end = time.monotonic() + 5
        while not (self.folder / f"{key} {event}").exists():
            if time.monotonic() > end:
                raise TimeoutError(f"not {event} within 5 s")
            await asyncio.sleep(0.01)
        return event
