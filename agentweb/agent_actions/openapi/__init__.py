"""OpenAPI in both directions (AGENT_ACTIONS section 12): the manifest of an API that has a document, and a document of
what a site publishes to agents. Everything is a function of the documents alone, so the same ones give the same bytes.
"""
