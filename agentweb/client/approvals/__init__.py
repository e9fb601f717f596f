"""Asking the person before something is spent, sent or deleted (AGENT_ACTIONS section 10).

``policy`` says what is asked about, ``records`` keeps the questions on the disk, ``allowance`` counts what may be spent
unasked, ``gate`` lets a call through or raises what the person is to be asked.
"""
