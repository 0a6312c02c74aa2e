"""Sums over records at each state of a batch, in chunks that fit a processor's cache."""

import numpy as np

from geodp.models.blocks import FOOTPOINT

# Numbers one array of a chunk may hold: a few such arrays fit a processor's cache.
CHUNK = 1 << 16


def sum_over_records(manifold, parameters, data_shape, part, arrays=(), size=1, merge=None):
    """Sums over records at each state (*data_sets, *chains) of a batch of parameters, by block.

    ``part`` sums over a chunk of records at a chunk of chains: from parameters (*data_sets,
    some_chains, *point_shape), the index of the records and ``arrays`` to a list of arrays whose
    first axes are (*data_sets, some_chains).  The shape of data is (*data_sets, n); ``arrays``
    broadcast to (*data_sets, *chains).  The largest array of ``part`` holds ``size`` numbers for
    one record.  ``merge`` has, by index of a result, what takes the place of a sum, such as
    ``np.maximum`` of numbers that are not negative.
    """
    data_ndim = len(data_shape) - 1
    number = data_shape[-1]
    batch = manifold.batch_shape(parameters[FOOTPOINT])
    flat = (*batch[:data_ndim], int(np.prod(batch[data_ndim:], dtype=int)))
    states = {
        block: value.reshape(flat + manifold.point_shape) for block, value in parameters.items()
    }
    arrays = [np.broadcast_to(array, batch).reshape(flat) for array in arrays]
    before = (slice(None),) * data_ndim
    data_sets = int(np.prod(flat[:-1], dtype=int)) * size
    record_step = min(number, max(1, CHUNK // data_sets))
    chain_step = max(1, CHUNK // (record_step * data_sets))
    if flat[-1] <= chain_step and number <= record_step:
        sums = part(states, (*before, slice(0, number)), *arrays)
        return [total.reshape((*batch, *total.shape[data_ndim + 1 :])) for total in sums]
    totals: list = []
    for chain in range(0, max(1, flat[-1]), chain_step):
        chains = (*before, slice(chain, chain + chain_step))
        some = {block: value[chains] for block, value in states.items()}
        for record in range(0, number, record_step):
            records = slice(record, record + record_step)
            sums = part(some, (*before, records), *(array[chains] for array in arrays))
            if not totals:
                totals = [
                    np.zeros((*flat, *found.shape[data_ndim + 1 :]), dtype=found.dtype)
                    for found in sums
                ]
            for index, (total, found) in enumerate(zip(totals, sums, strict=True)):
                add = (merge or {}).get(index, np.add)
                total[chains] = add(total[chains], found)
    return [total.reshape((*batch, *total.shape[data_ndim + 1 :])) for total in totals]
