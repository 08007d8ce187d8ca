"""What a message costs when many are stored and many lanes are open, against what it costs when few are.

`stored_…`: our hop over 1,000 lanes with few and with many messages stored (rows of both services, both streams).
`lanes_…`: one lane; as many lanes as messages are stored, each new (fresh tables); the same lanes once more (warm).
`cost_by_stored` and `cost_by_lanes` are times per message, many ÷ few: 1 is flat. `worker_mb` is our hop's resident
memory after the messages of its run.
"""

from deploy.bench.rates import Rates, Values
from deploy.bench.sizes import LANES, Load, Sizes
from deploy.bench.streams import allow_growth

ONE_LANE = Load(2_000, 500)
FILL_AT_ONCE = 100_000
WARM_UP = 3_000


async def measure(rates: Rates, sizes: Sizes) -> Values:
    """One pass, from few to many."""
    few = await rates.hop(sizes.batched)
    stored_at_first = await rates.watch.stored("OPERATOR_FACTS")
    one_lane = await rates.hop(ONE_LANE, lanes=1)
    await allow_growth(rates.servers, sizes.stored)
    lanes = _affordable(sizes, few["per_second"])
    fresh = await rates.hop(Load(lanes, lanes // 10), lanes=lanes)
    while await rates.watch.stored("OPERATOR_FACTS") < min(sizes.stored, lanes * sizes.stored // FILL_AT_ONCE):
        await rates.hop(Load(lanes, WARM_UP), lanes=lanes)
    warm = await rates.hop(Load(lanes, lanes // 10), lanes=lanes)
    many = await rates.hop(sizes.batched)
    return {
        "stored_few": stored_at_first,
        "stored_few_per_second": few["per_second"],
        "stored_many": await rates.watch.stored("OPERATOR_FACTS"),
        "stored_many_per_second": many["per_second"],
        "cost_by_stored": few["per_second"] / many["per_second"],
        "lanes_1_per_second": one_lane["per_second"],
        "lanes_many": lanes,
        "lanes_many_fresh_per_second": fresh["per_second"],
        "lanes_many_warm_per_second": warm["per_second"],
        "cost_by_lanes": many["per_second"] / warm["per_second"],
        "worker_mb_after_few": few["worker_mb"],
        "worker_mb_after_many": warm["worker_mb"],
    }


def _affordable(sizes: Sizes, per_second: float) -> int:
    """As many as asked for, unless that alone would take longer than a bench may."""
    most = min(sizes.stored, FILL_AT_ONCE)
    affordable = int(per_second * sizes.growth_seconds)
    return most if affordable >= most else max(affordable // LANES * LANES, LANES)
