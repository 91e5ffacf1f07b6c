"""Where the server is, and how to show who we are."""

import os
import ssl
import stat
from typing import Callable, Optional, Union
from urllib.parse import quote, unquote, urlsplit

from .errors import BadRequest

Token = Union[str, Callable[[], str]]

LARGEST_TOKEN_FILE = 64 << 10


class Address:
    def __init__(
        self,
        url: str,
        token: Optional[Token] = None,
        token_file: Optional[str] = None,
        ca_file: Optional[str] = None,
        cert_file: Optional[str] = None,
        key_file: Optional[str] = None,
    ) -> None:
        if "@" in url:  # before any error can quote a password
            raise BadRequest("the URL of a server takes no user and no password; give a token")
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError as error:
            raise BadRequest(f"{url!r} is not the URL of a server: {error}") from None
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise BadRequest(f"{url!r} is not the URL of a server; write http://HOST:PORT or https://HOST")
        if parts.query or parts.fragment:
            raise BadRequest("the URL of a server takes no parameters; give token_file and ca_file to the client")
        tls = parts.scheme == "https"
        if not tls and (ca_file or cert_file or key_file):
            raise BadRequest("ca_file, cert_file and key_file need a URL that begins with https://")
        self.host: str = parts.hostname
        self.port: int = port if port is not None else (443 if tls else 7470)
        self.prefix: str = quote(unquote(parts.path.rstrip("/")), safe="/")
        self.tls: Optional[ssl.SSLContext] = _tls(ca_file, cert_file, key_file) if tls else None
        self._token = _token_source(token, token_file)

    @property
    def name(self) -> str:
        """As in the header field Host."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == (443 if self.tls else 80) else f"{host}:{self.port}"

    def token(self) -> str:
        """Asked before every request, so that it can change."""
        token = self._token()
        if not all(" " < letter < "\x7f" for letter in token):
            raise BadRequest("a token has visible ASCII characters and no spaces")
        return token


def _tls(ca_file: Optional[str], cert_file: Optional[str], key_file: Optional[str]) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=ca_file)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        if cert_file:
            context.load_cert_chain(cert_file, key_file)
    except OSError as error:  # an ssl.SSLError too
        raise BadRequest(f"a certificate or its key cannot be read: {error}") from error
    return context


def _token_source(token: Optional[Token], file: Optional[str]) -> Callable[[], str]:
    if token is not None and file is not None:
        raise BadRequest("give a token or a token_file, not both")
    if callable(token):
        return token
    if token is None and file is None:
        file = os.environ.get("LEASEHOLD_TOKEN_FILE") or None
        token = os.environ.get("LEASEHOLD_TOKEN", "")
    if file is None:
        return lambda: token or ""  # type: ignore[return-value]
    return lambda: _first_line(file)  # type: ignore[arg-type]


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))  # a pipe blocks until somebody writes to it


def _first_line(path: str) -> str:
    try:
        with open(path, "rb", opener=_without_waiting) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise BadRequest(f"the token file is not a regular file: {path}")
            text = file.read(LARGEST_TOKEN_FILE + 1)
        if len(text) > LARGEST_TOKEN_FILE:
            raise BadRequest(f"the token file is larger than {LARGEST_TOKEN_FILE >> 10} KiB: {path}")
        line = text.decode("utf-8").partition("\n")[0].rstrip("\r")
    except (OSError, UnicodeDecodeError) as error:
        raise BadRequest(f"the token file cannot be read: {error}") from error
    if not line:
        raise BadRequest(f"the first line of the token file is empty: {path}")
    return line
