import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { parseBoundedJson } from './bounded-json.ts'
import { maxDepth, MalformedJsonError } from './json-cursor.ts'

const nested = (depth: number): string => `${'[{"a":'.repeat(depth / 2)}1${'}]'.repeat(depth / 2)}`

describe('parseBoundedJson', () => {
  test('depth – is bounded, also in text that never ends', () => {
    const text = nested(maxDepth)
    assert.deepEqual(parseBoundedJson(text), JSON.parse(text))
    for (const deep of [`[${nested(maxDepth)}]`, nested(20_000), '['.repeat(4_000_000), '{"a":'.repeat(2000)])
      assert.throws(
        () => parseBoundedJson(deep),
        (error) => error instanceof MalformedJsonError && error.tooDeep,
      )
  })

  test('brackets in strings and next to each other – are no depth', () => {
    for (const value of ['[{'.repeat(2000), '"\\'.repeat(2000) + '['.repeat(2000), Array(2000).fill([{}])])
      assert.deepEqual(parseBoundedJson(JSON.stringify([value])), [value])
    assert.throws(() => parseBoundedJson(`["${'['.repeat(2000)}`), SyntaxError)
    assert.throws(() => parseBoundedJson(`["${'['.repeat(2000)}\\`), SyntaxError)
  })

  test('property – agrees with JSON.parse up to the maximum depth', () => {
    const padding = '['.repeat(maxDepth)
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5 }), (value) => {
        const text = JSON.stringify([padding, value])
        assert.deepEqual(parseBoundedJson(text), JSON.parse(text))
      }),
    )
  })
})
