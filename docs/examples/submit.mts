// Submits keywords and prints what became of each: node submit.mjs acme "cold brew" "moka pot".
// `make types` writes the types: dist/typescript/orchestrator.d.ts.
import type { components, paths } from "./orchestrator.js";

type Accepted = paths["/v1/brands/{slug}/research"]["post"]["responses"][202]["content"]["application/json"];
type Cycle = components["schemas"]["CycleView"];
type Keywords = components["schemas"]["KeywordsView"];

const url = process.env.BRAND_ENGINE_URL ?? "http://127.0.0.1:8010";
const headers = { Authorization: `Bearer ${process.env.BRAND_ENGINE_KEY}`, "Content-Type": "application/json" };

async function call<Answer>(path: string, options: RequestInit = {}): Promise<Answer> {
    const answer = await fetch(`${url}${path}`, { ...options, headers: { ...headers, ...options.headers } });
    if (!answer.ok) throw new Error(await answer.text());
    return (await answer.json()) as Answer;
}

const [brand, ...keywords] = process.argv.slice(2);
const accepted = await call<Accepted>(`/v1/brands/${brand}/research`, {
    method: "POST",
    // The same key again begins nothing: so the request can be repeated.
    headers: { "Idempotency-Key": crypto.randomUUID() },
    body: JSON.stringify({ keywords }),
});

let cycle: Cycle;
while (((cycle = await call<Cycle>(`/v1/cycles/${accepted.cycle_id}`)), cycle.state === "running" || cycle.state === "paused")) {
    await new Promise((resolve) => setTimeout(resolve, 1000 * Number(process.env.POLL_SECONDS ?? 5)));
}
const ended = await call<Keywords>(`/v1/cycles/${accepted.cycle_id}/keywords?limit=200`);
for (const each of ended.items) {
    console.log([each.keyword, each.state, each.published_url ?? each.reason ?? ""].join("\t"));
}
