/** Disputes over the scripted Stripe, through crashes; test/checks/unit-tests-on-postgres.test.ts runs them on PostgreSQL, too. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { accountById } from '../../accounts/accounts.ts'
import { readConfig } from '../../config.ts'
import { listDifferences } from '../../payments/differences.ts'
import { disputeByReference } from '../../payments/payment-refunds.ts'
import { account, openRecharges, saveCard, type OpenRecharges } from './automatic-recharge.fixture.ts'
import { createOrder } from './create-order.ts'
import type { PaymentDeps } from './payment-deps.ts'
import { receiveDispute } from './receive-dispute.ts'
import { reconcile } from './reconcile.ts'

const taken = { kind: 'taken', payment: 0n, bonus: 0n, balance: 0n } as const

/** Suspends accounts whose payments are disputed; `takeBack` is the ledger's. */
function depsOf({ deps }: OpenRecharges, takeBack: () => Promise<typeof taken>): PaymentDeps {
  const config = readConfig({ DISPUTE_STOPS_KEYS: '1' })
  return { ...deps, config, credits: { ...deps.credits, takeBack } }
}

/** The database of a process that is killed before this write. */
function killedBefore(deps: PaymentDeps, write: number): PaymentDeps {
  let writes = 0
  return {
    ...deps,
    db: {
      ...deps.db,
      write: (...queries) => {
        if (writes === write) return Promise.reject(new Error('killed'))
        writes += 1
        return deps.db.write(...queries)
      },
    },
  }
}

describe('receiveDispute', () => {
  for (const write of [0, 1, 2])
    test(`crash before write ${write} – leaves no account active whose dispute is entered`, async (t) => {
      const open = await openRecharges(t)
      const reference = open.stripe.dispute(await saveCard(open))
      const deps = depsOf(open, () => Promise.resolve(taken))
      const first = receiveDispute(killedBefore(deps, write), 'stripe', reference)
      if (write < 2) await assert.rejects(first, /killed/)
      else await first
      await receiveDispute(deps, 'stripe', reference)
      assert.equal((await disputeByReference(open.db, 'stripe', reference))?.state, 'open')
      assert.equal((await accountById(open.db, account))?.status, 'suspended')
    })

  test('dispute that cannot be entered – is listed, and the other lines are compared', async (t) => {
    const open = await openRecharges(t)
    const reference = open.stripe.dispute(await saveCard(open))
    const input = {
      account,
      method: 'stripe',
      product: null,
      amount: '20',
      clientKey: null,
      by: 'person:one',
    }
    const { order } = await createOrder(open.deps, input)
    open.stripe.pay(order.id)
    const day = new Date(open.clock.now).toISOString().slice(0, 10)
    const span = { method: 'stripe', from: day, to: day, by: 'test' }
    const failing = depsOf(open, () => Promise.reject(new Error('too many parameters')))
    const failed = await reconcile(failing, span)
    assert.deepEqual(
      [failed.state, failed.problem, failed.repaired, failed.differences],
      ['failed', `Dispute ${reference}: too many parameters`, 1, 1],
    )
    const dispute = async () => {
      const { data } = await listDifferences(open.db, { kind: 'dispute' }, { limit: 10 })
      return data.map(({ reference: of, accountId }) => [of, accountId])
    }
    assert.deepEqual(await dispute(), [[reference, null]])
    const done = await reconcile(
      depsOf(open, () => Promise.resolve(taken)),
      span,
    )
    assert.deepEqual([done.state, done.problem], ['done', null])
    assert.deepEqual(await dispute(), [[reference, account]])
  })
})
