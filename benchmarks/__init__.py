"""Figures side by side with peers, on the same servers under the same load: ``python -m benchmarks --suite actions``.

Nothing here is a test: a figure depends on the machine, so only ratios of one run mean something.
"""
