"""The guarded way out, against real servers: its refusals, on the first hop and on later ones."""

import asyncio
import gzip
import tracemalloc
import zlib
from itertools import count

import pytest

from chassis.testing.waiting import eventually
from gateway.egress import (
    EgressClient,
    EgressRefusedError,
    EgressUnavailableError,
    EgressUrl,
    FetchLimits,
    parse,
)
from gateway.egress.addresses import networks
from tests.fixtures.sites import Endpoint, Names, Request, Site, answer, redirect

LIMITS = FetchLimits(seconds=10, max_bytes=1_000_000)
HTML = frozenset({"text/html"})

REFUSED = [
    # What leads into the machine or its surroundings, as numbers.
    "http://127.0.0.1/", "http://127.8.9.10/", "http://0.0.0.0/", "http://10.0.0.1/", "http://172.16.0.1/",
    "http://192.168.1.1/", "http://169.254.169.254/latest/meta-data/", "http://100.100.100.200/",
    "http://168.63.129.16/", "http://192.0.0.192/", "http://224.0.0.1/", "http://255.255.255.255/",
    "http://198.18.0.1/", "http://[::1]/", "http://[::]/", "http://[fe80::1]/", "http://[fd00:ec2::254]/",
    "http://[ff02::1]/", "http://[fec0::1]/", "http://[4000::1]/", "http://[2001:db8::1]/",
    # As an address that stands for another.
    "http://[::ffff:127.0.0.1]/", "http://[::ffff:a9fe:a9fe]/", "http://[::127.0.0.1]/",
    "http://[::ffff:0:127.0.0.1]/", "http://[64:ff9b::7f00:1]/", "http://[64:ff9b:1::a00:1]/",
    "http://[2002:7f00:1::]/", "http://[2001:0:7f00:1::]/", "http://[64:ff9b::8.8.8.8]/",
    # In notations that some programs understand.
    "http://2130706433/", "http://0x7f000001/", "http://017700000001/", "http://127.1/", "http://0177.0.0.1/",
    "http://0x7f.0.0.1/", "http://127.0.0.1./", "http://127.000.000.001/", "http://\uff11\uff12\uff17.\uff10.\uff10.\uff11/",
    "http://①②⑦.0.0.1/", "http://[fe80::1%25eth0]/",
    # By what is no name, port or scheme of the web.
    "http://site.example:22/", "http://site.example:8080/", "https://site.example:80/", "http://site.example:0/",
    "ftp://site.example/", "file:///etc/passwd", "gopher://site.example/", "http://", "//",
    "http://user:word@site.example/", "http://site.example@127.0.0.1/", "http://@site.example/",
    "http://site.example\\@127.0.0.1/", "http://site.example /", "http://site.example/\x00", "http://a..b/",
    "http://-a.example/", "http://%31%32%37.0.0.1/", f"http://site.example/{'a' * 5000}",
]  # fmt: skip


@pytest.mark.extended
@pytest.mark.parametrize("address", REFUSED)
async def test_an_address_that_leads_astray_is_refused_first_and_after_a_redirect(
    egress: EgressClient, names: Names, public: Site, address: str
) -> None:
    names.mean("site.example", public)
    names.mean("start.example", public)
    with pytest.raises(EgressRefusedError):
        await egress.get(parse(address), LIMITS)
    assert public.asked == []
    if not address.isascii() or "\x00" in address:
        return  # a header cannot say it
    if address not in {"http://", "//"}:  # which after a redirect mean the same page again
        public.pages["/"] = redirect(address)
        with pytest.raises(EgressRefusedError):
            await egress.get(parse("http://start.example/"), LIMITS)
        assert public.paths == ["/"]


PRIVATE: list[Endpoint] = [
    ("127.0.0.1", 80), ("10.1.2.3", 80), ("169.254.169.254", 80), ("192.168.0.1", 443), ("100.64.0.1", 80),
    ("::1", 80), ("fd00::1", 80), ("fe80::1%eth0", 80), ("::ffff:10.0.0.1", 80), ("64:ff9b::a00:1", 80),
    ("2002:a00:1::1", 80), ("0.0.0.0", 80), ("nonsense", 80),
]  # fmt: skip


@pytest.mark.extended
@pytest.mark.parametrize("endpoint", PRIVATE)
async def test_a_name_with_one_private_address_is_refused_first_and_after_a_redirect(
    egress: EgressClient, names: Names, public: Site, endpoint: Endpoint
) -> None:
    names.mean("start.example", public)
    names.mean("inside.example", [endpoint])
    names.mean("both.example", [public.endpoint, endpoint])
    for host in ("inside.example", "both.example"):
        for scheme in ("http", "https"):
            with pytest.raises(EgressRefusedError) as refused:
                await egress.get(EgressUrl(scheme, host, "/"), LIMITS)
            assert refused.value.code == "private_address"
            public.pages["/"] = redirect(f"{scheme}://{host}/")
            with pytest.raises(EgressRefusedError):
                await egress.get(parse("http://start.example/"), LIMITS)
    assert set(public.paths) == {"/"}
    assert {request.host for request in public.asked} == {"start.example"}


