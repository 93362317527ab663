"""A server of the legacy era with long lists, whose pages arrive when the test wants, and with an app that calls every tool.

`shelves.py FOLDER`: page N of the resources is sent when the folder has a file named N.
"""

import json
import sys
import threading
import time
from pathlib import Path

folder = Path(sys.argv[1])
writing = threading.Lock()
ran = []
PAGES, PER_PAGE = 3, 20

PAGE = """<!doctype html>
<button id="all">Call all</button>
<ol id="log"></ol>
<script>
  const waiting = new Map();
  const send = (message) => parent.postMessage({ jsonrpc: "2.0", ...message }, "*");
  const ask = (method, params) => new Promise((resolve) => {
    const id = waiting.size + 1;
    waiting.set(id, resolve);
    send({ id, method, params });
  });
  addEventListener("message", ({ data }) => { if (data.method === undefined) waiting.get(data.id)?.(data); });
  ask("ui/initialize", { protocolVersion: "2026-01-26" }).then(() => send({ method: "ui/notifications/initialized" }));
  document.getElementById("all").onclick = async () => {
    for (const name of ["free", "model_only", "never_listed", "toString", "change", "late", "free"]) {
      const { result, error } = await ask("tools/call", { name, arguments: {} });
      const line = document.createElement("li");
      line.textContent = `${name}: ${error ? error.message : result.content[0].text}`;
      document.getElementById("log").append(line);
    }
  };
</script>
"""


def write(message):
    with writing:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()


def tool(name, visibility=None, **more):
    ui = {} if visibility is None else {"_meta": {"ui": {"visibility": visibility}}}
    return {"name": name, "inputSchema": {"type": "object", "properties": {}}, **ui, **more}


def tools():
    changed = "change" in ran
    day = {"type": "object", "properties": {"day": {"type": "string", "description": "Written as `YYYY-MM-DD`, <b>always</b>"}}}
    plan = tool("plan", inputSchema=day, description="Shows the plan. Not `a_date` but a day.", _meta={"ui": {"resourceUri": "ui://plan"}})
    return [plan, tool("model_only", ["model"]), tool("change"), tool("free", ["model"] if changed else ["model", "app"]), *([tool("late")] if changed else [])]


def answer(method, params):
    if method == "initialize":
        capabilities = {"tools": {}, "resources": {}, "prompts": {}}
        return {"protocolVersion": "2025-11-25", "capabilities": capabilities, "serverInfo": {"name": "shelves", "version": "1"}}
    if method == "tools/list":
        return {"tools": tools()}
    if method == "tools/call":
        ran.append(params["name"])
        return {"content": [{"type": "text", "text": " ".join(ran)}]}
    if method == "resources/list":
        number = int(params.get("cursor", 1))
        end = time.monotonic() + 60
        while not Path(folder, str(number)).exists() and time.monotonic() < end:
            time.sleep(0.02)
        first = (number - 1) * PER_PAGE
        items = [{"uri": f"shelf://{at:03}", "name": f"shelf {at:03}"} for at in range(first, first + PER_PAGE)]
        return {"resources": items, **({"nextCursor": str(number + 1)} if number < PAGES else {})}
    if method == "resources/templates/list":
        return {"resourceTemplates": [{"uriTemplate": "shelf://{at}", "name": "one shelf"}]}
    if method == "resources/read":
        return {"contents": [{"uri": params["uri"], "mimeType": "text/html;profile=mcp-app", "text": PAGE}]}
    return {"prompts": []}


def serve(message):
    id, method = message["id"], message["method"]
    if method == "server/discover":
        return write({"id": id, "error": {"code": -32601, "message": "Method not found"}})
    return write({"id": id, "result": answer(method, message.get("params", {}))})


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message and "method" in message:
        threading.Thread(target=serve, args=[message], daemon=True).start()
