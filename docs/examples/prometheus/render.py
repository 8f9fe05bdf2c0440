#!/usr/bin/python3
"""Draws the Grafana dashboard beside it as an SVG picture, with data from a Prometheus server: for use without Grafana.

render.py http://localhost:9090 [MINUTES [MINUTES-AGO]] >dashboard.svg
"""
import html
import json
import math
import os
import re
import sys
import time
import urllib.parse
import urllib.request

COLUMN, ROW, GAP = 50, 220, 10  # pixels: a grid column, the height of a panel, between panels
COLOURS = ["#3366cc", "#dc3912", "#ff9900", "#109618", "#990099", "#0099c6", "#dd4477", "#66aa00", "#b82e2e", "#316395"]


def query_range(server, expression, start, end, step):
    expression = expression.replace("$queue", ".*").replace("$__rate_interval", f"{max(4 * step, 10)}s")
    parameters = urllib.parse.urlencode({"query": expression, "start": start, "end": end, "step": step})
    with urllib.request.urlopen(f"{server}/api/v1/query_range?{parameters}", timeout=60) as answer:
        return json.load(answer)["data"]["result"]


def legend(template, labels):
    return re.sub(r"{{(\w+)}}", lambda match: labels.get(match[1], ""), template)


def series_of(server, panel, start, end, step):
    """[(name, [(time, value)])]"""
    found = []
    for target in panel["targets"]:
        for result in query_range(server, target["expr"], start, end, step):
            points = [(float(t), float(v)) for t, v in result["values"] if math.isfinite(float(v))]
            if points:
                found.append((legend(target["legendFormat"], result["metric"]), points))
    return found


def stack(series):
    below = {}
    stacked = []
    for name, points in series:
        points = [(t, below.get(t, 0) + v) for t, v in points]
        below.update(points)
        stacked.append((name, points))
    return stacked


def show(value, unit):
    if unit == "s" and value < 1:
        return f"{value * 1000:.3g} ms"
    if unit == "percentunit":
        return f"{value * 100:.3g} %"
    number = f"{value / 1000:.3g} k" if value >= 1000 else f"{value:.3g}"
    return number + {"s": " s", "ops": "/s"}.get(unit, "")


def draw(panel, series, start, end, out):
    grid = panel["gridPos"]
    x, y = grid["x"] * COLUMN + GAP / 2, grid["y"] / 8 * ROW + GAP / 2
    width, height = grid["w"] * COLUMN - GAP, ROW - GAP
    left, top, right, bottom = x + 60, y + 28, x + width - 10, y + height - 40
    defaults = panel["fieldConfig"]["defaults"]
    unit = defaults["unit"]
    if defaults.get("custom", {}).get("stacking", {}).get("mode") == "normal":
        series = stack(series)
    highest = max((v for _, points in series for _, v in points), default=0) or 1
    out.append(f'<rect x="{x}" y="{y}" width="{width}" height="{height}" fill="white" stroke="#ccc"/>')
    out.append(f'<text x="{x + 10}" y="{y + 18}" font-weight="bold">{html.escape(panel["title"])}</text>')
    for part in (0, 0.5, 1):
        at = bottom - part * (bottom - top)
        out.append(f'<path d="M{left} {at}H{right}" stroke="#eee"/>')
        out.append(f'<text x="{left - 5}" y="{at + 4}" text-anchor="end" fill="#666">{show(highest * part, unit)}</text>')
    place = left
    for i, (name, points) in enumerate(series):
        colour = COLOURS[i % len(COLOURS)]
        line = "L".join(f"{left + (t - start) / (end - start) * (right - left):.1f} {bottom - v / highest * (bottom - top):.1f}"
                        for t, v in points)
        out.append(f'<path d="M{line}" fill="none" stroke="{colour}" stroke-width="1.5"/>')
        out.append(f'<rect x="{place}" y="{bottom + 22}" width="10" height="4" fill="{colour}"/>')
        out.append(f'<text x="{place + 14}" y="{bottom + 28}">{html.escape(name)}</text>')
        place += 30 + 6.5 * len(name)
    for part in (0, 0.5, 1):
        label = time.strftime("%H:%M:%S", time.gmtime(start + part * (end - start)))
        anchor = ("start", "middle", "end")[int(part * 2)]
        out.append(f'<text x="{left + part * (right - left)}" y="{bottom + 13}" text-anchor="{anchor}" fill="#666">{label}</text>')


def main(server, minutes="10", ago="0"):
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "grafana.json"), encoding="utf-8") as file:
        panels = json.load(file)["panels"]
    end = time.time() - 60 * float(ago)
    start = end - 60 * float(minutes)
    step = max(1, round((end - start) / 200))
    rows = max(panel["gridPos"]["y"] for panel in panels) / 8 + 1
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{24 * COLUMN}" height="{rows * ROW:.0f}" '
           'font-family="sans-serif" font-size="11">', '<rect width="100%" height="100%" fill="#f4f4f4"/>']
    for panel in panels:
        draw(panel, series_of(server.rstrip("/"), panel, start, end, step), start, end, out)
    out.append("</svg>")
    print("\n".join(out))


main(*sys.argv[1:])
