"""What is said of many numbers by a few: means, spreads, places in the order, and how two rows go together."""

import math
import statistics
from collections.abc import Callable, Sequence
from functools import partial
from itertools import accumulate
from typing import Final

from astra_mcp.types import JsonObject, JsonValue
from servers.emulated.offline.computing.computation import (
    Computation,
    computation,
    integer,
    number,
    numbers,
    option,
)
from servers.emulated.offline.computing.operands import UnfitError

__all__ = ["COMPUTATIONS", "percentile"]

Number = int | float
Numbers = list[Number]


def _some(numbers: Sequence[Number], least: int = 1) -> None:
    if len(numbers) < least:
        raise UnfitError(
            "The list of numbers is empty" if least == 1 else f"At least {least} numbers are needed"
        )


def _of_some(function: Callable[[Numbers], Number], numbers: Numbers) -> Number:
    _some(numbers)
    return function(numbers)


def mode(numbers: Numbers) -> JsonValue:
    """The number that is there most often; all of them where there are several."""
    _some(numbers)
    modes = statistics.multimode(numbers)
    return modes[0] if len(modes) == 1 else [*modes]


def _spread(
    sample: Callable[[Numbers], float],
    population: Callable[[Numbers], float],
    numbers: Numbers,
    kind: object,
) -> JsonObject:
    """Of a sample unless the whole population is spoken of; the answer says which."""
    is_whole = kind in ("population", "pop", True, "true", 0, "0")
    _some(numbers, 1 if is_whole else 2)
    result = population(numbers) if is_whole else sample(numbers)
    return {"result": float(result), "type": "population" if is_whole else "sample"}


def percentile(numbers: Numbers, percent: Number) -> float:
    """By linear interpolation between the two closest ranks."""
    _some(numbers)
    if not 0 <= percent <= 100:
        raise UnfitError("The percentile must be between 0 and 100")
    rows = sorted(numbers)
    at = (len(rows) - 1) * percent / 100
    low = math.floor(at)
    high = min(low + 1, len(rows) - 1)
    return rows[low] + (rows[high] - rows[low]) * (at - low)


def quartiles(numbers: Numbers) -> JsonObject:
    """The three quartiles and what lies between the outer ones."""
    first, second, third = (percentile(numbers, p) for p in (25, 50, 75))
    return {"q1": first, "q2": second, "q3": third, "iqr": third - first}


def summary(numbers: Numbers) -> JsonObject:
    """The usual figures of many numbers."""
    _some(numbers)
    told: JsonObject = {
        "count": len(numbers),
        "sum": sum(numbers),
        "mean": statistics.fmean(numbers),
        "median": statistics.median(numbers),
        "mode": mode(numbers),
        "min": min(numbers),
        "max": max(numbers),
        "range": max(numbers) - min(numbers),
    }
    if len(numbers) > 1:
        told["variance"] = float(statistics.variance(numbers))
        told["standard_deviation"] = float(statistics.stdev(numbers))
    return told


def _paired(x: Numbers, y: Numbers) -> None:
    if len(x) != len(y):
        raise UnfitError(f"The lists have {len(x)} and {len(y)} numbers: they must be equally long")
    _some(x, 2)


def correlation(x: Numbers, y: Numbers) -> float:
    """Pearson's."""
    _paired(x, y)
    if len(set(x)) == 1 or len(set(y)) == 1:
        raise UnfitError("The correlation with a constant is not defined")
    return statistics.correlation(x, y)


def covariance(x: Numbers, y: Numbers) -> float:
    """Of a sample."""
    _paired(x, y)
    return statistics.covariance(x, y)


def regression(x: Numbers, y: Numbers) -> JsonObject:
    """The line of least squares, and how much of the spread it explains."""
    _paired(x, y)
    if len(set(x)) == 1:
        raise UnfitError("A line through points of one x is not defined")
    slope, intercept = statistics.linear_regression(x, y)
    told: JsonObject = {"slope": slope, "intercept": intercept}
    if len(set(y)) > 1:
        told["r_squared"] = statistics.correlation(x, y) ** 2
    return told