async def test_a_name_that_comes_to_mean_something_else_is_found_out(
    egress: EgressClient, names: Names, public: Site, private: Site
) -> None:
    """A client that checked first and looked up again to connect would be led inside."""
    names.mean("turncoat.example", public, private)
    public.pages["/"] = answer(b"fine")
    assert (await egress.get(parse("http://turncoat.example/"), LIMITS)).body == b"fine"
    assert names.looked_up == ["turncoat.example:80"]  # once for check and connection together
    with pytest.raises(EgressRefusedError, match="this machine"):
        await egress.get(parse("http://turncoat.example/"), LIMITS)
    names.mean("turncoat.example", public, private)
    public.pages["/"] = redirect("/again")
    with pytest.raises(EgressRefusedError, match="this machine"):
        await egress.get(parse("http://turncoat.example/"), LIMITS)
    assert private.asked == []


async def test_by_default_not_even_the_sites_of_this_test_are_reached(names: Names, public: Site) -> None:
    names.mean("site.example", public)
    async with EgressClient("BrandEngine", resolve=names.resolve) as egress:
        with pytest.raises(EgressRefusedError, match="EGRESS_REACHABLE_NETWORKS"):
            await egress.get(parse("http://site.example/"), LIMITS)
    assert public.asked == []


async def test_redirects_are_followed_five_times(egress: EgressClient, names: Names, public: Site) -> None:
    names.mean("site.example", public)
    names.mean("other.example", public)
    for number in range(6):
        public.pages[f"/{number}"] = redirect(f"/{number + 1}", "301 Moved Permanently")
    public.pages["/2"] = redirect("http://OTHER.example:80/3#part", "308 Permanent Redirect")
    public.pages["/6"] = answer(b"there")
    found = await egress.get(parse("http://site.example/1"), LIMITS)
    assert (str(found.target), found.body) == ("http://other.example/6", b"there")
    with pytest.raises(EgressRefusedError, match="more than 5 times"):
        await egress.get(parse("http://site.example/0"), LIMITS)


async def test_whoever_is_asked_is_checked_with_before_each_hop(
    egress: EgressClient, names: Names, public: Site
) -> None:
    names.mean("site.example", public)
    public.pages["/"] = redirect("/forbidden")
    seen: list[str] = []

    async def before(target: EgressUrl) -> None:
        seen.append(str(target))
        if target.path == "/forbidden":
            raise EgressRefusedError("robots", "not there")

    with pytest.raises(EgressRefusedError, match="not there"):
        await egress.get(parse("http://site.example/"), LIMITS, before=before)
    assert seen == ["http://site.example/", "http://site.example/forbidden"]
    assert public.paths == ["/"]


async def test_it_says_who_it_is_and_nothing_else(egress: EgressClient, names: Names, public: Site) -> None:
    names.mean("site.example", public)
    public.pages["/"] = answer(status="302 Found", location="/next", set_cookie="a=b")
    public.pages["/next"] = answer(b"x")
    await egress.get(parse("http://site.example/"), LIMITS)
    for request in public.asked:
        assert dict(request.headers) == {
            "host": "site.example",
            "user-agent": "BrandEngine",
            "accept-encoding": "gzip",
        }


@pytest.mark.extended
@pytest.mark.parametrize("members", [1, 3])
async def test_a_small_answer_that_unpacks_without_end_is_given_up_early(
    egress: EgressClient, names: Names, public: Site, members: int
) -> None:
    names.mean("site.example", public)
    bomb = gzip.compress(bytes(300_000_000), 9)
    assert len(bomb) < LIMITS.max_bytes
    small = gzip.compress(bytes(300_000))
    public.pages["/"] = answer(small * (members - 1) + bomb, content_encoding="gzip")
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        with pytest.raises(EgressRefusedError, match="larger than 1 MB"):
            await egress.get(parse("http://site.example/"), LIMITS)
        assert tracemalloc.get_traced_memory()[1] - before < 8_000_000
    finally:
        tracemalloc.stop()


async def test_gzip_in_several_members_is_one_body(egress: EgressClient, names: Names, public: Site) -> None:
    names.mean("site.example", public)
    packed = gzip.compress(b"one " * 50_000) + gzip.compress(b"two") + b"\0\0\0"
    public.pages["/"] = answer(packed, content_encoding="gzip")
    found = await egress.get(parse("http://site.example/"), LIMITS)
    assert found.body == b"one " * 50_000 + b"two"


