"""A server that answers `analyze export mlflow` and keeps what it is sent; refuses keys as MLflow does.

usage: mlflow_stub.py PORT_FILE OUTPUT: writes its port to PORT_FILE, and each metric and parameter as a line of JSON to
OUTPUT.
"""
import http.server
import json
import posixpath
import re
import sys

KEY = re.compile(r"[/\w.\- ]*")  # mlflow/utils/validation.py, of servers on any system
OUTPUT = open(sys.argv[2], "w", encoding="utf-8")
RUNS = []


def refusal(key):
    path = posixpath.normpath(key)
    if not KEY.fullmatch(key) or len(key) > 250:
        return f"invalid name {key!r}"
    return f"invalid path {key!r}" if path != key or path == "." or path.startswith(("..", "/")) else None


def log(body):
    for kind in ("metrics", "params"):
        for item in body.get(kind, ()):
            if refusal(item["key"]):
                return 400, {"error_code": "INVALID_PARAMETER_VALUE", "message": refusal(item["key"])}
            print(json.dumps({"kind": kind, "run": body["run_id"], **item}), file=OUTPUT, flush=True)
    return 200, {}


def answer(what, body):
    if what == "experiments/get-by-name":
        return 200, {"experiment": {"experiment_id": "1"}}
    if what == "runs/search":
        return 200, {}
    if what == "runs/create":
        RUNS.append(body["tags"][0]["value"])
        return 200, {"run": {"info": {"run_id": RUNS[-1]}}}
    return log(body) if what == "runs/log-batch" else (200, {})


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        size = int(self.headers.get("Content-Length") or 0)
        what = self.path.split("?")[0].removeprefix("/api/2.0/mlflow/")
        status, result = answer(what, json.loads(self.rfile.read(size) or b"{}"))
        text = json.dumps(result).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_POST = do_GET

    def log_message(self, *_):
        pass


server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
with open(sys.argv[1], "w", encoding="utf-8") as file:
    print(server.server_address[1], file=file)
server.serve_forever()
