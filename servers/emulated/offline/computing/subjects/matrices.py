"""Vectors and matrices of bounded size."""

import math
from fractions import Fraction
from typing import Final

from astra_mcp.types import JsonObject, JsonValue
from servers.emulated.offline.computing.computation import (
    Computation,
    computation,
    matrix,
    number,
    numbers,
)
from servers.emulated.offline.computing.operands import UnfitError

__all__ = ["COMPUTATIONS", "determinant", "inverse", "product"]

Number = int | float
Row = list[Number]
Matrix = list[Row]


def _equally_long(a: Row, b: Row) -> None:
    if len(a) != len(b) or not a:
        raise UnfitError(
            f"The vectors have {len(a)} and {len(b)} components: they must be equally long"
        )


def dot(a: Row, b: Row) -> Number:
    """The scalar product."""
    _equally_long(a, b)
    return sum(x * y for x, y in zip(a, b, strict=True))


def cross(a: Row, b: Row) -> JsonValue:
    """The vector that is perpendicular to two of three components."""
    if len(a) != 3 or len(b) != 3:
        raise UnfitError("The cross product is defined for vectors of 3 components")
    return [
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    ]


def norm(vector: Row) -> float:
    """The length of a vector."""
    return math.hypot(*vector)


def unit_vector(vector: Row) -> JsonValue:
    """The vector of length 1 in the same direction."""
    length = norm(vector)
    return [x / length for x in vector]


def distance(a: Row, b: Row) -> float:
    """Between two points of any dimension."""
    _equally_long(a, b)
    return math.dist(a, b)


def cosine_similarity(a: Row, b: Row) -> float:
    """The cosine of the angle between two vectors."""
    return dot(a, b) / (norm(a) * norm(b))


def _square(matrix: Matrix) -> None:
    if len(matrix) != len(matrix[0]):
        raise UnfitError(
            f"A matrix of {len(matrix)} rows and {len(matrix[0])} columns is not square"
        )


def determinant(matrix: Matrix) -> Number:
    """By exact elimination; whole where the matrix is."""
    _square(matrix)
    result, _ = _eliminated(matrix)
    is_whole = all(isinstance(x, int) for row in matrix for x in row)
    return int(result) if is_whole else float(result)


def inverse(matrix: Matrix) -> JsonValue:
    """By exact elimination.

    Raises:
        UnfitError: There is none.
    """
    _square(matrix)
    result, rows = _eliminated(matrix)
    if result == 0:
        raise UnfitError("The matrix is singular and has no inverse")
    return [[float(x) for x in row[len(matrix) :]] for row in rows]


def _eliminated(matrix: Matrix) -> tuple[Fraction, list[list[Fraction]]]:
    """The determinant, and beside the reduced matrix what its steps made of the unit matrix."""
    size = len(matrix)
    rows = [
        [*map(Fraction, row), *(Fraction(at == column) for column in range(size))]
        for at, row in enumerate(matrix)
    ]
    result = Fraction(1)
    for at in range(size):
        chosen = next((r for r in range(at, size) if rows[r][at] != 0), None)
        if chosen is None:
            return Fraction(0), rows
        if chosen != at:
            rows[at], rows[chosen], result = rows[chosen], rows[at], -result
        pivot = rows[at][at]
        result *= pivot
        rows[at] = [x / pivot for x in rows[at]]
        for other in range(size):
            if other != at and rows[other][at] != 0:
                factor = rows[other][at]
                rows[other] = [x - factor * y for x, y in zip(rows[other], rows[at], strict=True)]
    return result, rows


def product(a: Matrix, b: Matrix) -> JsonValue:
    """Rows by columns."""
    if len(a[0]) != len(b):
        raise UnfitError(
            f"Cannot multiply a matrix of {len(a[0])} columns by one of {len(b)} rows: they must be equal"
        )
    columns = [*zip(*b, strict=True)]
    return [[sum(x * y for x, y in zip(row, c, strict=True)) for c in columns] for row in a]


def plus(a: Matrix, b: Matrix) -> JsonValue:
    """Member by member."""
    if (len(a), len(a[0])) != (len(b), len(b[0])):
        raise UnfitError("The matrices must have equally many rows and columns")
    return [[x + y for x, y in zip(r, s, strict=True)] for r, s in zip(a, b, strict=True)]


def transpose(matrix: Matrix) -> JsonValue:
    """Rows as columns."""
    return [[*column] for column in zip(*matrix, strict=True)]


def trace(matrix: Matrix) -> Number:
    """The sum of the diagonal."""
    _square(matrix)
    return sum(matrix[at][at] for at in range(len(matrix)))


def great_circle(lat1: Number, lon1: Number, lat2: Number, lon2: Number) -> JsonObject:
    """Between two places on a sphere of the Earth's mean radius (haversine)."""
    if max(abs(lat1), abs(lat2)) > 90 or max(abs(lon1), abs(lon2)) > 180:
        raise UnfitError("Latitudes lie between -90 and 90, longitudes between -180 and 180")
    first, second = math.radians(lat1), math.radians(lat2)
    across = math.sin(math.radians(lon2 - lon1) / 2) ** 2
    half = math.sin((second - first) / 2) ** 2 + math.cos(first) * math.cos(second) * across
    kilometres = 2 * 6371.0088 * math.asin(min(1.0, math.sqrt(half)))
    return {"distance_km": kilometres, "distance_miles": kilometres / 1.609344}


_A: Final = numbers("a", "vector_a vector1 v1 u vec1 vector1", takes_many=False, is_neutral=True)
_B: Final = numbers("b", "vector_b vector2 v2 v vec2 vector2", takes_many=False, is_neutral=True)
_V: Final = numbers("vector", "v values a components array", takes_many=False)
_MATRICES: Final = (
    matrix("a", "matrix_a matrix1 m1 first left", is_neutral=True),
    matrix("b", "matrix_b matrix2 m2 second right", is_neutral=True),
)
COMPUTATIONS: Final[tuple[Computation, ...]] = (
    computation("dot product, dot, inner product, scalar product, dotproduct", dot, _A, _B, beside="vector"),
    computation("cross product, cross, crossproduct", cross, _A, _B, beside="vector"),
    computation("norm, magnitude, vector magnitude, vector norm, vector length", norm, _V, beside="vector"),
    computation("normalize vector, unit vector, vector normalize", unit_vector, _V),
    computation("euclidean distance, vector distance, point distance", distance, _A, _B),
    computation("cosine similarity", cosine_similarity, _A, _B, beside="vector"),
    computation("determinant, det", determinant, matrix(), beside="matrix"),
    computation("matrix inverse, inverse matrix, invert matrix, inverse, invert", inverse, matrix(), beside="matrix"),
    computation("matrix multiply, multiply matrix, matrix multiplication, matrix product, matmul", product, *_MATRICES),
    computation("matrix add, add matrix, matrix addition, matrix sum", plus, *_MATRICES),
    computation("transpose", transpose, matrix(), beside="matrix"),
    computation("trace", trace, matrix(), beside="matrix"),
    computation("distance, haversine, haversine distance, great circle distance", great_circle,
                number("lat1", "latitude1 start_lat from_lat origin_lat lat_1"),
                number("lon1", "longitude1 lng1 start_lon start_lng from_lon from_lng origin_lon lon_1"),
                number("lat2", "latitude2 end_lat to_lat destination_lat lat_2"),
                number("lon2", "longitude2 lng2 end_lon end_lng to_lon to_lng destination_lon lon_2"),
                beside="between coordinate point great circle haversine geographic"),
)  # fmt: skip
