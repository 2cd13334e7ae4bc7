/** Whatever bytes an upstream writes its events in, and wherever they are cut, the caller gets the same events. */

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { payloadsOf, question } from './support/server/account.ts'
import { chunksOf, wordsOf } from './support/client/responses.ts'
import { shareHouse } from './support/server/test-server.ts'
import { cutAt, writtenAs } from './support/upstream/fault-injection.ts'
import type { Lines } from './support/upstream/fault-injection.ts'
import { hugeLine, saying } from './support/upstream/scripted-responses.ts'

const house = await shareHouse({ env: { ANSWER_LIMIT: '20MiB' } })
const upstream = await house.upstream(saying('Hello!'))
const usage = { input: 7, output: 3 }
const script = saying('Grüße 世界 🌍', usage, { deltas: ['Grüße 世', '界 🌍'], model: 'same' })

const spellings: Record<string, Lines> = {
  plain: {},
  'without spaces': { space: false },
  'carriage returns and line feeds': { ending: '\r\n' },
  'carriage returns': { ending: '\r' },
  'comments, ids and retries': { before: [': hi', ':'], inside: ['id: 9', 'retry: 5', 'event: message'] },
}

test('a stream in any spelling of the standard, cut at every byte, arrives as the same bytes', async () => {
  const account = await house.account({ balance: '¥1' })
  const streamed = { stream: true, stream_options: { include_usage: true } }
  upstream.always(script)
  await house.model('uncut', { upstreams: [upstream] })
  const uncut = await (await account.post(question('uncut', streamed))).text()
  assert.equal(
    wordsOf(
      uncut
        .split('\n\n')
        .map((event) => event.replace('data: ', ''))
        .filter(Boolean),
    ),
    'Grüße 世界 🌍',
  )
  const arrived = Object.entries(spellings).map(async ([name, lines], index) => {
    const model = `spelling-${index}`
    upstream.forModel(model, cutAt('every byte', writtenAs(lines, script), 0))
    await house.model(model, { upstreams: [upstream] })
    assert.equal(await (await account.post(question(model, streamed))).text(), uncut, name)
  })
  await Promise.all(arrived)
})

test('a line of 16 MB passes, and one beyond the limit ends the stream with an error', async () => {
  const account = await house.account({ balance: '¥100' })
  await house.model('long', { upstreams: [upstream] })
  upstream.next(hugeLine())
  const payloads = await payloadsOf(await account.post(question('long', { stream: true })))
  assert.equal(wordsOf(payloads).length, 16 * 1024 * 1024)
  assert.equal(payloads.at(-1), '[DONE]')

  upstream.next(saying('', usage, { deltas: ['Hello', 'x'.repeat(21 * 1024 * 1024)] }))
  const broken = await payloadsOf(await account.post(question('long', { stream: true })))
  assert.equal(wordsOf(broken), 'Hello')
  assert.equal(chunksOf(broken).at(-1)?.error?.code, 'upstream_unavailable')
})
