"""An agent at a messenger (AIM 2): who it is, what it sends, what comes.

::

    with Messenger("https://aim.example", KeyStore("agent-keys.json")) as messenger:
        messenger.connect("alice")
        messenger.send("bob@aim.example", {"text": "hello"})
        for event in messenger.events():
            print(event.as_dict())  # done with it once the next one is asked for
"""

from agentweb.client.messenger.messenger import Messenger

__all__ = ["Messenger"]
