"""The browser bridge (AIP section 6): what a page that is open in somebody's browser shows and does for their agents.

::

    bridge.js  POST /__aim/bridge    its state, the handlers it has, answers          -> open_pages, calls
    bridge.js  GET  /__aim/bridge    an open stream that brings what agents ask       <- source
    manifest                         the state of the page that is open, what it does <- live
    invoke                           a browser action is an Action like any other     -> actions, calls

The page belongs to a person by their Django login, and serves nobody else. What comes from it is data: checked,
limited in size and without secrets.
"""
