"""A read-only object store on the loopback interface that speaks as much S3 as listing and reading need.

ListObjectsV2 (prefix, delimiter, max-keys), HEAD and GET with ranges. Signatures are not checked.
Source: the public Amazon S3 API reference.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

_STAMP = "2026-01-01T00:00:00.000Z"
_HTTP_STAMP = "Thu, 01 Jan 2026 00:00:00 GMT"


@contextmanager
def serve(bucket: str, objects: dict[str, bytes]) -> Iterator[str]:
    """Serve `objects` by key; yields ``host:port``."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: object) -> None: ...

        def do_HEAD(self) -> None:
            self._object(body=False)

        def do_GET(self) -> None:
            url = urlsplit(self.path)
            if unquote(url.path).strip("/") == bucket and "list-type" in url.query:
                self._list(parse_qs(url.query))
            else:
                self._object(body=True)

        def _list(self, query: dict[str, list[str]]) -> None:
            prefix = query.get("prefix", [""])[0]
            keys = sorted(k for k in objects if k.startswith(prefix))[
                : int(query.get("max-keys", ["1000"])[0])
            ]
            rows = "".join(
                f"<Contents><Key>{escape(k)}</Key><LastModified>{_STAMP}</LastModified><ETag>&quot;0&quot;</ETag>"
                f"<Size>{len(objects[k])}</Size><StorageClass>STANDARD</StorageClass></Contents>"
                for k in keys
            )
            self._answer(
                200,
                f'<?xml version="1.0"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>{bucket}</Name>'
                f"<Prefix>{escape(prefix)}</Prefix><KeyCount>{len(keys)}</KeyCount><MaxKeys>1000</MaxKeys>"
                f"<IsTruncated>false</IsTruncated>{rows}</ListBucketResult>".encode(),
                {"Content-Type": "application/xml"},
            )

        def _object(self, *, body: bool) -> None:
            key = unquote(urlsplit(self.path).path).removeprefix(f"/{bucket}").lstrip("/")
            data = objects.get(key)
            if data is None:
                self._answer(200 if not key else 404, b"", {}, body=body)
                return
            status, headers = 200, {"ETag": '"0"', "Last-Modified": _HTTP_STAMP, "Accept-Ranges": "bytes"}
            asked = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
            if asked and body:
                first, last = int(asked[1]), min(int(asked[2] or len(data)), len(data) - 1)
                headers["Content-Range"] = f"bytes {first}-{last}/{len(data)}"
                status, data = 206, data[first : last + 1]
            self._answer(status, data, headers, body=body)

        def _answer(self, status: int, data: bytes, headers: dict[str, str], *, body: bool = True) -> None:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            if body:
                self.wfile.write(data)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
