"""
What `doctor` looks at: a file for each group of checks, and what they share.

    finding         what a check found, and what becomes of a check that raises
    machine         Python, packages, extras, the local engine
    packages        the requirements in the metadata, and whether they are met
    settings        settings, the backend and the key
    visit           one visit to the endpoint: facts, no opinions
    network         opinions on these facts: proxy, endpoint, TLS, clock, balance, models
    store           the directory where answers are kept
    semantic        the model that compares questions
"""

from __future__ import annotations
