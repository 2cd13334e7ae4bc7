import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { CallPieces, encodeArguments } from './tool-call-pieces.ts'

/** The numbers of the calls to which the pieces belong; each list is one chunk. */
function numbersOf(...chunks: readonly (readonly object[])[]): number[] {
  const pieces = new CallPieces()
  return chunks.flatMap((chunk) =>
    chunk.map((piece, position) => pieces.numberOf(piece as Record<string, unknown>, position)),
  )
}

const call = (id: string, fields: object = {}): object => ({ id, function: { name: 'f' }, ...fields })
const piece = (fields: object = {}): object => ({ function: { arguments: '{' }, ...fields })

describe('Pieces of tool calls', () => {
  test('A new id begins a new call, whatever its index', () => {
    const [zero, one] = [{ index: 0 }, { index: 1 }]
    assert.deepEqual(
      numbersOf([call('a', zero)], [piece(zero)], [call('b', zero)], [piece(zero)]),
      [0, 0, 1, 1],
    )
    assert.deepEqual(numbersOf([call('a')], [piece()], [call('b')], [piece()]), [0, 0, 1, 1])
    assert.deepEqual(
      numbersOf([call('a', zero)], [call('b', one)], [piece(zero)], [piece(one)]),
      [0, 1, 0, 1],
    )
    assert.deepEqual(numbersOf([call('a'), call('b')], [piece(), piece()]), [0, 1, 0, 1])
  })

  test('An id that is repeated continues its call', () => {
    const zero = { index: 0 }
    assert.deepEqual(
      numbersOf([call('a', zero)], [call('b', zero)], [piece({ ...zero, id: 'a' })]),
      [0, 1, 0],
    )
    assert.deepEqual(numbersOf([call('a')], [call('b')], [piece({ id: 'a' })]), [0, 1, 0])
    // Some upstreams give each call of a response the same id.
    assert.deepEqual(numbersOf([call('a', zero), call('a', { index: 1 })]), [0, 1])
    assert.deepEqual(numbersOf([call('a', zero)], [piece({ ...zero, id: 'other' })]), [0, 0])
  })

  test('Arguments that are an object are written as JSON', () => {
    assert.equal(encodeArguments({ city: 'Bern' }), '{"city":"Bern"}')
    assert.equal(encodeArguments('{"city"'), '{"city"')
    assert.deepEqual([encodeArguments(null), encodeArguments(undefined)], ['', ''])
  })
})
