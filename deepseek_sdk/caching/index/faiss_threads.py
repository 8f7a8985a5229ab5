"""What faiss needs to be told with every search."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

    import numpy as np
    from numpy.typing import NDArray

__all__ = ["faiss_or_none", "one_thread", "selecting"]


def faiss_or_none() -> ModuleType | None:
    """
    Give the package.

    Returns:
        It, or None where it is not installed, or does not work here.
    """
    try:
        import faiss  # noqa: PLC0415  an extra, and heavy
    except ImportError:
        return None
    return faiss


@contextlib.contextmanager
def one_thread(faiss: ModuleType) -> Iterator[None]:
    """
    Let faiss work in this thread alone: for so little to do, others would take longer to wake up.

    Args:
        faiss: The package.
    """
    before = faiss.omp_get_max_threads()
    # It counts for this thread, which may be the caller's own.
    faiss.omp_set_num_threads(1)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)


def selecting(faiss: ModuleType, alive: NDArray[np.bool_] | None, **options: Any) -> Any:
    """
    Say where to search.

    Args:
        faiss: The package.
        alive: By position, what may be found; None: all.
        options: What else `SearchParametersIVF` takes.

    Returns:
        Parameters of a search.
    """
    import numpy as np  # noqa: PLC0415  an extra

    parameters = faiss.SearchParametersIVF(**options) if options else faiss.SearchParameters()
    if alive is not None:
        bits = np.packbits(alive, bitorder="little")
        selector = faiss.IDSelectorBitmap(len(bits), faiss.swig_ptr(bits))
        parameters.sel = selector
        # Only pointers of them are in there.
        parameters.referenced = (selector, bits)
    return parameters