def weighted_mean(numbers: Numbers, weights: Numbers) -> float:
    """The mean in which each number counts by its weight."""
    _paired([*numbers, 0], [*weights, 0])
    return math.fsum(n * w for n, w in zip(numbers, weights, strict=True)) / math.fsum(weights)


def moving_average(numbers: Numbers, window: int) -> JsonValue:
    """The means of all windows of a length, from the left."""
    if not 1 <= window <= len(numbers):
        raise UnfitError(f"The window must be between 1 and {len(numbers)}")
    sums = [0.0, *accumulate(map(float, numbers))]
    return [(sums[at + window] - sums[at]) / window for at in range(len(numbers) - window + 1)]


def z_score(number: Number, mean: Number, deviation: Number) -> float:
    """How many standard deviations a value lies above the mean."""
    return (number - mean) / deviation


def _positive_mean(function: Callable[[Numbers], float], numbers: Numbers) -> float:
    _some(numbers)
    if min(numbers) <= 0:
        raise UnfitError("Only positive numbers have this mean")
    return function(numbers)


def _width(numbers: Numbers) -> Number:
    return max(numbers) - min(numbers)


def _running(numbers: Numbers) -> JsonValue:
    return [*accumulate(numbers)]


_MANY: Final = numbers(is_neutral=True)
_KIND: Final = option(
    "kind", "type population is_population sample_type mode ddof", "sample",
    "population=population pstdev=population pvariance=population sample=sample",
)  # fmt: skip
_PAIR: Final = (
    numbers("x", "x_values xs data_x list1 data1 first a x_data series1 array1 values1", takes_many=False, is_neutral=True),
    numbers("y", "y_values ys data_y list2 data2 second b y_data series2 array2 values2", takes_many=False, is_neutral=True),
)  # fmt: skip
COMPUTATIONS: Final[tuple[Computation, ...]] = (
    computation("weighted mean, weighted average", weighted_mean, numbers(takes_many=False), numbers("weights", "weight", takes_many=False)),
    computation("mean, average, avg", partial(_of_some, statistics.fmean), _MANY, beside="arithmetic"),
    computation("median", partial(_of_some, statistics.median), _MANY),
    computation("mode", mode, _MANY),
    computation("min, minimum, smallest, lowest", partial(_of_some, min), _MANY),
    computation("max, maximum, largest, greatest, highest", partial(_of_some, max), _MANY),
    computation("range", partial(_of_some, _width), _MANY),
    computation("variance, var", partial(_spread, statistics.variance, statistics.pvariance), _MANY, _KIND),
    computation("standard deviation, stdev, std, stddev, std dev, pstdev, std deviation",
                partial(_spread, statistics.stdev, statistics.pstdev), _MANY, _KIND),
    computation("percentile", percentile, numbers(takes_many=False), number("percent", "percentile p q n k percentage")),
    computation("quartile", quartiles, _MANY),
    computation("summary, statistic, stat, descriptive statistic, summary statistic, describe", summary, numbers(), beside="descriptive"),
    computation("correlation, pearson, correlation coefficient, pearson correlation", correlation, *_PAIR, beside="coefficient"),
    computation("covariance", covariance, *_PAIR),
    computation("linear regression, regression", regression, *_PAIR, beside="linear fit"),
    computation("moving average, simple moving average", moving_average, numbers(takes_many=False), integer("window", "window_size period n k size")),
    computation("cumulative sum, running total, cumsum", _running, _MANY),
    computation("geometric mean", partial(_positive_mean, statistics.geometric_mean), _MANY),
    computation("harmonic mean", partial(_positive_mean, statistics.harmonic_mean), _MANY),
    computation("z score, zscore, standard score", z_score, number("number", "value x score"), number("mean", "mu average"),
                number("deviation", "standard_deviation std std_dev stdev sigma stddev")),
)  # fmt: skip
