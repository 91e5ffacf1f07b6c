"""Tokens, TLS, client certificates, and the URL of the server."""

import os
import subprocess
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import support
from support import Server, both_clients

import leasehold
from leasehold.address import Address


class SecuredTest(unittest.TestCase):
    """A server with TLS and a token."""

    make = leasehold.Client

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="leasehold-access.")
        cls.path = Path(cls.folder.name)
        cls.certificate("server")
        cls.certificate("stranger")
        drawn = subprocess.run(
            [cls.command(), "token", "shop", "--roles", "use,see", "--owner", "shop", "--token-file", cls.file("token")],
            check=True, capture_output=True, text=True,
        )
        (cls.path / "tokens.toml").write_text(drawn.stdout)
        os.chmod(cls.path / "tokens.toml", 0o600)
        cls.server = Server(
            {"tokens": cls.file("tokens.toml"), "tls-certificate": cls.file("server.pem"), "tls-key": cls.file("server.key")}
        )

    @classmethod
    def tearDownClass(cls):
        cls.server.close()
        cls.folder.cleanup()

    @classmethod
    def file(cls, name):
        return str(cls.path / name)

    @classmethod
    def command(cls):
        return os.environ.get("LEASEHOLD_COMMAND", str(support.ROOT / "build/release/leasehold"))

    @classmethod
    def certificate(cls, name):
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
            + ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
            + ["-keyout", cls.file(name + ".key"), "-out", cls.file(name + ".pem")],
            check=True, capture_output=True,
        )

    def client(self, url=None, **options):
        options = {"ca_file": self.file("server.pem"), "patience": 0, **options}
        client = self.make(url or self.server.url, **options)
        self.addCleanup(client.close)
        return client


@both_clients
class Secured(SecuredTest):
    def test_a_token_from_a_file_a_text_and_a_function_is_shown(self):
        token = Path(self.file("token")).read_text().strip()
        for given in ({"token_file": self.file("token")}, {"token": token}, {"token": lambda: token}):
            lease = self.client(**given).try_lock("Order/1", owner="shop/alice")
            self.assertEqual(lease.owner, "shop/alice")
        by_name = self.client(self.server.url.replace("127.0.0.1", "localhost"), token=token)
        self.assertEqual(by_name.holders("Order/1").holders[0].owner, "shop/alice")

    def test_a_token_from_the_environment_is_shown(self):
        with mock.patch.dict(os.environ, {"LEASEHOLD_TOKEN_FILE": self.file("token")}):
            self.assertEqual(self.client().try_lock("Order/2", owner="shop").owner, "shop")

    def test_without_a_token_nothing_is_done(self):
        with self.assertRaises(leasehold.Fault) as caught:
            self.client(patience=60).try_lock("Order/3", owner="shop")
        fault = caught.exception
        self.assertEqual((fault.status, fault.effect, fault.cause, fault.may_pass), (401, "none", "not_allowed", False))

    def test_a_token_that_cannot_be_sent_is_a_mistake(self):
        for wrong in ({"token": "a\r\nb"}, {"token_file": self.file("nothing")}, {"token": "토큰"}):
            with self.assertRaises(leasehold.BadRequest):
                self.client(**wrong).holders("Order/1")

    def test_a_certificate_of_somebody_else_is_not_accepted(self):
        for options in ({"ca_file": self.file("stranger.pem")}, {"ca_file": None}):
            with self.assertRaises(leasehold.Fault) as caught:
                self.client(token="secret", **{**options, "patience": 60}).holders("Order/1")
            self.assertEqual((caught.exception.cause, caught.exception.effect), ("configuration", "none"))

    def test_plain_text_to_a_server_with_tls_is_a_fault(self):
        with self.assertRaises(leasehold.Fault):
            self.client(self.server.url.replace("https", "http"), ca_file=None).try_lock("Order/4")

    def test_a_token_file_is_a_regular_file_of_a_modest_size(self):
        os.mkfifo(self.file("pipe"))
        Path(self.file("large")).write_text("lh_" + "x" * (64 << 10))
        for path in ("/dev/zero", self.file("pipe"), self.file(""), self.file("large")):
            with self.assertRaisesRegex(leasehold.BadRequest, "token file"):
                self.client(token_file=path).holders("Order/1")


class Addresses(unittest.TestCase):
    def test_a_url_names_host_port_and_prefix(self):
        for url, expected in {
            "http://locks.example": ("locks.example", 7470, ""),
            "https://locks.example": ("locks.example", 443, ""),
            "http://[::1]:8000/a/b/": ("::1", 8000, "/a/b"),
            "https://locks.example/자물쇠": ("locks.example", 443, "/%EC%9E%90%EB%AC%BC%EC%87%A0"),
        }.items():
            address = Address(url)
            self.assertEqual((address.host, address.port, address.prefix), expected)
        self.assertEqual(Address("http://[::1]:8000").name, "[::1]:8000")
        self.assertEqual(Address("https://locks.example").name, "locks.example")

    def test_what_is_no_url_of_a_server_is_refused_with_a_reason(self):
        for url in ("", "locks.example", "ftp://x", "http://", "http://a:b@x", "http://x?token=1", "http://x:99999"):
            with self.assertRaises(leasehold.BadRequest):
                leasehold.Client(url)
        for wrong in ({"ca_file": "x"}, {"token": "a", "token_file": "b"}):
            with self.assertRaises(leasehold.BadRequest):
                leasehold.Client("http://x", **wrong)
        with self.assertRaisesRegex(leasehold.BadRequest, "cannot be read"):
            leasehold.Client("https://x", ca_file="/nowhere.pem")

    def test_no_error_repeats_the_password_of_a_url(self):
        urls = [
            file.read_text(errors="replace")
            for file in (support.ROOT / "tests/fuzz/seeds/url").iterdir()
        ]
        urls += [
            "http://app:hunter2@[::1", "https://app:hunter2@locks:port", "http://app:hunter2@locks:99999", "app:hunter2@locks",
            "http:app:hunter2@locks", "http://app:hunter2@", "http://app:hun@ter2@locks", "http://app:hun?ter2@locks",
        ]
        for url in urls:
            for scheme in ("", "http:", "https://"):
                if "@" in scheme + url:
                    with self.assertRaises(leasehold.BadRequest) as caught:
                        Address(scheme + url)
                    self.assertEqual(str(caught.exception), "the URL of a server takes no user and no password; give a token")
                    self.assertIsNone(caught.exception.__cause__)
                    self.assertIsNone(caught.exception.__context__)


if __name__ == "__main__":
    unittest.main()
