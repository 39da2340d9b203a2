"""What notebooks show: tables and heat maps in plain HTML, without scripts."""

from __future__ import annotations

import html
from typing import Any, Dict, List, Sequence

import numpy as np

_STYLE = "border-collapse:collapse;font-family:monospace;font-size:90%"
_CELL = "padding:1px 8px;text-align:left;border-bottom:1px solid #ddd"
_NUMBER = "padding:1px 8px;text-align:right;border-bottom:1px solid #ddd"
# Of a heat map at most so many cells stand in a row or column; larger arrays show every n-th element.
_MOST = 28


def _text(x: Any) -> str:
    if isinstance(x, float):
        return f"{x:.4g}"
    return f"{x:,}" if isinstance(x, int) and not isinstance(x, bool) else html.escape(str(x))


def _table(heads: Sequence[str], rows: Sequence[Sequence[Any]], raw: Sequence[int] = ()) -> str:
    head = "".join(f'<th style="{_CELL}">{html.escape(h)}</th>' for h in heads)
    body = []
    for row in rows:
        cells = []
        for i, x in enumerate(row):
            style = _NUMBER if isinstance(x, (int, float)) else _CELL
            cells.append(f'<td style="{style}">{x if i in raw else _text(x)}</td>')
        body.append("<tr>" + "".join(cells) + "</tr>")
    return f'<table style="{_STYLE}"><tr>{head}</tr>{"".join(body)}</table>'


def heat_map(x: Any) -> str:
    """An array as a grid of colours, blue below 0, red above."""
    values = np.asarray(x, dtype=np.float64)
    if values.size == 0:
        return ""
    flat: Any = values.reshape(-1, values.shape[-1]) if values.ndim > 1 else values.reshape(1, -1)
    if flat.shape[0] == 1 and flat.shape[1] > _MOST:
        side = int(np.sqrt(flat.shape[1]))
        if side * side == flat.shape[1]:
            flat = flat.reshape(side, side)
    steps = [max(1, -(-n // _MOST)) for n in flat.shape]
    flat = flat[:: steps[0], :: steps[1]]
    finite = np.abs(flat[np.isfinite(flat)])
    largest = float(finite.max()) if finite.size and finite.max() > 0 else 1.0
    rows: List[str] = []
    for line in flat:
        cells = []
        for v in line:
            if not np.isfinite(v):
                colour = "#000"
            else:
                light = int(round(255 * (1 - min(1.0, abs(v) / largest))))
                colour = f"#ff{light:02x}{light:02x}" if v > 0 else f"#{light:02x}{light:02x}ff"
            cells.append(f'<td style="width:6px;height:6px;padding:0;background:{colour}"></td>')
        rows.append("<tr>" + "".join(cells) + "</tr>")
    return '<table style="border-collapse:collapse">' + "".join(rows) + "</table>"


def array(x: Any) -> str:
    """The type, a heat map, and of small vectors and matrices the elements."""
    numbers = np.asarray(x)
    head = f'<div style="font-family:monospace">{html.escape(x.type)}</div>'
    floating = np.asarray(numbers, dtype=np.float64)
    small = 1 <= numbers.ndim <= 2 and numbers.size and max(numbers.shape) <= _MOST
    if numbers.ndim == 0:
        return head + f'<div style="font-family:monospace">{_text(numbers.item())}</div>'
    if not small:
        return head + heat_map(floating)
    rows = "".join(
        "<tr>" + "".join(f'<td style="{_NUMBER}">{_text(v)}</td>' for v in row) + "</tr>"
        for row in (numbers if numbers.ndim == 2 else numbers.reshape(1, -1)).tolist()
    )
    return head + f'<table style="{_STYLE}">{rows}</table>'


def params(entries: Any) -> str:
    rows: List[Sequence[Any]] = []
    for name, value in entries.items():
        try:
            x = np.asarray(value, dtype=np.float64)
            rows.append((name, value.type, float(x.mean()), float(x.std()), heat_map(x)))
        except (TypeError, ValueError, AttributeError):
            rows.append((name, getattr(value, "type", type(value).__name__), "", "", ""))
    return _table(("name", "type", "mean", "std", ""), rows, raw=(4,))


def summary(s: Dict[str, Any]) -> str:
    rows = [(r["layer"], r["op"], str(list(r["output"])), r["parameters"], r["multiply_adds"]) for r in s["rows"]]
    total = f"{s['parameters']:,} parameters, {s['multiply_adds']:,} multiply-adds"
    return _table(("layer", "op", "output", "parameters", "multiply-adds"), rows) + f"<p>{total}</p>"


def trace(t: Dict[str, Any]) -> str:
    rows = [
        (r["value"], r["layer"], r["op"], r["type"], r["min"], r["mean"], r["std"], r["max"], r["nans"], heat_map(r["array"]))
        for r in t["rows"]
    ]
    return _table(("value", "layer", "op", "type", "min", "mean", "std", "max", "NaN", ""), rows, raw=(9,))


def run(r: Any) -> str:
    epochs = [
        (e["epoch"], float(e["train"].get("loss", 0)), *(f"{k} {float(v):.4g}" for k, v in e["validation"].items()))
        for e in r.epochs
    ]
    found = [(f["severity"], f["rule"], f["symptom"], f["fix"]) for f in r.findings]
    page = _table(("epoch", "loss", "validation"), epochs)
    return page + (_table(("", "finding", "symptom", "to try"), found) if found else "")
