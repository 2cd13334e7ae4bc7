/** How to read and reproduce the results. */

import { reducedExtent, groups } from './plan.ts'
import type { Run } from './measured-run.ts'

export function readingGuide({ workers, seconds, rounds }: Run): string[] {
  const reduced = reducedExtent({ seconds, rounds })
  const workerCount = `${workers} worker${workers === 1 ? '' : 's'}`
  return [
    '## How to read and reproduce these results',
    '',
    `\`npm run bench\` takes about an hour and needs the machine for itself. \`npm run bench -- --only 1kb,stream\` measures some of the groups ${groups.map((group) => `\`${group}\``).join(', ')}. \`--seconds\`, \`--rounds\` and \`--workers\` change the rest, and \`--data-dir\` selects the disk. \`--peers\` names a folder with other gateways; \`bench/peers.ts\` says how to install them. Only a complete run writes this page and \`performance.json\`, the same figures as data. nginx is skipped if it is not installed.`,
    '',
    `In one run, all relays are measured in front of the same upstream on the same machine, over loopback and without TLS. They take turns: after a warm-up, every load is measured on one after the other, then again, and the figures are medians over the rounds, with quartiles in parentheses. A target is met if the worse quartile meets it. Translations, other operations, 256 connections, other gateways and the ledger on its own take fewer and shorter rounds (${reduced.rounds} of ${reduced.seconds} s). Load generator and upstream are separate processes over raw sockets; their processor time does not count. Every response is compared byte by byte.`,
    '',
    '- **nginx, plain proxy** forwards bytes with keep-alive on both sides: roughly the cost of the kernel.',
    '- **baseline relay** (`bench/baseline-relay.ts`): node:http and undici `dispatch`, one key lookup, the body parsed, the model renamed and the body serialised again, the usage parsed and summed in memory; no limits, no ledger, no disk.',
    '- **Sluice** runs as shipped: authentication, limits (set, but never reached), durable exact billing, and the default log level. After each load its ledger must verify, hold nothing and have charged every response to the nano; otherwise the row is invalid.',
    '- **After streams**: the same load once more, after other sizes and streams have run; of the two, the worse counts.',
    '- **The first seconds after a start**: relays that have just started, without a warm-up; each round starts new ones.',
    '- **Other gateways** keep their own defaults: one model, one upstream, no database. Their responses must contain the usage and must end as they should; their bytes are not compared.',
    '',
    '- **CPU µs**: user and system time of the entire process tree and all its threads, per request or streamed chunk.',
    '- **per core**: a million divided by that. **measured**: the throughput that the load generator measured, with everything on one machine.',
    '- **p50, p99**: until the last byte of a non-streaming response, or the first event of a stream.',
    '- **× baseline**: CPU relative to the baseline relay in the same round.',
    '- **Translated**: upstreams with another API format, with the same text and usage. **× passthrough** is CPU relative to the product without translation in the same round.',
    '- **Responses** and **Embeddings** are other operations with the same text and usage: Responses passed through, and translated from an upstream that only has chat completions; one embedding of 1,536 dimensions in base64.',
    '- **added to p50**: relative to calling the upstream directly in the same round. A response is charged durably before its last byte is sent, and its hold is durable before the first byte. The sync of the hold is hidden behind the latency of the upstream, and shows if the upstream has none.',
    '- **chunks per read**: 1.00 if each chunk reached the client individually; more if a relay was late and batched them.',
    '- **Ledger only**: one worker thread holds and settles over the same channel to the authority as a relay’s worker, through the store to the disk, without HTTP and upstreams. p50 and p99 are from requesting the hold until the bill is on disk.',
    '- **Ledger of three nodes**: the same on three processes over one PostgreSQL (with `fsync`), all for one account. Everything runs on this one machine, including the database. A charge is timed from when its cost is known until its bill is on disk. Afterwards the ledger must verify.',
    '- **Verification**: what `sluice verify` does, over a SQLite file of requests that were held and settled one by one: two commits, one entry and one request row each.',
    '- **Overload**: separate instances of the product with more connections than they can serve, next to connections that send one byte every ten seconds, and with streams whose upstream has fallen silent. Figures are medians over the rounds, in alternation.',
    '- *1 KB* and *40 KB* are the sizes of the request body; non-streaming responses have about 1 KB.',
    `- Each relay ran with ${workerCount}: Sluice’s worker threads (in addition to its threads for money and disk), nginx’s worker processes, the baseline relay’s threads.`,
  ]
}
