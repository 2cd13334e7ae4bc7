import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'

import { SseParser } from '../../lib/sse/sse-parser.ts'
import { upstreamError } from '../routing/upstream-error.ts'
import { ModelRenaming, renameModel, renameModelIn, renameModelInError } from './model-renaming.ts'

/** The bytes that a caller of this format gets for a stream. */
function renamed(stream: string, { isMessages = false, name = 'mine' } = {}): string {
  const renaming = new ModelRenaming(name, isMessages ? 'messages' : undefined)
  let text = ''
  new SseParser((event) => {
    const result = renaming.rename(event)
    text += (isMessages ? result.raw : result.dataOnly).toString()
  }).push(Buffer.from(stream))
  return text
}

describe('ModelRenaming', () => {
  test('chunks – only the name changes, wherever it is, in any framing', () => {
    for (const [before, after] of [
      [
        'data: {"id":"1","model":"theirs","choices":[]}\n\n',
        'data: {"id":"1","model":"mine","choices":[]}\n\n',
      ],
      ['data: { "model" : "" , "n": 1.0 }\n\n', 'data: { "model" : "mine" , "n": 1.0 }\n\n'],
      [
        'data: {"x":{"model":"theirs"},"t":"\\"model\\":\\"theirs\\"","model":"theirs"}\n\n',
        'data: {"x":{"model":"theirs"},"t":"\\"model\\":\\"theirs\\"","model":"mine"}\n\n',
      ],
      ['id: 1\r\ndata:{"model":"theirs"}\r\n\r\n', 'data: {"model":"mine"}\n\n'],
      ['data: {"id":"1",\ndata: "model":"theirs"}\n\n', 'data: {"id":"1",\ndata: "model":"mine"}\n\n'],
    ] as const) {
      assert.equal(renamed(before), after)
    }
    const large = `data: {"pad":"${'é'.repeat(5000)}","model":"theirs","z":"ü"}\n\n`
    assert.equal(renamed(large), large.replace('theirs', 'mine'))
  })

  test('chunks without a name – stay as they are', () => {
    for (const data of [
      '{"choices":[]}',
      '{"model":null}',
      '{"model":{"a":1}}',
      '[DONE]',
      '{"model":"x',
      '[]',
    ])
      assert.equal(renamed(`data: ${data}\n\n`), `data: ${data}\n\n`)
  })

  test('Anthropic’s format – only the message of the first event is renamed', () => {
    const start =
      'event: message_start\ndata: {"type":"message_start","message":{"id":"m","model":"theirs"}}\n\n'
    const other =
      'event: content_block_delta\ndata: {"type":"x","model":"theirs","message":{"model":"theirs"}}\n\n'
    const ping = 'event: ping\ndata: {"type":"ping"}\n\n'
    const expected = ping + start.replace('theirs', 'mine') + other
    assert.equal(renamed(ping + start + other, { isMessages: true }), expected)
  })

  test('property – any JSON is the same apart from its name', () => {
    const law = fc.property(
      fc.dictionary(fc.string(), fc.json()),
      fc.string(),
      fc.nat(),
      (others, theirs, seed) => {
        const entries = Object.entries(others).filter(([key]) => key !== 'model')
        entries.splice(seed % (entries.length + 1), 0, ['model', JSON.stringify(theirs)])
        const text = `{${entries.map(([key, value]) => `${JSON.stringify(key)}:${value}`).join(', ')}}`
        const expected = { ...(JSON.parse(text) as object), model: 'a "b"' }
        const bytes = renameModel(Buffer.from(text), 'a "b"')
        assert.deepEqual(JSON.parse(bytes.toString()), expected)
        assert.equal(renamed(`data: ${text}\n\n`, { name: 'a "b"' }), `data: ${bytes.toString()}\n\n`)
        assert.deepEqual(renameModelIn(JSON.parse(text), 'a "b"'), expected)
      },
    )
    fc.assert(law)
  })
})

describe('renameModelInError', () => {
  test('messages – name the caller’s model where the upstream’s is a word of its own', () => {
    const message = (text: string, upstreamModel: string): string =>
      renameModelInError(upstreamError('missing', text), { upstreamModel, returnedModel: 'mine' }).message
    assert.equal(message('The model `gpt-4o` does not exist.', 'gpt-4o'), 'The model `mine` does not exist.')
    assert.equal(
      message('gpt-4o, not gpt-4o-mini or my-gpt-4o.', 'gpt-4o'),
      'mine, not gpt-4o-mini or my-gpt-4o.',
    )
    assert.equal(message('acme/x.1: no.', 'acme/x.1'), 'mine: no.')
    assert.equal(message('The chat is too long.', 'chat'), 'The chat is too long.')
  })
})
