// @backend both
/** A bank's list, pasted by an operator: what its rows match, and what becomes of them. Nothing is credited by it. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { z } from 'zod'
import type { bankRowsSchema } from '../../../src/http/admin/money/bank-rows.ts'
import type { PaymentOrder } from '../../../src/http/api/payment-orders.ts'
import { expectError, expectResponse, type List } from '../../support/client/admin-api.ts'
import type { Account } from '../../support/server/account.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'

const server = await sharedTestServer({
  env: {
    BANK_TRANSFER: 'Sluice Ltd, Bank of Examples',
    BANK_ACCOUNT: '6222000012345678',
    BANK_SECOND_OPERATOR_ABOVE: '1000',
  },
})

const path = '/payments/bank-rows'
const order = (account: Account, amount: string): Promise<PaymentOrder> =>
  expectResponse<PaymentOrder>(server, 201, [
    'POST',
    `/accounts/${account.id}/orders`,
    { method: 'bank', amount },
  ])
const referenceIn = ({ pay }: PaymentOrder): string => /Reference: (\w{8})/.exec(pay?.text ?? '')?.[1] ?? ''
const match = (...lines: string[]) =>
  expectResponse<z.infer<typeof bankRowsSchema>>(server, 200, [
    'POST',
    path,
    { csv: ['日期,流水号,收入,对方户名,附言', ...lines].join('\n') },
  ])
const confirm = ({ id }: PaymentOrder, received: string, transaction: string, payer: string) =>
  expectResponse<PaymentOrder>(server, 200, [
    'POST',
    `/orders/${id}/confirm`,
    { received, transaction, date: '2026-11-28', payer },
  ])

describe('Bank lists', () => {
  test('rows – match by reference, whatever the amount, and are recorded once confirmed', async () => {
    const account = await server.account()
    const [whole, part] = [await order(account, '100'), await order(account, '200')]
    const lines = [
      `20261128101500,L-1,"100.00",张三,充值 ${referenceIn(whole)}`,
      `2026/11/28,L-2,150,张三,${referenceIn(part)}`,
      '2026-11-28,L-3,88.00,王五,谢谢',
    ]
    const { rows, currency } = await match(...lines)
    assert.equal(currency, 'CNY')
    assert.partialDeepStrictEqual(rows, [
      {
        line: 2,
        date: '2026-11-28',
        amount: '100.00',
        transaction: 'L-1',
        payer: '张三',
        status: 'matched',
        matched_by: 'reference',
        order: whole.id,
        order_state: 'pending',
        account: account.id,
      },
      { status: 'different_amount', order: part.id, amount: '150.00', expected: '200.00' },
      { status: 'unmatched', matched_by: null, order: null, account: null, expected: null },
    ])
    assert.equal(await account.balance(), '0')
    await confirm(whole, '100', 'L-1', '张三')
    const again = await match(...lines)
    assert.partialDeepStrictEqual(again.rows[0], { status: 'entered', order: whole.id, order_state: 'paid' })
    const back = { received: '150', transaction: 'L-2', date: '2026-11-28', if_different: 'return' }
    await expectResponse(server, 200, ['POST', `/orders/${part.id}/confirm`, back])
    const returned = (await match(...lines)).rows[1]
    assert.partialDeepStrictEqual(returned, { status: 'entered', order: part.id, order_state: 'canceled' })
    const named = await match(`2026-11-29,L-9,100,张三,${referenceIn(whole)}`)
    assert.equal(named.rows[0]?.status, 'other_reference')
    assert.equal(await account.balance(), '100')
  })

  test('rows without a reference – match by amount and a payer who has paid for the account', async () => {
    const account = await server.account()
    await confirm(await order(account, '31'), '31', 'P-1', '李四')
    const next = await order(account, '32')
    const { rows } = await match('2026-11-28,P-2,32.00,李四,', '2026-11-28,P-3,33.00,李四,')
    assert.partialDeepStrictEqual(rows, [
      { status: 'matched', matched_by: 'payer', order: next.id },
      { status: 'unmatched', order: null },
    ])
  })

  test('large transfer – says that a second operator is needed', async () => {
    const large = await order(await server.account(), '5000')
    const line = `2026-11-28,B-1,5000,赵六,${referenceIn(large)}`
    assert.equal((await match(line)).rows[0]?.status, 'matched')
    await confirm(large, '5000', 'B-1', '赵六')
    assert.equal((await match(line)).rows[0]?.status, 'awaits_second')
  })

  test('text that is no list – is rejected by its line, and amounts that are none are named', async () => {
    for (const csv of ['a,b\n1,2', '', 'Amount,Payer\n1.00,"A', `Amount,Payer\n${'1.00,A\n'.repeat(2001)}`])
      assert.equal(await expectError(server, 400, ['POST', path, { csv }]), 'csv')
    await expectError(server, 413, ['POST', path, { csv: 'x'.repeat(1024 * 1024) }])
    const { rows, unread_lines: unread } = await match(
      '2026-11-28,U-1,金额不详,王五,',
      '28.11.2026,U-2,1,王五,',
    )
    assert.deepEqual(unread, [2])
    assert.partialDeepStrictEqual(rows, [{ line: 3, date: '2026-11-28' }])
  })

  test('orders – are found by id, by reference as people write it, and by transaction', async () => {
    const account = await server.account()
    const [first, second] = [await order(account, '10'), await order(account, '10')]
    await confirm(second, '10', 'Q-1', '孙七')
    const find = async (text: string) => {
      const { data } = await expectResponse<List>(server, 200, [
        'GET',
        `/orders?q=${encodeURIComponent(text)}`,
      ])
      return data.map(({ id }) => id)
    }
    const reference = referenceIn(first)
    const written = `${reference.slice(0, 4)}-${reference.slice(4)}`.toLowerCase()
    assert.deepEqual(await find(written), [first.id])
    assert.deepEqual(await find(first.id.toLowerCase()), [first.id])
    assert.deepEqual(await find('Q-1'), [second.id])
    const wrong = reference.slice(0, -1) + (reference.endsWith('0') ? '1' : '0')
    assert.deepEqual(await find(wrong), [])
    const { data } = await expectResponse<List>(server, 200, ['GET', `/orders?q=${written}&state=paid`])
    assert.deepEqual(data, [])
  })
})
