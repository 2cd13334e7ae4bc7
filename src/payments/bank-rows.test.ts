import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { describe, test } from 'node:test'
import fc from 'fast-check'

import { referenceOf } from './bank-reference.ts'
import { matchBankRows, parseBankRows, type AwaitedTransfer } from './bank-rows.ts'

const payerOf = (name: string) => createHash('sha256').update(name).digest('hex')

function awaited(id: string, amountMinor: bigint, ...payers: string[]): AwaitedTransfer {
  return { id, amountMinor, payers: payers.map(payerOf) }
}

const first = awaited('S01KBB3V8Q0000000000AB1CDE', 10_000n, '张三')
const second = awaited('S01KBB3V8Q0000000000ZYXWVT', 123_450n, '李四')

const list = `账号,6222 0000
查询时间,2026-11-30

交易日期,交易流水号,收入,支出,对方户名,附言
2026-11-28,\t202611280001,"1,234.50",,李四,充值 ${referenceOf(second.id).toLowerCase()}
2026-11-28,\`202611280002,100.00,,张三,"充值,谢谢"
2026-11-29,202611290003,,50.00,某公司,服务费
2026-11-29,202611290004,金额不详,,王五,
2026-11-29,202611290005,88.00,,王五,
`

describe('bank rows', () => {
  test('list – money that arrived is read; what left is skipped, and what is unclear is named', () => {
    const { rows, unreadLines } = parseBankRows(list, 'CNY')
    assert.deepEqual(
      rows.map(({ line, amountMinor, date, transaction, payer }) => [
        line,
        amountMinor,
        date,
        transaction,
        payer,
      ]),
      [
        [5, 123_450n, '2026-11-28', '202611280001', '李四'],
        [6, 10_000n, '2026-11-28', '202611280002', '张三'],
        [9, 8800n, '2026-11-29', '202611290005', '王五'],
      ],
    )
    assert.deepEqual(unreadLines, [8])
  })

  test('list – separators, line ends, quotes and forms for spreadsheets are understood', () => {
    const tabs = 'Date\tAmount\tPayer\r\n2026-11-28\t="100.00"\t"A ""B"" \r\nLtd"\r\n2026-11-29\t5\tC'
    const { rows } = parseBankRows(tabs, 'CNY')
    assert.deepEqual(
      rows.map(({ line, amountMinor, payer }) => [line, amountMinor, payer]),
      [
        [2, 10_000n, 'A "B" \nLtd'],
        [4, 500n, 'C'],
      ],
    )
    assert.throws(() => parseBankRows('a,b\n1,2', 'CNY'), /amounts/)
  })

  test('list – a quote that is not closed is named by its line, and too many rows are rejected', () => {
    const open = 'Amount,Payer\n1.00,"A\nLtd"\n2.00,"B\n3.00,C'
    assert.throws(() => parseBankRows(open, 'CNY'), /quote in line 4/)
    const long = (count: number) => `Amount,Payer\n${'1.00,A\n'.repeat(count)}`
    assert.equal(parseBankRows(long(2000), 'CNY').rows.length, 2000)
    assert.throws(() => parseBankRows(long(2001), 'CNY'), /at most 2000 rows/)
  })

  test('list – any cells survive quoting', () => {
    const cells = fc.string({ maxLength: 12 }).map((text) => `x${text.replaceAll('\r', '')}x`)
    fc.assert(
      fc.property(fc.array(cells, { minLength: 1, maxLength: 4 }), (texts) => {
        const quoted = texts.map((text) => `"${text.replaceAll('"', '""')}"`).join(',')
        const [row] = parseBankRows(`amount,b,c,d,e\n1.00,${quoted}`, 'CNY').rows
        assert.deepEqual(row?.cells, ['1.00', ...texts])
      }),
    )
  })

  test('match – by reference whatever the amount, else by amount and payer', () => {
    const { rows } = parseBankRows(list, 'CNY')
    const matches = matchBankRows(rows, [first, { ...second, amountMinor: 1n }])
    assert.deepEqual(
      matches.map(({ order, by, isAmountEqual }) => [order, by, isAmountEqual]),
      [
        [second.id, 'reference', false],
        [first.id, 'payer', true],
        [null, null, false],
      ],
    )
  })

  test('match – nothing is guessed: another amount, an unknown payer, two orders or two rows', () => {
    const { rows } = parseBankRows(list, 'CNY')
    const orderOf = (orders: AwaitedTransfer[], from = rows) => matchBankRows(from, orders)[1]?.order
    const twin = { ...first, id: 'S01KBB3V8Q0000000000AB1CDF' }
    assert.equal(orderOf([first]), first.id)
    assert.equal(orderOf([{ ...first, amountMinor: 10_001n }]), null)
    assert.equal(orderOf([{ ...first, payers: [] }]), null)
    assert.equal(orderOf([first, twin]), null)
    const [one, two] = rows
    assert.ok(one && two)
    assert.equal(orderOf([first], [one, two, two]), null)
  })

  test('match – two orders in one row, or with one reference, are left to the operator', () => {
    const both = `${referenceOf(first.id)} ${referenceOf(second.id)}`
    const { rows } = parseBankRows(`Amount,Remark\n100.00,${both}\n5.00,re${referenceOf(first.id)}.`, 'CNY')
    const matches = matchBankRows(rows, [first, second])
    assert.deepEqual(
      matches.map(({ order, by }) => [order, by]),
      [
        [null, null],
        [first.id, 'reference'],
      ],
    )
    const twin = { ...first, id: first.id.replace('S01K', 'S01J') }
    assert.equal(matchBankRows(rows, [first, twin])[1]?.order, null)
  })

  test('match – a reference that is not awaited is reported, and its payer is not used', () => {
    const text = `Amount,Payer,Remark\n100.00,张三,${referenceOf('S01KBB3V8Q0000000000PPPPPP')}\n100.00,张三,thanks`
    const [named, plain] = matchBankRows(parseBankRows(text, 'CNY').rows, [first])
    assert.deepEqual([named?.order, named?.hasOtherReference], [null, true])
    assert.deepEqual([plain?.order, plain?.hasOtherReference], [first.id, false])
  })
})
