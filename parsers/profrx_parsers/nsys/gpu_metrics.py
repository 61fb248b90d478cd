"""GPU metrics of a binary report: generic events with packed records."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pyarrow as pa
from google.protobuf.message import DecodeError

from profrx_parsers.nsys.container import Container
from profrx_parsers.nsys.merge import Form
from profrx_parsers.nsys.raw import Strings
from profrx_parsers.problems import ProblemLog

MAX_VALUES = 40_000_000
"""Values kept in the long table; beyond, samples are thinned evenly and a problem row says so."""

_CODES = {(0, 1): "i1", (0, 2): "<i2", (0, 4): "<i4", (0, 8): "<i8", (1, 1): "u1", (1, 2): "<u2", (1, 4): "<u4",
          (1, 8): "<u8", (2, 4): "<f4", (3, 8): "<f8"}  # fmt: skip


def _layouts(box: Container, strings: Strings) -> dict[int, tuple[np.dtype, list[str]]]:
    """Return type id -> (record layout, metric names) from the collection header."""
    found = {}
    for entry in box.header.messages(14):
        number = entry.integer(1)
        names, formats, offsets = [], [], []
        for at, item in enumerate(entry.messages(3)[:4096]):
            code = _CODES.get((item.integer(8) or 0, item.integer(3) or 0))
            if code is None:
                continue
            names.append(strings.name(item.integer(1)) or f"metric {at}")
            formats.append(code)
            offsets.append(item.integer(2) or 0)
        if number is None or not names or max(offsets) > 1 << 16:
            continue
        size = max(o + np.dtype(f).itemsize for o, f in zip(offsets, formats, strict=True))
        fields = [f"m{i}" for i in range(len(names))]
        layout = np.dtype({"names": fields, "formats": formats, "offsets": offsets, "itemsize": size})
        found[number] = (layout, names)
    return found


def read_gpu_metrics(box: Container, strings: Strings, log: ProblemLog) -> pa.Table | None:
    """Return GPU_METRICS (timestamp, typeId, metricId, metricName, value); None without generic events."""
    layouts = _layouts(box, strings)
    expected = box.header.integer(15) or 0
    if not expected:
        return None
    form = Form({(2, 1): "int", (2, 2): "int", (2, 3): "bytes"}, {(1,): "bytes"})
    times: dict[int, list[np.ndarray]] = defaultdict(list)
    records: dict[int, list[bytes]] = defaultdict(list)
    seen = 0
    for message in box.event_blocks():
        try:
            merged = form.parse([message])
        except DecodeError:
            continue
        if not merged.HasField("f2"):
            continue
        part = merged.f2
        if not len(part.f1) == len(part.f2) == len(part.f3):
            log.add("data-loss", "nsys-damaged-metrics", "a block of GPU metrics is damaged and was left out")
            continue
        seen += len(part.f1)
        kinds = np.fromiter(part.f1, np.int64, len(part.f1))
        stamps = np.fromiter(part.f2, np.int64, len(part.f2))
        raw = list(part.f3)
        for kind in np.unique(kinds).tolist():
            if kind not in layouts:
                continue
            size = layouts[kind][0].itemsize
            good = [i for i in np.flatnonzero(kinds == kind).tolist() if len(raw[i]) == size]
            times[kind].append(stamps[good])
            records[kind].append(b"".join([raw[i] for i in good]))
    if seen != expected:
        log.add(
            "data-loss",
            "nsys-metric-count",
            f"the header counts {expected:,} metric samples, {seen:,} were read",
        )
    return _long(layouts, times, records, log)


def _long(
    layouts: dict[int, tuple[np.dtype, list[str]]],
    times: dict[int, list[np.ndarray]],
    records: dict[int, list[bytes]],
    log: ProblemLog,
) -> pa.Table:
    total = sum(sum(map(len, times[kind])) * len(layouts[kind][1]) for kind in times)
    step = -(-total // MAX_VALUES) or 1
    if step > 1:
        log.add("warning", "nsys-metrics-thinned", f"every {step}th of {total:,} GPU metric values was kept")
    parts = []
    for kind in sorted(times):
        layout, names = layouts[kind]
        stamps = np.concatenate(times[kind])[::step]
        rows = np.frombuffer(b"".join(records[kind]), layout)[::step]
        count, width = len(stamps), len(names)
        values = np.stack([rows[f"m{n}"].astype(np.float64) for n in range(width)], axis=1)
        metric = np.tile(np.arange(width, dtype=np.int16), count)
        parts.append(
            pa.table(
                {
                    "timestamp": np.repeat(stamps, width),
                    "typeId": np.full(count * width, kind),
                    "metricId": metric,
                    "metricName": pa.DictionaryArray.from_arrays(pa.array(metric), names),
                    "value": values.reshape(-1),
                }
            )
        )
    return pa.concat_tables(parts).unify_dictionaries() if parts else None
