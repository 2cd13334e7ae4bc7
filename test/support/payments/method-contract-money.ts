/** The cases of the shared suite about refunds, bills and notices. */
import assert from 'node:assert/strict'

import { BillNotReadyError, ForgedNoticeError } from '../../../src/payments/payment-method.ts'
import {
  assertUnknown,
  beginOrder,
  paidOrder,
  readBills,
  receivedNotice,
  refundOf,
  sendRefund,
  type FaultOf,
  type MethodCases,
  type MethodContract,
  type OpenMethod,
} from './method-fixture.ts'

export function moneyCases(contract: MethodContract): MethodCases {
  return {
    ...refundCases,
    ...refundFaultCases(contract),
    ...billCases,
    ...billFaultCases(contract),
    ...noticeCases,
    ...noticeFaultCases(contract),
  }
}

const refundCases: MethodCases = {
  'a payment is refunded in part, then the rest, then no more': async (open) => {
    const order = await paidOrder(open)
    assert.equal(await sendRefund(open, refundOf(order, 400n)), 'done')
    assert.equal(await sendRefund(open, refundOf(order, order.amountMinor - 400n)), 'done')
    assert.equal(await sendRefund(open, refundOf(order, 1n)), 'refused')
    assert.equal(open.provider.payments[0]?.refundedMinor, order.amountMinor)
  },

  'a refund that may have been sent is done at most once': async (open) => {
    const { contract, method, provider } = open
    const refund = refundOf(await paidOrder(open), 400n)
    if (!contract.refundsByNumber) {
      assert.equal((await method.readRefund(refund)).state, 'unclear')
      return
    }
    assert.equal((await method.readRefund(refund)).state, 'absent')
    await method.refund(refund)
    await method.refund(refund)
    assert.equal(provider.payments[0]?.refundedMinor, 400n)
  },
}

function refundFaultCases(contract: MethodContract): MethodCases {
  return Object.fromEntries(
    Object.entries(contract.refundFaults).map(([fault, expected]) => [
      `a refund is ${expected} after the fault: ${fault}`,
      async (open: OpenMethod) => {
        const { method, provider } = open
        const refund = refundOf(await paidOrder(open), 400n)
        provider.faults = { refund: fault as FaultOf<'refund'> }
        if (expected === 'error') await assertUnknown(open, method.refund(refund))
        else assert.equal((await method.refund(refund)).state, expected)
        if (expected !== 'error' && expected !== 'sent') return
        if (expected === 'sent') assert.equal((await method.readRefund(refund)).state, 'sent')
        provider.faults = {}
        provider.finishRefunds()
        assert.equal(await sendRefund(open, refund), 'done')
        assert.equal(provider.payments[0]?.refundedMinor, 400n)
      },
    ]),
  )
}

const billCases: MethodCases = {
  'the bill equals the payments and refunds': async (open) => {
    const { contract, method, provider } = open
    if (method.bills === null) return
    const first = await paidOrder(open)
    const second = await paidOrder(open, { amountMinor: 2n })
    await sendRefund(open, refundOf(first, 300n))
    provider.refundElsewhere(first.id, 200n)
    await beginOrder(open)
    const lines = await readBills(method)
    const payments = lines.filter((line) => line.kind === 'payment')
    assert.deepEqual(
      payments.map(({ transaction, amountMinor }) => `${transaction} ${amountMinor}`).toSorted(),
      [first, second].map(({ transaction, amountMinor }) => `${transaction} ${amountMinor}`).toSorted(),
    )
    for (const { order } of payments) assert.ok(order === null || [first.id, second.id].includes(order))
    for (const { currency } of lines) assert.equal(currency, method.currency)
    const refunds = lines.filter((line) => line.kind === 'refund')
    assert.deepEqual(
      refunds.map(({ amountMinor }) => String(amountMinor)).toSorted(),
      contract.billsNameRefunds ? ['200', '300'] : [],
    )
  },
}

function billFaultCases(contract: MethodContract): MethodCases {
  return Object.fromEntries(
    Object.entries(contract.billFaults).map(([fault, expected]) => [
      `a bill is not compared after the fault: ${fault}`,
      async (open: OpenMethod) => {
        await paidOrder(open)
        open.provider.faults = { bill: fault as FaultOf<'bill'> }
        const bills = readBills(open.method)
        if (expected === 'error') await assertUnknown(open, bills)
        else await assert.rejects(bills, BillNotReadyError)
      },
    ]),
  )
}

const noticeCases: MethodCases = {
  'a genuine notice names its order and payment, as often as it comes': async (open) => {
    const order = await paidOrder(open)
    const notice = receivedNotice(open.provider.notice(order.id))
    for (let count = 0; count < 2; count += 1)
      assert.deepEqual(await open.method.notices?.read(notice), {
        kind: 'order',
        order: order.id,
        payment: { transaction: order.transaction, amountMinor: order.amountMinor },
      })
  },

  'a refund made elsewhere that a notice names is read': async ({ method, provider, ...open }) => {
    if (method.readNamedRefund === undefined) return
    const { id, transaction } = await paidOrder({ method, provider, ...open })
    const reference = provider.refundElsewhere(id, 200n)
    const notice = provider.refundNotice?.(reference)
    assert.ok(notice)
    const subject = await method.notices?.read(receivedNotice(notice))
    assert.ok(subject?.kind === 'refund')
    const facts = { transaction, currency: method.currency, amountMinor: 200n }
    assert.deepEqual(await method.readNamedRefund(subject), facts)
    const other = method.readNamedRefund({ ...subject, refund: 'EXT0', reference: 'EXT0' })
    await assertUnknown({ method, provider, ...open }, other)
  },

  'each outcome of a notice has a response that the provider understands': async ({ contract, method }) => {
    for (const outcome of ['accepted', 'retry', 'forged'] as const) {
      const response = method.notices?.responseTo(outcome)
      assert.equal(response?.status, contract.noticeResponses[outcome].status, outcome)
      assert.match(response?.body ?? '', contract.noticeResponses[outcome].body, outcome)
    }
  },
}

function noticeFaultCases(contract: MethodContract): MethodCases {
  return Object.fromEntries(
    contract.noticeFaults.map((fault) => [
      `a notice is forged that is: ${fault}`,
      async (open: OpenMethod) => {
        const order = await paidOrder(open)
        const notice = receivedNotice(open.provider.notice(order.id, fault))
        await assert.rejects(async () => open.method.notices?.read(notice), ForgedNoticeError)
      },
    ]),
  )
}
