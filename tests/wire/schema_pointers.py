"""Follow the pointers of problems, independently of the code that makes them."""

MISSING = object()


def resolve(value, pointer):
    """The value at an RFC 6901 pointer, or MISSING."""
    if pointer == "":
        return value
    assert pointer.startswith("/")
    for part in pointer[1:].split("/"):
        token = part.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict) and token in value:
            value = value[token]
        elif isinstance(value, list) and token.isdecimal() and int(token) < len(value):
            value = value[int(token)]
        else:
            return MISSING
    return value


def resolves(value, pointer):
    return resolve(value, pointer) is not MISSING
