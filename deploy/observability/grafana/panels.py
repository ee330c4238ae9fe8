"""Parts of dashboards: figures, graphs, rows, expressions, and shared panels."""

from collections.abc import Sequence
from typing import Any

Json = dict[str, Any]

WINDOW = "$__rate_interval"
WIDTH = 24
DATASOURCE = {"type": "prometheus", "uid": "prometheus"}


# -- parts of a dashboard ----------------------------------------------------------------------------------------------


def target(expression: str, legend: str) -> Json:
    return {"datasource": DATASOURCE, "expr": expression, "legendFormat": legend}


def graph(
    title: str,
    *targets: Json,
    description: str,
    unit: str = "short",
    width: int = 12,
    stacked: bool = False,
) -> Json:
    custom = {"fillOpacity": 10, "lineWidth": 1, "showPoints": "never"}
    if stacked:
        custom |= {"stacking": {"mode": "normal"}, "fillOpacity": 40}
    return {
        "type": "timeseries",
        "title": title,
        "description": description,
        "datasource": DATASOURCE,
        "targets": list(targets),
        "gridPos": {"w": width, "h": 8},
        "fieldConfig": {"defaults": {"unit": unit, "min": 0, "custom": custom}, "overrides": []},
        "options": {
            "legend": {"displayMode": "list", "placement": "bottom"},
            "tooltip": {"mode": "multi", "sort": "desc"},
        },
    }


def figure(
    title: str,
    expression: str,
    *,
    description: str,
    unit: str = "short",
    alarming: float | None = None,
    wanted: float | None = None,
) -> Json:
    """One number; red from `alarming` upwards, or below `wanted`."""
    steps: list[Json] = [{"color": "green", "value": None}]
    if alarming is not None:
        steps.append({"color": "red", "value": alarming})
    if wanted is not None:
        steps = [{"color": "red", "value": None}, {"color": "green", "value": wanted}]
    return {
        "type": "stat",
        "title": title,
        "description": description,
        "datasource": DATASOURCE,
        "targets": [target(expression, "")],
        "gridPos": {"w": 4, "h": 4},
        "fieldConfig": {
            "defaults": {"unit": unit, "thresholds": {"mode": "absolute", "steps": steps}},
            "overrides": [],
        },
        "options": {
            "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
            "colorMode": "value",
            "graphMode": "area",
        },
    }


def row(title: str) -> Json:
    return {"type": "row", "title": title, "gridPos": {"w": WIDTH, "h": 1}, "panels": [], "collapsed": False}


def dashboard(uid: str, title: str, description: str, panels: Sequence[Json]) -> Json:
    x = y = height = 0
    for number, panel in enumerate(panels, 1):
        position = panel["gridPos"]
        if x + position["w"] > WIDTH:
            x, y, height = 0, y + height, 0
        panel["id"] = number
        panel["gridPos"] = {"x": x, "y": y, **position}
        x, height = x + position["w"], max(height, position["h"])
    return {
        "uid": uid,
        "title": title,
        "description": description,
        "tags": ["brand-engine"],
        "schemaVersion": 39,
        "version": 1,
        "editable": False,
        "graphTooltip": 1,
        "refresh": "15s",
        "time": {"from": "now-1h", "to": "now"},
        "timezone": "browser",
        "templating": {"list": []},
        "annotations": {"list": [firing_alerts()]},
        "links": [
            {
                "type": "dashboards",
                "title": "Brand Engine",
                "tags": ["brand-engine"],
                "asDropdown": True,
                "includeVars": False,
                "keepTime": True,
            }
        ],
        "panels": list(panels),
    }


def firing_alerts() -> Json:
    return {
        "name": "Alerts",
        "enable": True,
        "iconColor": "red",
        "datasource": DATASOURCE,
        "expr": 'ALERTS{alertstate="firing"}',
        "titleFormat": "{{alertname}}",
        "tagKeys": "job,queue",
    }


# -- expressions -------------------------------------------------------------------------------------------------------


def rate(metric: str, *by: str, where: str = "") -> str:
    return f"sum by ({', '.join(by)}) (rate(brand_engine_{metric}{{{where}}}[{WINDOW}]))"


def quantile(share: float, metric: str, *by: str, where: str = "") -> str:
    return f"histogram_quantile({share}, {rate(f'{metric}_bucket', 'le', *by, where=where)})"


def failing(where: str) -> str:
    """The share of attempts that fail; 0 where there are none."""
    again = f"sum(rate(brand_engine_messages_retried_total{{{where}}}[{WINDOW}]))"
    never = f"sum(rate(brand_engine_messages_dead_lettered_total{{{where}}}[{WINDOW}]))"
    done = f"sum(rate(brand_engine_messages_processed_total{{{where}}}[{WINDOW}]))"
    return f"({again} + {never}) / ({again} + {never} + {done} > 0) or vector(0)"


# -- panels that several have -------------------------------------------------------------------------------------------


def requests(job: str) -> Sequence[Json]:
    return (
        row("Requests"),
        graph(
            "Requests",
            target(rate("http_request_seconds_count", "method", "route", where=job), "{{method}} {{route}}"),
            unit="reqps",
            stacked=True,
            description="Over HTTP, by route; none is what has no route, or was refused before one was looked for.",
        ),
        graph(
            "Requests refused or failed",
            target(
                rate("http_request_seconds_count", "route", "status", where=f'{job}, status=~"[45].."'),
                "{{status}} {{route}}",
            ),
            unit="reqps",
            description="4xx: the caller must change something. 5xx: we must, or the database is away.",
        ),
        graph(
            "Wrong keys",
            target(rate("wrong_keys_total", "answer", where=job), "{{answer}}"),
            stacked=True,
            description="refused: looked at; slowed: not, because the address has sent many. Left over from a rotation, or a stranger.",
        ),
        graph(
            "Time of a request (95 %)",
            target(quantile(0.95, "http_request_seconds", "route", where=job), "{{route}}"),
            unit="s",
            description="From its arrival to the last of its answer.",
        ),
        graph(
            "Version",
            target(
                f"count by (version, revision, python) (brand_engine_build_info{{{job}}})",
                "{{version}} {{revision}} on Python {{python}}",
            ),
            stacked=True,
            description="What the replicas run; two lines only while they are being replaced.",
        ),
    )


def processes(job: str) -> Sequence[Json]:
    return (
        row("Processes"),
        graph(
            "Processor",
            target(f"rate(process_cpu_seconds_total{{{job}}}[{WINDOW}])", "{{instance}}"),
            unit="percentunit",
            description="One replica uses one processor at most; at 100 % for long, start another.",
        ),
        graph(
            "Memory",
            target(f"process_resident_memory_bytes{{{job}}}", "{{instance}}"),
            unit="bytes",
            description="Some 70 MB at rest; containers end at 512 MB.",
        ),
    )