@pytest.mark.parametrize(
    ("page", "error", "code"),
    [
        (answer(b"x" * 1_000_001), EgressRefusedError, "too_large"),
        (answer(b"", content_length="99999999999"), EgressRefusedError, "too_large"),
        (answer(b"x", content_encoding="br"), EgressRefusedError, "encoding"),
        (answer(b"x", content_encoding="gzip, gzip"), EgressRefusedError, "encoding"),
        (answer(b"no gzip", content_encoding="gzip"), EgressRefusedError, "encoding"),
        (answer(zlib.compress(b"x"), content_encoding="gzip"), EgressRefusedError, "encoding"),
        (
            answer(gzip.compress(b"x" * 99)[:-9], content_encoding="gzip"),
            EgressUnavailableError,
            "broken_off",
        ),
        (answer(b"x", media_type="application/octet-stream"), EgressRefusedError, "media_type"),
        (answer(b"x", media_type=""), EgressRefusedError, "media_type"),
        (answer(b"short", content_length="50"), EgressUnavailableError, "broken_off"),
        (b"HTTP/1.1 200 OK\r\nBad Header\r\n\r\n", EgressUnavailableError, "broken_off"),
        (b"220 mail.example ESMTP\r\n", EgressUnavailableError, "broken_off"),
        (b"", EgressUnavailableError, "broken_off"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"a" * 300_000 + b"\r\n\r\n", EgressUnavailableError, "broken_off"),
    ],
)
async def test_what_cannot_be_used_is_told_in_our_words(
    egress: EgressClient, names: Names, public: Site, page: bytes, error: type[Exception], code: str
) -> None:
    names.mean("site.example", public)
    public.pages["/"] = page
    with pytest.raises((EgressRefusedError, EgressUnavailableError)) as raised:
        await egress.get(parse("http://site.example/"), LIMITS, media_types=HTML)
    assert (type(raised.value), raised.value.code) == (error, code)


async def test_a_body_without_end_and_without_a_length_is_given_up(
    egress: EgressClient, names: Names, public: Site
) -> None:
    names.mean("site.example", public)
    sent = 0

    async def flood(_: Request, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n")
        for _ in count():
            writer.write(b"10000\r\n" + b"x" * 65536 + b"\r\n")
            sent += 65536
            await writer.drain()

    public.pages["/"] = flood
    with pytest.raises(EgressRefusedError, match="larger"):
        await egress.get(parse("http://site.example/"), LIMITS)
    assert sent < 30_000_000  # what fits into buffers on the way


async def test_a_trickle_ends_with_the_time_that_all_hops_have(
    egress: EgressClient, names: Names, public: Site
) -> None:
    names.mean("site.example", public)
    gone = asyncio.Event()

    async def trickle(_: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n")
        try:
            while True:
                writer.write(b"x")
                await writer.drain()
                await asyncio.sleep(0.02)
        finally:
            gone.set()

    async def late(_: Request, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(0.3)
        writer.write(redirect("/trickle"))

    public.pages |= {"/": late, "/trickle": trickle}
    began = asyncio.get_running_loop().time()
    with pytest.raises(EgressUnavailableError, match="in time"):
        async with asyncio.timeout(60):  # the trickle has no end
            await egress.get(parse("http://site.example/"), FetchLimits(seconds=0.6, max_bytes=1_000_000))
    assert asyncio.get_running_loop().time() - began > 0.5
    await eventually(gone.is_set)


async def test_who_cannot_be_reached_is_told_apart_from_who_does_not_exist(
    egress: EgressClient, names: Names
) -> None:
    names.mean("away.example", [("127.0.0.2", 1)])
    with pytest.raises(EgressUnavailableError) as passing:
        await egress.get(parse("http://away.example/"), LIMITS)
    assert passing.value.code == "unreachable"
    with pytest.raises(EgressRefusedError, match=r"no host nowhere\.example"):
        await egress.get(parse("http://nowhere.example/"), LIMITS)


async def test_the_next_address_is_tried_where_the_first_does_not_answer(
    egress: EgressClient, names: Names, public: Site
) -> None:
    names.mean("site.example", [("127.0.0.2", 1), public.endpoint])
    public.pages["/"] = answer(b"second")
    assert (await egress.get(parse("http://site.example/"), LIMITS)).body == b"second"


def test_networks_are_let_in_by_their_notation_alone() -> None:
    assert [str(each) for each in networks(" 10.0.0.0/8, fd00::/8,")] == ["10.0.0.0/8", "fd00::/8"]
    with pytest.raises(ValueError, match=r"'10\.0\.0\.1/8' is no network"):
        networks("10.0.0.1/8")


def test_an_address_is_asked_for_in_one_form() -> None:
    written = {
        "HTTP://Example.ORG": "http://example.org/",
        "https://example.org.:443/a b?q=ü#part".replace(" ", "%20"): "https://example.org/a%20b?q=%C3%BC",
        "http://bücher.example/": "http://xn--bcher-kva.example/",
        "http://[2606:4700:0:0::1111]/": "http://[2606:4700::1111]/",
    }
    assert {text: str(parse(text)) for text in written} == written
    base = parse("http://example.org/a/b?c")
    assert str(parse("../d", after=base)) == "http://example.org/d"
    assert str(parse("//other.example/e", after=base)) == "http://other.example/e"
