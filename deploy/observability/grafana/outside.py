"""The dashboard of the gateway: requests to the outside, their costs, and their obstacles."""

from panels import WINDOW, Json, dashboard, figure, graph, processes, rate, requests, row, target

_OF_ALL = "max(brand_engine_{}{{{}}})"
"""Every replica reads the same table."""


def _share(period: str) -> str:
    spent = _OF_ALL.format("spend_dollars", f'period="{period}", state="spent"')
    cap = _OF_ALL.format("spend_cap_dollars", f'period="{period}"')
    return f"{spent} / {cap}"


def gateway() -> Json:
    job = 'job="gateway"'
    return dashboard(
        "brand-engine-gateway",
        "Brand Engine: gateway",
        "The only way out: what is asked of the outside, and the processes that ask.",
        [
            figure(
                "Replicas that answer",
                f"sum(up{{{job}}})",
                wanted=1,
                description="They share a database; any number works.",
            ),
            figure(
                "Answers per second",
                f'sum(rate(brand_engine_http_request_seconds_count{{{job}, status="200"}}[{WINDOW}]))',
                unit="reqps",
                description="Requests that got what they asked for.",
            ),
            figure(
                "Spent today",
                _OF_ALL.format("spend_dollars", 'period="day", state="spent"'),
                unit="currencyUSD",
                description="By all brands together, since midnight UTC.",
            ),
            figure(
                "Of today's cap",
                _share("day"),
                unit="percentunit",
                alarming=0.8,
                description="What is spent, of what all brands together may spend in a day. At the cap work waits for tomorrow.",
            ),
            figure(
                "Of this month's cap",
                _share("month"),
                unit="percentunit",
                alarming=0.8,
                description="The same of the month.",
            ),
            figure(
                "Providers closed",
                "count(max by (provider) (brand_engine_provider_closed) == 1) or vector(0)",
                alarming=1,
                description="Nobody asks them for now: they failed five times in a row, or asked for a rest.",
            ),
            row("Money"),
            graph(
                "Spent and set aside",
                target("max by (period, state) (brand_engine_spend_dollars)", "{{period}} {{state}}"),
                target("max by (period) (brand_engine_spend_cap_dollars)", "{{period}} cap"),
                unit="currencyUSD",
                description="By all brands together. What is set aside is the most that calls under way may cost.",
            ),
            graph(
                "Dollars an hour",
                target(
                    f"3600 * sum by (provider) (rate(brand_engine_spent_dollars_total[{WINDOW}]))",
                    "{{provider}}",
                ),
                unit="currencyUSD",
                stacked=True,
                description="By provider, at the rate of the moment. By brand: brandctl spend.",
            ),
            graph(
                "Brands near a cap, or stopped",
                target("max by (period) (brand_engine_brands_near_cap)", "near the cap of the {{period}}"),
                target("max by (of) (brand_engine_spending_stopped)", "stopped: {{of}}"),
                description="Near: four fifths are spent. Which ones: brandctl spend.",
            ),
            graph(
                "Refused before anything was set aside",
                target(rate("calls_refused_total", "problem"), "{{problem}}"),
                unit="ops",
                description="By reason. Whoever asked waits and comes again; budget.too_small alone does not.",
            ),
            row("Calls"),
            graph(
                "Calls that ended",
                target(rate("calls_total", "provider", "outcome"), "{{provider}} {{outcome}}"),
                unit="ops",
                stacked=True,
                description="Searches and models. Presumed: its gateway died, and it counts as spent at its maximum.",
            ),
            graph(
                "Under way, and waiting for their turn",
                target("max by (provider, state) (brand_engine_calls_open)", "{{provider}} {{state}}"),
                description="Of all replicas together. A turn that is more than five seconds away is not waited for here.",
            ),
            graph(
                "Closed",
                target("max by (provider, why) (brand_engine_provider_closed)", "{{provider}} {{why}}"),
                description="1 while nobody asks it: failing, until a request that looks is answered; limited, as it asked.",
            ),
            row("Accounts"),
            graph(
                "How accounts of brands stand",
                target("max by (kind, state) (brand_engine_accounts) > 0", "{{kind}} {{state}}"),
                description="Expiring: within two weeks. Which ones, and why: brandctl accounts list.",
            ),
            row("Pages"),
            graph(
                "Pages that are kept",
                target("max by (state) (brand_engine_pages_kept)", "{{state}}"),
                description="Those that are no longer good are asked for again, and sent only if they have changed.",
            ),
            *requests(job),
            *processes(job),
        ],
    )
