"""The floor of what is found by its terms: an inverted index in the site's own database, the same on every kind of it.

A room that finds things has its own tables of postings (what has which term, with which impact) and of counts (how many
have a term). Here is what they do alike: what terms are called, how rows are written, which terms of a query choose,
and how far somebody has read.
"""
