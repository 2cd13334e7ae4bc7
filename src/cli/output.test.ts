import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cellOf, fieldAt, rowsOf, sheetOf, tableOf, widthOf } from './output.ts'

test('columns of a table line up, numbers on the right, also under Chinese names', () => {
  const table = tableOf(
    ['ID', 'NAME', 'BALANCE'],
    [
      ['acc_1', '张三', '9.5'],
      ['acc_22', 'Ann', '-10'],
      ['acc_3', null, undefined],
    ],
  )
  const lines = [
    'ID      NAME  BALANCE',
    'acc_1   张三      9.5',
    'acc_22  Ann       -10',
    'acc_3   -           -',
  ]
  assert.equal(table, lines.join('\n'))
})

test('a table without rows still tells its columns', () => {
  assert.equal(tableOf(['ID', 'NAME'], []), 'ID  NAME')
})

test('no value of a cell can steer the terminal', () => {
  assert.equal(cellOf('\u001b[2Jgone\r\n'), '?[2Jgone??')
  assert.equal(cellOf(['a\u0007', 'b']), 'a?, b')
})

test('a cell tells yes, no, lists, objects, and what is absent', () => {
  const values = [true, false, [], ['a', 'b'], { rpm: 5 }, 0, '', null, undefined]
  assert.deepEqual(values.map(cellOf), ['yes', 'no', '-', 'a, b', '{"rpm":5}', '0', '-', '-', '-'])
})

test('a width counts columns, not characters', () => {
  assert.equal(widthOf('é'), 1)
  assert.equal(widthOf('e\u0301'), 1)
  assert.equal(widthOf('中a'), 3)
})

test('a sheet has its values below each other', () => {
  assert.equal(
    sheetOf([
      ['id', 'acc_1'],
      ['spent today', 0],
    ]),
    'id           acc_1\nspent today  0',
  )
})

test('fields are found by their path, and nothing is found in what is no object', () => {
  assert.equal(fieldAt({ caps: { daily: '5' } }, 'caps.daily'), '5')
  assert.equal(fieldAt({ routes: [{ model: 'm' }] }, 'routes.0.model'), 'm')
  assert.equal(fieldAt({ caps: null }, 'caps.daily'), undefined)
  assert.deepEqual(rowsOf({ data: [{ id: 'a' }] }), [{ id: 'a' }])
  assert.deepEqual(rowsOf('nothing'), [])
})
