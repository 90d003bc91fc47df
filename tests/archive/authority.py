"""An authority that stamps by RFC 3161, on this machine: openssl behind a web server."""

import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


_CONFIGURATION = """\
[req]
distinguished_name = name
prompt = no
[name]
CN = Time of the tests
[root]
basicConstraints = critical,CA:TRUE
keyUsage = critical,keyCertSign
subjectKeyIdentifier = hash
[stamping]
basicConstraints = critical,CA:FALSE
keyUsage = critical,digitalSignature
extendedKeyUsage = critical,timeStamping
subjectKeyIdentifier = hash
authorityKeyIdentifier = keyid
[tsa]
default_tsa = authority
[authority]
serial = {place}/serial
crypto_device = builtin
signer_cert = {place}/signer.pem
signer_key = {place}/signer.key
signer_digest = sha256
default_policy = 1.2.3.4.1
digests = sha256
accuracy = secs:1
ess_cert_id_chain = no
ess_cert_id_alg = sha256
"""


@dataclass
class Authority:
    """
    Where it answers, and the certificate it leads to.

    Attributes:
        answer: Sent instead of a time stamp, once set.
        speaks: Sent instead of an answer of HTTP, once set.
    """

    url: str
    root: Path
    answer: bytes | None = None
    speaks: bytes | None = None
    asked: list[bytes] = field(default_factory=list)


@contextmanager
def authority(place: Path, *, days: int = 2) -> Iterator[Authority]:
    """Give an authority with keys and certificates made in *place*, valid for some days."""
    place.mkdir()
    (place / "openssl.cnf").write_text(_CONFIGURATION.format(place=place), "utf-8")
    (place / "serial").write_text("01\n", "utf-8")
    new_key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
    root = (*new_key, "-x509", "-days", str(days), "-extensions", "root")
    _openssl(place, "req", *root, "-keyout", "root.key", "-out", "root.pem")
    _openssl(place, "req", *new_key, "-keyout", "signer.key", "-out", "signer.csr")
    signing = (
        "-CA",
        "root.pem",
        "-CAkey",
        "root.key",
        "-days",
        str(days),
        "-CAcreateserial",
    )
    extensions = ("-extfile", "openssl.cnf", "-extensions", "stamping")
    asked = ("-req", "-in", "signer.csr", "-out", "signer.pem")
    _openssl(place, "x509", *asked, *signing, *extensions)
    with ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as server:
        found = Authority(f"http://127.0.0.1:{server.server_port}/tsr", place / "root.pem")
        server.RequestHandlerClass = _handler(place, found)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield found
        server.shutdown()


def _handler(place: Path, found: Authority) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            query = self.rfile.read(int(self.headers["Content-Length"]))
            found.asked.append(query)
            if found.speaks is not None:
                self.wfile.write(found.speaks)
                return
            answer = found.answer
            if answer is None:
                (place / "query.tsq").write_bytes(query)
                made = ("-queryfile", "query.tsq", "-out", "answer.tsr")
                _openssl(place, "ts", "-reply", *made)
                answer = (place / "answer.tsr").read_bytes()
            self.send_response(200)
            self.send_header("Content-Type", "application/timestamp-reply")
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    return Handler


def _openssl(place: Path, command: str, *arguments: str) -> None:
    config = [] if command == "x509" else ["-config", "openssl.cnf"]
    subprocess.run(
        ["openssl", command, *arguments, *config],  # noqa: S607 - wherever it is
        cwd=place,
        check=True,
        capture_output=True,
    )
