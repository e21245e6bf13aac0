"""Metrics as a scraper reads them."""

from prometheus_client.parser import text_string_to_metric_families


def samples_of(text: str | bytes) -> dict[tuple[str, ...], float]:
    """Every sample by its name and its labels' values, sorted by the labels' names."""
    read = text.decode() if isinstance(text, bytes) else text
    return {
        (sample.name, *(value for _, value in sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(read)
        for sample in family.samples
    }
