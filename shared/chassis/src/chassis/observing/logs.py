"""Structured logs: one event per line, with the context of the current message bound once."""

import logging
import logging.config
from typing import Any, Literal

import structlog
from opentelemetry import trace

from chassis import redaction


def _add_trace_ids(
    _logger: Any, _method: str, event: structlog.typing.EventDict
) -> structlog.typing.EventDict:
    if "trace_id" not in event:  # a logger may be bound to a span that does not run any more
        event.update(ids_of(trace.get_current_span()))
    return event


def ids_of(span: trace.Span) -> dict[str, str]:
    """Return the ids that link a log line to its span; empty without tracing."""
    context = span.get_span_context()
    if not context.is_valid:
        return {}
    return {"trace_id": f"{context.trace_id:032x}", "span_id": f"{context.span_id:016x}"}


def redact(_logger: Any, _method: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    """Hide secrets in every log line."""
    for name, value in redaction.anything(event).items():
        event[name] = value
    return event


def configure(service: str, level: str = "info", form: Literal["json", "console"] = "json") -> None:
    """Send all logs, those of libraries included, to standard output in one format."""
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        _add_trace_ids,
        structlog.processors.format_exc_info,
        redact,
    ]
    renderer: structlog.typing.Processor = (
        structlog.processors.JSONRenderer() if form == "json" else structlog.dev.ConsoleRenderer()
    )
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *shared,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    structlog.contextvars.bind_contextvars(service=service)
    libraries_level = "DEBUG" if level.upper() == "DEBUG" else "CRITICAL"
    logging.config.dictConfig(
        {
            "version": 1,
            "disable_existing_loggers": False,
            "formatters": {
                "structured": {
                    "()": structlog.stdlib.ProcessorFormatter,
                    "foreign_pre_chain": shared,
                    "processors": [structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
                }
            },
            "handlers": {
                "out": {
                    "class": "logging.StreamHandler",
                    "stream": "ext://sys.stdout",
                    "formatter": "structured",
                }
            },
            "root": {"handlers": ["out"], "level": level.upper()},
            "loggers": {
                # They log every connection attempt and every lost channel, hundreds in an outage; the service logs
                # the outage and each lost consumer once.
                "aio_pika": {"level": libraries_level},
                "aiormq": {"level": libraries_level},
                "httpx": {"level": "WARNING"},
                # It warns about each retry; the final failure is one error.
                "opentelemetry.exporter": {"level": "ERROR"},
                "uvicorn.access": {"level": "WARNING"},
            },
        }
    )
