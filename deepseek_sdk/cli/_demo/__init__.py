"""
What `demo` shows: a file for each part, and what they share.

    conversation    the kinds of calls, and the words they carry
    talk            the conversation, call by call
    questions       what is asked of the cache, and its words
    cached          a client with a cache: who answers, how fast, and what that saves
    acts            what happens in the outage, and its words
    outage          two emulators and a rule engine: what goes down, who answers, who returns
    shown           a line for each call of it, and the table of breakers
    rows            the row of a call
"""

from __future__ import annotations
