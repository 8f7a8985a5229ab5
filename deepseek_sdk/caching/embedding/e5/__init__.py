"""multilingual-e5-small: read from the file of a wheel, and turned into a model that onnxruntime runs."""

from __future__ import annotations
