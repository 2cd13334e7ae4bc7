import assert from 'node:assert/strict'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { readStreamPayloads } from '../../providers/contract.fixture.ts'
import { ChunkTemplate } from './chunk-template.ts'
import { UsageMeter, type ChunkFacts } from './usage-meter.ts'

const root = process.env['RECORDINGS_DIR'] ?? ''
const folders = [
  'fixtures',
  'alibaba',
  'deepseek',
  'groq',
  'mistral',
  'moonshotai',
  'openai',
  'openai-compatible',
]

function tryParse(payload: Buffer): unknown {
  try {
    return JSON.parse(payload.toString())
  } catch {
    return undefined
  }
}

function stateOf(meter: UsageMeter, facts: ChunkFacts): unknown[] {
  const { tokens, usage, searches, toolCalls, tier, finishReason, identity } = meter
  return [facts, tokens, usage, searches, toolCalls, tier, finishReason, identity]
}

/** Asserts that every chunk is metered as if it was parsed; returns how many were not parsed. */
function assertMeteredAlike(payloads: readonly Buffer[]): number {
  const [parsing, reading] = [new UsageMeter(), new UsageMeter()]
  const template = new ChunkTemplate()
  let read = 0
  for (const payload of payloads) {
    const bytes = Buffer.concat([Buffer.from('data: '), payload, Buffer.from('\n\n')])
    const chunk = tryParse(payload)
    const text = template.read(bytes, 6, bytes.length - 2)
    if (chunk === undefined) {
      assert.equal(text, null, `not JSON, but read: ${payload.toString()}`)
      continue
    }
    const expected = stateOf(parsing, parsing.read(chunk))
    const facts = text === null ? reading.read(chunk) : reading.readText(text, template.field)
    assert.deepEqual(stateOf(reading, facts), expected, payload.toString())
    if (text === null) template.learn(payload, chunk)
    else read += 1
  }
  return read
}

const chunkWith = (delta: object, more: object = {}): object => ({
  id: 'chunk-1',
  created: 1_790_000_000,
  model: 'm',
  choices: [{ index: 0, delta, finish_reason: null }],
  ...more,
})

const buffers = (chunks: readonly unknown[]): Buffer[] =>
  chunks.map((chunk) => Buffer.from(JSON.stringify(chunk)))

/** Text with what could be mistaken for the end of a string or for a member. */
const text = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 8 }),
  fc.string({ unit: 'binary', maxLength: 8 }),
  fc.constantFrom(
    '',
    '"',
    '\\',
    '\n',
    '中文',
    '"content":"a',
    '","content":"',
    '\\"content":"',
    '\ud83d',
    '}',
  ),
)
const field = fc.constantFrom(
  'content',
  'content',
  'content',
  'reasoning_content',
  'reasoning',
  'refusal',
  'a"content',
)
const delta = fc.oneof(
  { weight: 4, arbitrary: fc.tuple(field, text).map(([name, value]) => ({ [name]: value })) },
  { weight: 2, arbitrary: text.map((content) => ({ role: 'assistant', content, reasoning_content: null })) },
  fc.tuple(text, text).map(([content, reasoning]) => ({ content, reasoning_content: reasoning })),
  text.map((content) => ({ content, annotations: [{ type: 'url_citation', content }] })),
  text.map((value) => ({ content: { content: value } })),
  text.map((input) => ({ tool_calls: [{ index: 0, function: { arguments: input } }] })),
)
const more = fc.oneof(
  { weight: 6, arbitrary: fc.constant({}) },
  { weight: 6, arbitrary: text.map((obfuscation) => ({ usage: null, obfuscation })) },
  text.map((content) => ({ metadata: { content }, service_tier: 'flex' })),
  text.map((content) => ({ metadata: { obfuscation: content }, obfuscation: 1 })),
  fc.nat(9).map((count) => ({ usage: { prompt_tokens: count, completion_tokens: count } })),
  fc.constantFrom({ created: 1 }, { error: { message: 'x' } }, { choices: [] }, { search_info: {} }),
)
/** How a provider writes JSON, with members repeated or in another order. */
const writing = fc.constantFrom(
  (json: string) => json,
  (json: string) => json,
  (json: string) => json.replaceAll(/([:,])(?=["[{\dn])/g, '$1 '),
  (json: string) => json.replace('{', '{"content":"first",'),
  (json: string) => json.replace('"delta":{', '"delta":{"content":"first",'),
  (json: string) => json.replace(/\}$/, ',"obfuscation":"last"}'),
)
const change = fc.option(fc.tuple(fc.nat(400), fc.nat(255)), { freq: 8 })
const payload = fc.tuple(delta, more, writing, change).map(([written, fields, write, changed]) => {
  const bytes = Buffer.from(write(JSON.stringify(chunkWith(written, fields))))
  if (changed) bytes[changed[0] % bytes.length] = changed[1]
  return bytes
})

describe('ChunkTemplate', () => {
  test('read – is the text of chunks that differ only in it and in their padding', () => {
    const chunks = ['a', ' b', '', 'ü', '\n', '"', '中文'].map((content, index) =>
      chunkWith({ content }, { obfuscation: 'x'.repeat(index) }),
    )
    const [first, ...others] = buffers(chunks)
    const template = new ChunkTemplate()
    assert.ok(first)
    assert.equal(template.read(first, 0, first.length), null)
    template.learn(first, chunks[0])
    const texts = others.map((bytes) => template.read(bytes, 0, bytes.length))
    assert.deepEqual(texts, [' b', '', 'ü', '\n', '"', '中文'])
    const changed = buffers([chunkWith({ content: 'a' }, { obfuscation: 'x', created: 1 })])[0] ?? first
    assert.equal(template.read(changed, 0, changed.length), null)
  })

  test('learn – gives up a stream whose chunks differ every time', () => {
    for (const [differing, expected] of [
      [16, 'a'],
      [17, null],
    ] as const) {
      const template = new ChunkTemplate()
      const chunks = Array.from({ length: differing }, (_, created) =>
        chunkWith({ content: 'a' }, { created }),
      )
      const payloads = buffers(chunks)
      for (const [index, bytes] of payloads.entries()) template.learn(bytes, chunks[index])
      const last = payloads.at(-1) ?? Buffer.alloc(0)
      assert.equal(template.read(last, 0, last.length), expected)
    }
  })

  for (const name of folders) {
    const folder =
      name === 'fixtures' ? join(import.meta.dirname, '../../providers/fixtures') : join(root, name)
    const files = existsSync(folder) && (root !== '' || name === 'fixtures') ? readdirSync(folder) : []
    const recordings = files.filter((file) => file.endsWith('.chunks.txt'))
    test(`read – recorded chunks of ${name} are metered as if they were parsed`, () => {
      for (const file of recordings) {
        const payloads = readStreamPayloads(folder, file.slice(0, -'.chunks.txt'.length))
        assertMeteredAlike(payloads.filter((each) => each.startsWith('{')).map((each) => Buffer.from(each)))
      }
    })
  }

  test('property – any chunks are metered as if they were parsed', () => {
    let read = 0
    const property = fc.property(fc.array(payload, { maxLength: 12 }), (payloads) => {
      const repeated = payloads.flatMap((each) => [each, each])
      read += assertMeteredAlike(payloads) + assertMeteredAlike(repeated)
    })
    fc.assert(property, { numRuns: 3000 })
    assert.ok(read > 1000, `only ${read} chunks were not parsed`)
  })
})
