import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { assemble, createCall, encodeStream, translateStream } from '../contract.fixture.ts'
import { geminiTranslation } from './gemini-response.ts'
import { vertex } from './vertex.ts'

/** Translates a stream with one event per `functionCall`; the last one ends the candidate. */
function translateCalls(...functionCalls: readonly object[]) {
  const payloads = functionCalls.map((functionCall, index) => {
    const isLast = index === functionCalls.length - 1
    const content = { role: 'model', parts: [{ functionCall }] }
    return JSON.stringify({ candidates: [{ content, ...(isLast ? { finishReason: 'STOP' } : {}) }] })
  })
  const call = createCall(vertex, { stream: true })
  const { calls, finishes } = assemble(translateStream(vertex, call, [encodeStream(vertex, payloads)]))
  assert.deepEqual(finishes, [{ reason: 'tool_calls', native: 'STOP' }])
  return calls.map(({ id, name, arguments: text }) => ({ id, name, input: JSON.parse(text) as unknown }))
}

const text = (jsonPath: string, stringValue: string, willContinue = false) => ({
  jsonPath,
  stringValue,
  willContinue,
})

describe('function calls of Gemini', () => {
  test('Arguments in parts – become one call with all values at their paths', () => {
    const calls = translateCalls(
      { name: 'book', id: 'call-1', willContinue: true },
      { partialArgs: [text('$.to', 'San ', true)], willContinue: true },
      { partialArgs: [text('$.to', 'Francisco')], willContinue: true },
      { partialArgs: [{ jsonPath: '$.stops[0].nights', numberValue: 2 }], willContinue: true },
      { partialArgs: [text("$.stops[0]['the city']", 'Bern')], willContinue: true },
      { partialArgs: [{ jsonPath: '$.stops[1]', nullValue: 'NULL_VALUE' }], willContinue: true },
      { partialArgs: [{ jsonPath: '$.flexible', boolValue: false }], willContinue: true },
      {},
    )
    const input = {
      to: 'San Francisco',
      stops: [{ nights: 2, 'the city': 'Bern' }, null],
      flexible: false,
    }
    assert.deepEqual(calls, [{ id: 'call-1', name: 'book', input }])
  })

  test('Two calls – are ended by the next call, and by the end of the candidate', () => {
    const calls = translateCalls(
      { name: 'first', id: '1', willContinue: true },
      { partialArgs: [text('$.a', 'one')], willContinue: true },
      { name: 'second', id: '2', partialArgs: [text('$.b', 'two')], willContinue: true },
    )
    assert.deepEqual(calls, [
      { id: '1', name: 'first', input: { a: 'one' } },
      { id: '2', name: 'second', input: { b: 'two' } },
    ])
  })

  test('Path with __proto__ – is an ordinary name', () => {
    const parts = [text('$.__proto__.polluted', 'yes'), text('$.a', 'b')]
    const [call] = translateCalls({ name: 'f', id: '1', partialArgs: parts })
    assert.equal(JSON.stringify(call?.input), '{"__proto__":{"polluted":"yes"},"a":"b"}')
    assert.equal(({} as Record<string, unknown>)['polluted'], undefined)
  })

  for (const [subject, parts] of Object.entries({
    'Path without a root': [text('a', 'b')],
    'Path with an unknown step': [text('$.a[*]', 'b')],
    'List with a gap': [text('$.a[4294967294]', 'b')],
    'Name in a list': [text('$.a[0]', 'b'), text('$.a.b', 'c')],
    'Arguments of 9 MiB': [text('$.a', 'x'.repeat(9 * 1024 * 1024))],
  })) {
    test(`${subject} – is not translated`, () => {
      const content = { parts: [{ functionCall: { name: 'f', partialArgs: parts } }] }
      const stream = geminiTranslation.createStream(createCall(vertex, { stream: true }))
      const event = { name: '', text: JSON.stringify({ candidates: [{ content }] }) }
      assert.throws(() => stream.translate(event), /argument/)
    })
  }
})
