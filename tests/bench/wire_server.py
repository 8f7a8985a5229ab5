"""A server of fixed bytes in a process of its own, so that only the client's CPU is counted."""

from __future__ import annotations

import json
import socketserver
import sys
from typing import Any

CHUNKS = 300


def _chunk(delta: dict[str, Any], finish: str | None = None, **rest: Any) -> bytes:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    head = {"id": "4f3c1b2a-90d1-4f0e-8b52-1d7f6f0e9a11", "object": "chat.completion.chunk", "created": 1796000000}
    body = {**head, "model": "deepseek-flash", "system_fingerprint": "fp_8802369eaa", "choices": [choice], **rest}
    return b"data: %b\n\n" % json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode()


USAGE = {"prompt_tokens": 10, "completion_tokens": CHUNKS, "total_tokens": 10 + CHUNKS}


def stream_events() -> list[bytes]:
    """Return the events of one streamed answer."""
    deltas = [_chunk({"content": f" word{n}"}) for n in range(CHUNKS)]
    last = [_chunk({}, "stop", usage=USAGE), b"data: [DONE]\n\n"]
    return [_chunk({"role": "assistant", "content": ""}), *deltas, *last]


def whole_answer() -> bytes:
    """Return the same answer as a plain request gets it."""
    message = {"role": "assistant", "content": "".join(f" word{n}" for n in range(CHUNKS))}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
    head = {"id": "4f3c1b2a-90d1-4f0e-8b52-1d7f6f0e9a11", "object": "chat.completion", "created": 1796000000}
    return json.dumps({**head, "model": "deepseek-flash", "choices": [choice], "usage": USAGE}).encode()


class _Handler(socketserver.StreamRequestHandler):
    disable_nagle_algorithm = True
    stream = (
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n",
        [b"%x\r\n%b\r\n" % (len(event), event) for event in stream_events()],
    )
    whole = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b" % (
        len(whole_answer()),
        whole_answer(),
    )

    def handle(self) -> None:
        while line := self.rfile.readline():
            length = 0
            while line.strip():
                name, _, value = line.partition(b":")
                length = int(value) if name.lower() == b"content-length" else length
                line = self.rfile.readline()
            self._answer(self.rfile.read(length))

    def _answer(self, body: bytes) -> None:
        if b'"stream":true' not in body.replace(b" ", b""):
            self.wfile.write(self.whole)
            return
        head, events = self.stream
        self.wfile.write(head + b"".join(events) + b"0\r\n\r\n")


class _Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True


if __name__ == "__main__":
    with _Server(("127.0.0.1", 0), _Handler) as server:
        sys.stdout.write(f"{server.server_address[1]}\n")
        sys.stdout.flush()
        server.serve_forever()
