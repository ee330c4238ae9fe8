"""The dashboard of the console: requests of people's browsers, and the processes that answer them."""

from panels import WINDOW, Json, dashboard, figure, processes, requests


def console() -> Json:
    job = 'job="console"'
    return dashboard(
        "brand-engine-console",
        "Brand Engine: console",
        "The screens for the people of the brands.",
        [
            figure(
                "Replicas that answer",
                f"sum(up{{{job}}})",
                wanted=1,
                description="They share a database; any number works.",
            ),
            figure(
                "Pages per second",
                f'sum(rate(brand_engine_http_request_seconds_count{{{job}, status="200"}}[{WINDOW}]))',
                unit="reqps",
                description="Requests of browsers that were answered.",
            ),
            *requests(job),
            *processes(job),
        ],
    )
