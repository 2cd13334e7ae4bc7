import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { formatCell, fieldAt, rowsIn, formatFields, formatTable, displayWidth } from './output.ts'

describe('command-line output', () => {
  test('table – aligned columns, numbers right-aligned, wide characters counted', () => {
    const table = formatTable(
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

  test('table without rows – prints the header', () => {
    assert.equal(formatTable(['ID', 'NAME'], []), 'ID  NAME')
  })

  test('cell – control characters are replaced', () => {
    assert.equal(formatCell('\u001b[2Jgone\r\n'), '?[2Jgone??')
    assert.equal(formatCell(['a\u0007', 'b']), 'a?, b')
  })

  test('cell – booleans, lists, objects and missing values', () => {
    const values = [true, false, [], ['a', 'b'], { rpm: 5 }, 0, '', null, undefined]
    assert.deepEqual(values.map(formatCell), ['yes', 'no', '-', 'a, b', '{"rpm":5}', '0', '-', '-', '-'])
  })

  test('display width – terminal columns, not characters', () => {
    assert.equal(displayWidth('é'), 1)
    assert.equal(displayWidth('e\u0301'), 1)
    assert.equal(displayWidth('中a'), 3)
  })

  test('fields – values aligned in one column', () => {
    assert.equal(
      formatFields([
        ['id', 'acc_1'],
        ['spent today', 0],
      ]),
      'id           acc_1\nspent today  0',
    )
  })

  test('field path – found in nested objects, undefined elsewhere', () => {
    assert.equal(fieldAt({ caps: { daily: '5' } }, 'caps.daily'), '5')
    assert.equal(fieldAt({ routes: [{ model: 'm' }] }, 'routes.0.model'), 'm')
    assert.equal(fieldAt({ caps: null }, 'caps.daily'), undefined)
    assert.deepEqual(rowsIn({ data: [{ id: 'a' }] }), [{ id: 'a' }])
    assert.deepEqual(rowsIn('nothing'), [])
  })
})
