"""Tables and scores that are spread over a dask cluster: the bits of one process, for any chunks.

An optional room (extra ``dask``): it imports dask only when it is used. Data are dask arrays or
dask frames; the work runs wherever dask runs it: on the workers of a ``distributed.Client``, if
there is one, and in the threads of this process otherwise.

Rows are cut into blocks of 65,536, counted from the first row, whatever the chunks are, and what is
summed over blocks is summed along a fixed binary tree over their numbers. So neither the chunks nor
the number of workers, nor a task that runs twice, changes a bit. Another CPU family or BLAS may.

dask sends pickles, and who may send a pickle runs code. Use a cluster of your own only.
"""

from leakscore.dask._audit import audit
from leakscore.dask._moments import fit, fit_columns, leave_one_out, moments
from leakscore.dask._scores import ColumnReference, score
from leakscore.dask.cluster import ClusterError

__all__ = [
    "ClusterError",
    "ColumnReference",
    "audit",
    "fit",
    "fit_columns",
    "leave_one_out",
    "moments",
    "score",
]
