import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'

import { messageIn, toldIn } from '../../test/support/upstream/anthropic-messages.ts'
import { bytesOf, ownRecordings, payloadsIn } from '../providers/contract.fixture.ts'
import { golden, interleaved, providerNamed, relayed } from './request/messages.fixture.ts'
import { MessagesStream } from '../formats/messages-stream.ts'

const common = providerNamed('openai-compatible')
const lineEnds = ['\n', '\r\n', '\r']
/** Those that do not speak the caller's format themselves. */
const dialects = ['gemini', 'bedrock', 'cohere']

function payloads(text: string): string[] {
  return text.split('\n\n').flatMap((block) => block.split('\ndata: ').slice(1))
}

function framed(lines: readonly string[], lineEnd: string, start = 'data: '): Buffer {
  return Buffer.from(lines.map((line) => `${start}${line}${lineEnd}${lineEnd}`).join(''))
}

/** The events of a message without the names that were made up for it. */
function shapeOf(text: string): unknown[] {
  return payloads(text).map((payload): unknown =>
    JSON.parse(payload.replace(/"id":"(?!call|toolu)[^"]*"/, '"id":""')),
  )
}

test('three parallel tool calls, interleaved, with thinking, become blocks one after another, as the transcript has them', () => {
  assert.deepEqual(payloads(relayed(common, [framed(interleaved, '\n')])), golden)
})

for (const name of [common.name, ...dialects]) {
  test(`${name}: cut at every byte, with LF, CR LF and CR, a stream becomes the same message`, () => {
    const provider = providerNamed(name)
    const lines = provider === common ? interleaved : payloadsIn(ownRecordings(provider), 'tools')
    const expected = shapeOf(relayed(provider, [bytesOf(provider, lines)]))
    assert.ok(expected.length > 10)
    for (const lineEnd of provider.translation?.framing ? ['\n'] : lineEnds) {
      const bytes = bytesOf(provider, lines, lineEnd)
      for (let at = 1; at < bytes.length; at++) {
        const pieces = [bytes.subarray(0, at), bytes.subarray(at)]
        assert.deepEqual(shapeOf(relayed(provider, pieces)), expected, `cut at ${at}`)
      }
    }
  })
}

test('what speaks the caller’s format passes byte by byte, wherever it is cut; other line ends become line feeds', () => {
  const claude = providerNamed('anthropic')
  const lines = payloadsIn(ownRecordings(claude), 'tools').flatMap((line) => [line, '{"type": "ping"}'])
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
  // Without names, or a space after `data:`, an event is known by its payload.
  assert.equal(
    relayed(claude, [framed(lines, '\n', 'data:')]),
    framed(lines, '\n', 'data:').subarray(0, -23).toString(),
  )
})

for (const name of dialects) {
  test(`${name}: the message has the words, the calls in their order, and a reason`, () => {
    const provider = providerNamed(name)
    const recording = bytesOf(provider, payloadsIn(ownRecordings(provider), 'tools'))
    const message = messageIn(toldIn(relayed(provider, [recording])))
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

test('however the pieces of calls, words and thinking are mixed, blocks come one after another and lose nothing', () => {
  const piece = fc.record({
    kind: fc.constantFrom('text', 'thinking', 0, 1, 2, 3),
    size: fc.integer({ min: 1, max: 9 }),
  })
  const inputs = [{ a: 'x{"}]' }, { b: [1, { c: '\\' }] }, {}, { d: 'é'.repeat(9) }].map((input) =>
    JSON.stringify(input),
  )
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 60 }), (pieces) => {
      const stream = new MessagesStream({ provider: 'p', stops: [] }, { tokens: 0 })
      const said: Buffer[] = []
      const take = (delta: object, finish: string | null = null): void => {
        const bytes = stream.take({ id: 'i', choices: [{ index: 0, delta, finish_reason: finish }] })
        if (bytes) said.push(bytes)
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
      said.push(...stream.conclude({ isShort: false, paid: Infinity, usage }))
      const { content } = messageIn(toldIn(Buffer.concat(said).toString()))
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

test('a line of 16 MB becomes one piece of the message; beyond the limit it is an explicit error', () => {
  const text = 'x'.repeat(16 * 1024 * 1024)
  const lines = [
    JSON.stringify({ id: 'i', choices: [{ index: 0, delta: { content: text }, finish_reason: 'stop' }] }),
    JSON.stringify({ choices: [], usage: { prompt_tokens: 1, completion_tokens: 1 } }),
  ]
  const bytes = framed(lines, '\n')
  const pieces = Array.from({ length: Math.ceil(bytes.length / 65_536) }, (_, i) =>
    bytes.subarray(i * 65_536, (i + 1) * 65_536),
  )
  const message = messageIn(toldIn(relayed(common, pieces, bytes.length)))
  assert.equal(message.content[0]?.['text'], text)
  assert.match(
    relayed(common, pieces, bytes.length - 1000),
    /^garbage: An event of the stream is larger than/,
  )
})
