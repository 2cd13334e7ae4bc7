import assert from 'node:assert/strict'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'

import { ChunkCollector } from './chunk-collector.ts'
import { assemble, readStreamPayloads } from './contract.fixture.ts'
import type { Json } from './json-fields.ts'

/** Folders with recorded streams in the OpenAI format. */
const formatFolders = ['alibaba', 'deepseek', 'groq', 'mistral', 'moonshotai', 'openai', 'openai-compatible']
const root = process.env['RECORDINGS_DIR'] ?? ''

function chunksOf(folder: string, name: string): Json[] {
  return readStreamPayloads(folder, name)
    .filter((payload) => payload.startsWith('{'))
    .map((payload) => JSON.parse(payload) as Json)
}

function collect(chunks: readonly Json[]): Json {
  const collector = new ChunkCollector()
  for (const chunk of chunks) collector.add(chunk)
  return collector.completion()
}

const chunk = (delta: Json, index = 0, more: Json = {}): Json => ({
  id: 'c',
  object: 'chat.completion.chunk',
  choices: [{ index, delta, finish_reason: null, ...more }],
})

const recordings = formatFolders.flatMap((name) => {
  const folder = join(root, name)
  const files = root !== '' && existsSync(folder) ? readdirSync(folder) : []
  const streams = files.filter((file) => file.endsWith('.chunks.txt'))
  return streams.map((file) => ({ folder, name: file.slice(0, -'.chunks.txt'.length) }))
})

describe('ChunkCollector', () => {
  for (const { folder, name } of recordings) {
    const chunks = chunksOf(folder, name).filter((each) => Array.isArray(each['choices']))
    if (!chunks.some((each) => each['object'] === 'chat.completion.chunk')) continue
    test(`${name} – adds up to what a caller assembles from the stream`, () => {
      const collected = collect(chunks)
      const { usages, ...expected } = assemble(chunks)
      assert.deepEqual(assemble([collected]), { ...expected, usages: usages.slice(-1) })
      assert.equal(collected['object'], 'chat.completion')
    })
  }

  test('names and ids that are repeated – are kept once', () => {
    const call = (fields: Json): Json =>
      chunk({ role: 'assistant', tool_calls: [{ index: 0, id: 'a', type: 'function', function: fields }] })
    const { choices } = collect([
      call({ name: 'f', arguments: '{' }),
      call({ name: 'f', arguments: '}' }),
      call({ name: '', arguments: '' }),
    ])
    const calls = [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }]
    assert.deepEqual(choices, [
      {
        index: 0,
        message: { role: 'assistant', content: null, refusal: null, tool_calls: calls },
        logprobs: null,
        finish_reason: null,
      },
    ])
  })

  test('results – are in the order of their index, with probabilities and the last usage', () => {
    const probability = (token: string): Json => ({ logprobs: { content: [{ token }] } })
    const usage = { prompt_tokens: 1, completion_tokens: 2 }
    const collected = collect([
      chunk({ content: 'b' }, 1),
      chunk({ content: 'a' }, 0, probability('a')),
      chunk({ content: 'a' }, 0, probability('a')),
      { id: '', choices: [], usage, system_fingerprint: 'fp' },
      { id: 'c', choices: [], usage: null },
    ])
    const { choices, ...rest } = collected as Json & { choices: Json[] }
    assert.deepEqual(rest, { id: 'c', object: 'chat.completion', usage, system_fingerprint: 'fp' })
    assert.deepEqual(
      choices.map(({ index, message, logprobs }) => [index, (message as Json)['content'], logprobs]),
      [
        [0, 'aa', { content: [{ token: 'a' }, { token: 'a' }] }],
        [1, 'b', null],
      ],
    )
  })

  test('content in parts – joins parts of the same kind, whatever comes between', () => {
    const thinking = (text: string): Json => ({ type: 'thinking', thinking: [{ type: 'text', text }] })
    const { choices } = collect([
      chunk({ content: '' }),
      chunk({ content: [thinking('So')] }),
      chunk({ content: [thinking(' it is')] }),
      chunk({ content: 'Four' }),
      chunk({ content: '.' }),
    ]) as { choices: { message: Json }[] }
    assert.deepEqual(choices[0]?.message['content'], [thinking('So it is'), { type: 'text', text: 'Four.' }])
  })

  test('hostile names – change no prototype', () => {
    const hostile = JSON.parse(
      '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}',
    ) as Json
    collect([chunk(hostile), { ...hostile, choices: [] }])
    assert.equal(({} as Json)['polluted'], undefined)
  })
})
