/** What tests of official clients prepare and check on the server. */
import assert from 'node:assert/strict'

import { respondWithError } from '../test/support/upstream/scripted-responses.ts'
import type { ScriptedUpstream } from '../test/support/upstream/scripted-upstream.ts'
import type { ClientTestServer } from './test-server.ts'
import { callIds, overloaded, signature } from './upstream-scripts.ts'
import type { Family } from './upstream-scripts.ts'
import { waitUntil } from '../test/support/wait.ts'

/** The time in which an upstream must see that a client has left: a second, on a machine ten times slower. */
const maxDisconnectMs = 10_000

/** Makes an upstream reject its next request. */
export function rejectOnce(
  { upstreams }: ClientTestServer,
  family: Family,
  status: number,
  error: object = overloaded,
): void {
  upstreams[family].next(respondWithError(status, { type: 'error', error }, { 'retry-after': '1' }))
}

/** The body of an upstream's last request. */
export function textSentTo(upstream: ScriptedUpstream): string {
  return upstream.requests.at(-1)?.text ?? ''
}

/** Checks that an upstream got back the ids of its tool calls with their results. */
export function assertCallIdsReturned({ upstreams }: ClientTestServer, family: Family): void {
  const sent = textSentTo(upstreams[family])
  for (const id of callIds[family]) assert.equal(sent.split(JSON.stringify(id)).length, 3, `${id} in ${sent}`)
}

/** Checks that an upstream got the schema of the output in its own format. */
export function assertSchemaSent({ upstreams }: ClientTestServer, family: Family): void {
  const schema = { type: 'object', properties: { city: { type: 'string' }, people: {} } }
  const sent = {
    claude: { output_config: { format: { type: 'json_schema', schema } } },
    other: { response_format: { type: 'json_schema', json_schema: { schema } } },
  }
  assert.partialDeepStrictEqual(upstreams[family].requests.at(-1)?.json, sent[family])
}

/** Checks that an upstream got back its thinking in a tool loop, with the signature if it signs it. */
export function assertThinkingReturned({ requests }: ScriptedUpstream, family: Family): void {
  const thinking = 'Let me see.'
  const sent = {
    claude: {
      thinking: { type: 'enabled' },
      messages: [
        { role: 'user' },
        { role: 'assistant', content: [{ type: 'thinking', thinking, signature }] },
      ],
    },
    other: { messages: [{ role: 'user' }, { role: 'assistant', reasoning_content: thinking }] },
  }
  assert.partialDeepStrictEqual(requests.at(-1)?.json, sent[family])
}

/** Checks that the upstream was closed soon after the client had left. */
export async function assertClosed(
  { upstreams }: ClientTestServer,
  family: Family,
  doneMs: number,
): Promise<void> {
  const { abortedAt } = await upstreams[family].nextDisconnect()
  assert.ok((abortedAt ?? Infinity) - doneMs < maxDisconnectMs)
}

/** Checks that a request for an endless response was charged as one that its caller cancelled. */
export async function assertCutShort({ rich }: ClientTestServer, family: Family): Promise<void> {
  const record = await waitUntil(
    async () =>
      (await rich.requests({ model: `${family}-endless` })).find(({ outcome }) => outcome === 'aborted'),
    'the record of the cancelled request',
  )
  assert.ok(record.completion_tokens < 1000, `${record.completion_tokens} tokens`)
}
