import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentweb.wire.aim.addresses import Address, Board, is_authority, parse_address, parse_recipient
from agentweb.wire.http_signature import authority_of

GOOD = [
    "alice@aim.example",
    "alice@localhost",
    "alice@aim.example:8443",
    "alice@127.0.0.1:8000",
    "alice@[2001:db8::1]",
    "alice@[::1]:8000",
    "alice@xn--bcher-kva.example",
    "alice@1.example",
    "k-vmrcw24cizyyqclot64yqdg5uh@aim.example",
    "admin@aim.example",
]
BAD = {
    "no @": "alice",
    "nothing before it": "@aim.example",
    "nothing after it": "alice@",
    "two of them": "alice@b@aim.example",
    "an upper-case name": "Alice@aim.example",
    "an upper-case host": "alice@Aim.example",
    "an upper-case A-label": "alice@XN--bcher-kva.example",
    "a host in Unicode": "alice@bücher.example",
    "a name in Unicode": "alicé@aim.example",
    "a false A-label": "alice@xn--a.example",
    "a reserved label": "alice@ab--c.example",
    "the default port": "alice@aim.example:443",
    "a port with a leading zero": "alice@aim.example:08443",
    "port 0": "alice@aim.example:0",
    "a port that does not exist": "alice@aim.example:65536",
    "an empty port": "alice@aim.example:",
    "an empty label": "alice@aim..example",
    "a dot after the host": "alice@aim.example.",
    "a hyphen after a label": "alice@aim-.example",
    "an underscore": "alice@a_b.example",
    "a scheme": "https://alice@aim.example",
    "a path": "alice@aim.example/",
    "a space": "alice@aim.example ",
    "a line feed after it": "alice@aim.example\n",
    "a NUL": "alice@aim\x00.example",
    "a bare IPv6 address": "alice@::1",
    "no IPv6 address": "alice@[::x]",
    "an unclosed bracket": "alice@[::1",
    "an IPv6 zone": "alice@[fe80::1%eth0]",
    "a long label": f"alice@{'a' * 64}.example",
    "a long address": "alice@" + ".".join(["a" * 60] * 5),
    "no text": None,
    "a list": ["alice@aim.example"],
}


@pytest.mark.parametrize("text", GOOD)
def test_an_address_is_a_name_at_an_authority(text):
    address = parse_address(text)
    assert f"{address.name}@{address.authority}" == str(address) == text
    assert parse_recipient(text) == address


@pytest.mark.parametrize("wrong", BAD)
def test_an_address_in_another_spelling_is_refused_and_never_mapped(wrong):
    with pytest.raises(ValueError):  # noqa: PT011 - several reasons
        parse_address(BAD[wrong])
    with pytest.raises(ValueError):  # noqa: PT011
        parse_recipient(BAD[wrong])


def test_an_address_has_at_most_255_bytes():
    host = ".".join(["a" * 60] * 4)
    longest = "b" * 11 + "@" + host
    assert len(longest) == 255
    assert parse_address(longest) == Address("b" * 11, host)
    with pytest.raises(ValueError, match="255 bytes"):
        parse_address("b" + longest)


@pytest.mark.parametrize("identifier", ["abc", "c-0000000000000000000000000a", "0-a", "a" * 64])
def test_a_board_is_named_by_the_id_of_its_community(identifier):
    assert parse_recipient(f"board:{identifier}") == Board(identifier)
    assert str(Board(identifier)) == f"board:{identifier}"


@pytest.mark.parametrize(
    "text",
    [
        "board:",
        "board:ab",
        "board:" + "a" * 65,
        "board:-abc",
        "board:Abc",
        "board:a_b",
        "board:abc\n",
        "BOARD:abc",
    ],
)
def test_other_spellings_of_a_board_are_refused(text):
    with pytest.raises(ValueError):  # noqa: PT011
        parse_recipient(text)


@pytest.mark.parametrize(
    "origin",
    [
        "https://aim.example",
        "https://aim.example:8443",
        "http://127.0.0.1:8000",
        "http://localhost",
        "https://[::1]:8000",
    ],
)
def test_the_authority_of_every_origin_can_stand_in_an_address(origin):
    assert is_authority(authority_of(origin))


@given(st.text(alphabet="abz019-_.@:[]AZ \n\x00é", max_size=40))
def test_whatever_is_accepted_is_written_back_alike_and_is_plain(text):
    try:
        recipient = parse_recipient(text)
    except ValueError:
        return
    assert str(recipient) == text
    assert text.isascii()
    assert text == text.lower()
    assert not set(text) & set(' \n\x00"\\')
