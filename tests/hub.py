"""A stand-in for the Hugging Face hub: a server on this machine that takes a model as the hub does.

It speaks the part of the hub's protocol that creating a repository and committing files to it need, so that
huggingface_hub itself makes the requests. It asks for all files inside the commit, as the hub does for small ones.
"""

from __future__ import annotations

import base64
import json
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

TOKEN, OWNER = "hf_of_the_tests", "me"


@dataclass
class Hub:
    """What the hub holds: for each repository whether it is private, and its files."""

    private: dict[str, bool] = field(default_factory=dict)
    files: dict[str, dict[str, bytes]] = field(default_factory=dict)
    commits: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    address: str = ""


@contextmanager
def running():
    """A hub that answers until the end of the `with`."""
    hub = Hub()

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *parts):
            pass

        def reply(self, status: int, content: object, **headers: str):
            body = json.dumps(content).encode()
            self.send_response(status)
            for name, value in {
                "Content-Type": "application/json",
                "Content-Length": str(len(body)),
                **headers,
            }.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def body(self) -> bytes:
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))

        def refused(self) -> bool:
            hub.asked.append(f"{self.command} {self.path}")
            if self.headers.get("Authorization") == f"Bearer {TOKEN}":
                return False
            self.body()
            self.reply(401, {"error": "Invalid credentials in Authorization header"})
            return True

        def do_GET(self):
            if self.refused():
                return
            name = self.path.removeprefix("/api/models/").split("?")[0]
            if name not in hub.private:
                return self.reply(404, {"error": "Repository not found"}, **{"X-Error-Code": "RepoNotFound"})
            self.reply(200, {"id": name, "modelId": name, "private": hub.private[name], "tags": [], "siblings": []})

        def do_POST(self):
            if self.refused():
                return
            body = self.body()
            if self.path == "/api/repos/create":
                asked = json.loads(body)
                owner, name = (
                    asked.get("organization") or OWNER,
                    f"{asked.get('organization') or OWNER}/{asked['name']}",
                )
                if owner != OWNER:
                    return self.reply(403, {"error": f"You don't have the rights to create a model under {owner}"})
                if name in hub.private:
                    return self.reply(
                        409, {"error": "You already created this model repo", "url": f"{hub.address}/{name}"}
                    )
                hub.private[name] = bool(asked.get("private")) or asked.get("visibility") == "private"
                hub.files[name] = {}
                return self.reply(200, {"url": f"{hub.address}/{name}", "name": name})
            if self.path == "/api/validate-yaml":
                return self.reply(200, {"errors": [], "warnings": []})
            name, _, action = self.path.removeprefix("/api/models/").partition("/preupload/")
            if action:
                files = [{"path": file["path"], "uploadMode": "regular", "shouldIgnore": False, "oid": None}
                         for file in json.loads(body)["files"]]  # fmt: skip
                return self.reply(200, {"files": files})
            name, _, action = self.path.removeprefix("/api/models/").partition("/commit/")
            for line in map(json.loads, body.decode().splitlines()):
                value = line["value"]
                if line["key"] == "header":
                    hub.commits.append(value["summary"])
                else:
                    hub.files[name][value["path"]] = base64.b64decode(value["content"])
            self.reply(200, {"commitUrl": f"{hub.address}/{name}/commit/1", "commitOid": "1" * 40, "hookOutput": ""})

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    hub.address = f"http://127.0.0.1:{server.server_port}"
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
