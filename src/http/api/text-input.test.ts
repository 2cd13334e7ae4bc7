import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ApiError } from '../../errors.ts'
import { requireValidText } from './text-input.ts'

function paramOf(input: unknown): string | undefined {
  try {
    requireValidText(input)
    return undefined
  } catch (error) {
    assert.ok(error instanceof ApiError && error.status === 400)
    return error.detail.param
  }
}

describe('requireValidText', () => {
  test('invalid text – the error names the first field that has it', () => {
    assert.equal(paramOf({ name: 'ok', routes: [{ model: 'a' }, { model: 'b\0' }] }), 'routes[1].model')
    assert.equal(paramOf({ first: '\ud83d', second: '\0' }), 'first')
    assert.equal(paramOf({ headers: { 'x\ud83d': '1' } }), String.raw`headers.x\ud83d`)
    assert.equal(paramOf({ name: '😀', count: 1, none: null, list: [true] }), undefined)
  })

  test('input of any depth or width – is checked without exhausting the stack', () => {
    let deep: unknown = '\0'
    for (let depth = 0; depth < 500_000; depth += 1) deep = [deep]
    assert.equal(paramOf({ deep })?.length, 200)
    assert.equal(paramOf({ wide: [...Array<string>(500_000).fill('a'), '\0'] }), 'wide[500000]')
  })
})
