"""The shop's pages for people. What they buy and cancel goes through the same functions that agents use."""
