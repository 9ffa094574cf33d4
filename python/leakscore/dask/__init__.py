"""Tables and scores on a dask cluster, with the bits of one process for any chunks.

An optional room (extra ``dask``): it imports dask only when it is used. Data are dask arrays or
dask frames. The work runs on the workers of a ``distributed.Client``, if there is one, and
otherwise in the threads of this process.

Rows are cut into blocks of 65,536, counted from the first row, whatever the chunks are. Sums over
blocks follow a fixed binary tree over the blocks' numbers. So neither the chunks nor the number of
workers, nor a task that runs twice, changes a bit. Another CPU family or BLAS may.

dask sends pickles, and whoever may send a pickle can run code. Use only a cluster that is yours.
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
