import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openAnyStore } from '../../db/store.fixture.ts'
import { insertAccounts } from '../../ledger/credits/accounts.fixture.ts'
import { addInvoiceTitle, listInvoiceTitles } from '../../payments/invoice-titles.ts'

const title = {
  kind: 'person',
  title: 'Ann',
  taxNumber: null,
  address: null,
  phone: null,
  bank: null,
  bankAccount: null,
  email: null,
  remark: null,
} as const

describe('invoice titles', () => {
  test('An account has at most 50, however many are added at once', async (t) => {
    const { db } = await openAnyStore(t)
    await insertAccounts(db, 'acc_1')
    const added = await Promise.allSettled(
      Array.from({ length: 55 }, () => addInvoiceTitle(db, 'acc_1', title, 'customer:ann@example.com')),
    )
    const errors = added.flatMap((result) => (result.status === 'rejected' ? [String(result.reason)] : []))
    assert.equal(errors.length, 5)
    assert.match(errors[0] ?? '', /at most 50 invoice titles/)
    assert.equal((await listInvoiceTitles(db, 'acc_1')).length, 50)
  })
})
