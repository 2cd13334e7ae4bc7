import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'

import { assembleMessage, parseMessagesEvents } from '../../../test/support/upstream/anthropic-messages.ts'
import { encodeStream, recordingsOf, readStreamPayloads } from '../../providers/contract.fixture.ts'
import { golden, interleaved, providerNamed, relayed, responseContext } from './messages.fixture.ts'
import { MessagesStreamEncoder } from '../../formats/messages-stream.ts'

const openAI = providerNamed('openai-compatible')
const lineEnds = ['\n', '\r\n', '\r']
/** Providers that have neither the caller's nor the OpenAI format. */
const translatedProviders = ['gemini', 'bedrock', 'cohere']

function payloads(text: string): string[] {
  return text.split('\n\n').flatMap((block) => block.split('\ndata: ').slice(1))
}

function framed(lines: readonly string[], lineEnd: string, start = 'data: '): Buffer {
  return Buffer.from(lines.map((line) => `${start}${line}${lineEnd}${lineEnd}`).join(''))
}

/** The events of a message without generated ids. */
function shapeOf(text: string): unknown[] {
  return payloads(text).map((payload): unknown =>
    JSON.parse(payload.replace(/"id":"(?!call|toolu)[^"]*"/, '"id":""')),
  )
}

describe('Anthropic streams', () => {
  test('interleaved tool calls – become blocks one after another, as in the transcript', () => {
    assert.deepEqual(payloads(relayed(openAI, [framed(interleaved, '\n')])), golden)
  })

  for (const name of [openAI.name, ...translatedProviders]) {
    test(`${name} – a stream split at any byte, with any line ending, is the same message`, () => {
      const provider = providerNamed(name)
      const lines = provider === openAI ? interleaved : readStreamPayloads(recordingsOf(provider), 'tools')
      const expected = shapeOf(relayed(provider, [encodeStream(provider, lines)]))
      assert.ok(expected.length > 10)
      for (const lineEnd of provider.translation?.createFraming ? ['\n'] : lineEnds) {
        const bytes = encodeStream(provider, lines, lineEnd)
        for (let at = 1; at < bytes.length; at++) {
          const pieces = [bytes.subarray(0, at), bytes.subarray(at)]
          assert.deepEqual(shapeOf(relayed(provider, pieces)), expected, `cut at ${at}`)
        }
      }
    })
  }

  test('passthrough – keeps all bytes, however split; line endings become line feeds', () => {
    const claude = providerNamed('anthropic')
    const lines = readStreamPayloads(recordingsOf(claude), 'tools').flatMap((line) => [
      line,
      '{"type": "ping"}',
    ])
    const named = (end: string): string =>
      lines
        .map((line) => `event: ${(JSON.parse(line) as { type: string }).type}${end}data: ${line}${end}${end}`)
        .join('')
    const expected = named('\n').replace(/event: ping\ndata: \{"type": "ping"\}\n\n$/, '')
    for (const lineEnd of lineEnds) {
      const bytes = Buffer.from(named(lineEnd))
      for (let at = 0; at < bytes.length; at += lineEnd === '\n' ? 1 : 7) {
        assert.equal(relayed(claude, [bytes.subarray(0, at), bytes.subarray(at)]), expected, `cut at ${at}`)
      }
    }
    // Without an event name, or a space after `data:`, an event is recognized by its payload.
    assert.equal(
      relayed(claude, [framed(lines, '\n', 'data:')]),
      framed(lines, '\n', 'data:').subarray(0, -23).toString(),
    )
  })

  for (const name of translatedProviders) {
    test(`${name} – the message has text, tool calls in order and a stop reason`, () => {
      const provider = providerNamed(name)
      const recording = encodeStream(provider, readStreamPayloads(recordingsOf(provider), 'tools'))
      const message = assembleMessage(parseMessagesEvents(relayed(provider, [recording])))
      const calls = message.content.filter(({ type }) => type === 'tool_use')
      assert.deepEqual(
        calls.map(({ name: tool, input }) => [tool, input]),
        [
          ['weather', { city: 'Bern' }],
          ['weather', { city: 'Lima' }],
          ['clock', {}],
        ],
      )
      assert.equal(message['stop_reason'], 'tool_use')
      assert.equal(message.content[0]?.['type'], 'thinking')
    })
  }

  test('interleaved pieces – become blocks one after another without loss', () => {
    const piece = fc.record({
      kind: fc.constantFrom('text', 'thinking', 0, 1, 2, 3),
      size: fc.integer({ min: 1, max: 9 }),
    })
    const inputs = [{ a: 'x{"}]' }, { b: [1, { c: '\\' }] }, {}, { d: 'é'.repeat(9) }].map((input) =>
      JSON.stringify(input),
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 60 }), (pieces) => {
        const stream = new MessagesStreamEncoder(responseContext('p'), { tokens: 0 })
        const events: Buffer[] = []
        const take = (delta: object, finish: string | null = null): void => {
          const bytes = stream.encode({ id: 'i', choices: [{ index: 0, delta, finish_reason: finish }] })
          if (bytes) events.push(bytes)
        }
        const sent = ['', '', '', '']
        const called: number[] = []
        let words = ''
        let thoughts = ''
        for (const { kind, size } of pieces) {
          if (typeof kind === 'string') {
            const text = 'w'.repeat(size)
            if (kind === 'text') words += text
            else thoughts += text
            take(kind === 'text' ? { content: text } : { reasoning_content: text })
            continue
          }
          const begun = called.includes(kind) ? {} : { id: `call_${kind}`, type: 'function' }
          if (!called.includes(kind)) called.push(kind)
          const part = (inputs[kind] ?? '').slice(sent[kind]?.length, (sent[kind]?.length ?? 0) + size)
          sent[kind] += part
          take({ tool_calls: [{ index: kind, ...begun, function: { name: 'f', arguments: part } }] })
        }
        for (const kind of called) {
          take({
            tool_calls: [
              { index: kind, function: { arguments: (inputs[kind] ?? '').slice(sent[kind]?.length) } },
            ],
          })
        }
        take({}, 'stop')
        const usage = { input: 1, cachedInput: 0, cacheWrite: 0, output: 1, reasoning: 0 }
        events.push(...stream.finalEvents({ cutBy: null, paidTokens: Infinity, usage }))
        const { content } = assembleMessage(parseMessagesEvents(Buffer.concat(events).toString()))
        const all = (field: string): string =>
          content.map(({ [field]: text }) => (typeof text === 'string' ? text : '')).join('')
        assert.deepEqual([all('text'), all('thinking')], [words, thoughts])
        const uses = content
          .filter(({ type }) => type === 'tool_use')
          .map(({ id, input }) => [id, JSON.stringify(input)])
        assert.deepEqual(
          uses,
          called.map((kind) => [`call_${kind}`, inputs[kind]]),
        )
      }),
      { numRuns: 300 },
    )
  })

  test('a line of 16 MB – is accepted; one over the maximum is an error', () => {
    const text = 'x'.repeat(16 * 1024 * 1024)
    const lines = [
      JSON.stringify({ id: 'i', choices: [{ index: 0, delta: { content: text }, finish_reason: 'stop' }] }),
      JSON.stringify({ choices: [], usage: { prompt_tokens: 1, completion_tokens: 1 } }),
    ]
    const bytes = framed(lines, '\n')
    const pieces = Array.from({ length: Math.ceil(bytes.length / 65_536) }, (_, i) =>
      bytes.subarray(i * 65_536, (i + 1) * 65_536),
    )
    const message = assembleMessage(parseMessagesEvents(relayed(openAI, pieces, bytes.length)))
    assert.equal(message.content[0]?.['text'], text)
    assert.match(
      relayed(openAI, pieces, bytes.length - 1000),
      /^garbage: An event of the stream is larger than/,
    )
  })
})
