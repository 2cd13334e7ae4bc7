// @backend both (cluster in long runs)
/** The caller gets the same events however the upstream formats its SSE stream and wherever the bytes are split. */

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { readPayloads, chatRequest } from '../../support/server/account.ts'
import { parseChunks, streamedText } from '../../support/client/responses.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'
import { splitAt, formatEvents } from '../../support/upstream/fault-injection.ts'
import type { SseFormat } from '../../support/upstream/fault-injection.ts'
import { respondWithHugeLine, respondWith } from '../../support/upstream/scripted-responses.ts'

const server = await sharedTestServer({ env: { ANSWER_LIMIT: '20MiB' } })
const upstream = await server.upstream(respondWith('Hello!'))
const usage = { input: 7, output: 3 }
const script = respondWith('Grüße 世界 🌍', usage, { deltas: ['Grüße 世', '界 🌍'], model: 'same' })

const formats: Record<string, SseFormat> = {
  plain: {},
  'without spaces': { hasSpace: false },
  'carriage returns and line feeds': { lineEnding: '\r\n' },
  'carriage returns': { lineEnding: '\r' },
  'comments, ids and retries': {
    linesBefore: [': hi', ':'],
    linesInside: ['id: 9', 'retry: 5', 'event: message'],
  },
}

describe('SSE framing', () => {
  test('Any SSE format of the standard, split at every byte – arrives as the same bytes', async () => {
    const account = await server.account({ balance: '¥1' })
    const streamed = { stream: true, stream_options: { include_usage: true } }
    upstream.always(script)
    await server.model('unsplit', { upstreams: [upstream] })
    const unsplit = await (await account.post(chatRequest('unsplit', streamed))).text()
    assert.equal(
      streamedText(
        unsplit
          .split('\n\n')
          .map((event) => event.replace('data: ', ''))
          .filter(Boolean),
      ),
      'Grüße 世界 🌍',
    )
    const comparisons = Object.entries(formats).map(async ([name, format], index) => {
      const model = `format-${index}`
      upstream.forModel(model, splitAt('every byte', formatEvents(format, script), 0))
      await server.model(model, { upstreams: [upstream] })
      assert.equal(await (await account.post(chatRequest(model, streamed))).text(), unsplit, name)
    })
    await Promise.all(comparisons)
  })

  test('SSE line of 16 MB – passes; a line above the limit ends the stream with an error', async () => {
    const account = await server.account({ balance: '¥100' })
    await server.model('long', { upstreams: [upstream] })
    upstream.next(respondWithHugeLine())
    const payloads = await readPayloads(await account.post(chatRequest('long', { stream: true })))
    assert.equal(streamedText(payloads).length, 16 * 1024 * 1024)
    assert.equal(payloads.at(-1), '[DONE]')

    upstream.next(respondWith('', usage, { deltas: ['Hello', 'x'.repeat(21 * 1024 * 1024)] }))
    const broken = await readPayloads(await account.post(chatRequest('long', { stream: true })))
    assert.equal(streamedText(broken), 'Hello')
    assert.equal(parseChunks(broken).at(-1)?.error?.code, 'upstream_unavailable')
  })
})
