"""Submits keywords and prints what became of each: python submit.py acme "cold brew" "moka pot"."""

import os
import sys

from client import BrandEngine

brand, *keywords = sys.argv[1:]
with BrandEngine(os.environ["BRAND_ENGINE_URL"], os.environ["BRAND_ENGINE_KEY"]) as engine:
    job = engine.submit(brand, keywords)
    for cycle in job.progress():
        print(f"{cycle['percent']} %", file=sys.stderr)
    for each in job.results().keywords:
        print(each.keyword, each.state, each.url or each.reason or "", sep="\t")
