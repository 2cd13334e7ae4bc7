/**
 * Runs the traffic of payments while relays and their database are killed, then lets days pass, so that the poller and the
 * comparison with the providers' lists have run, decides what waits for an operator, and checks the law.
 */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import type { Db } from '../../src/db/db.ts'
import { dateOf } from '../../src/ledger/periods.ts'
import { expectResponse } from '../support/client/admin-api.ts'
import { openDatabase } from '../support/server/database-access.ts'
import type { RelayProcess } from '../support/server/relay-process.ts'
import type { TestServer } from '../support/server/test-server.ts'
import { assertPaymentLaw, openWork, readPaymentRows } from './payment-books.ts'
import { PaymentTraffic } from './payment-traffic.ts'
import type { PaymentWorld } from './payment-world.ts'
import { waitUntil } from '../support/wait.ts'

const dayMs = 86_400_000
const accountCount = 20
/** By then, all orders have ended, and the lists of the days before are ready. */
const daysLater = 4
const maxWaitMs = 300_000

export interface PaymentRelays {
  readonly server: TestServer
  readonly nodes: () => readonly RelayProcess[]
  /** Each is done once, spread over the traffic. */
  readonly disturbances: readonly (() => Promise<unknown>)[]
  /** Restarts all relays with their clocks ahead. */
  readonly restartAhead: (ms: number) => Promise<void>
}

export interface PaymentLawSize {
  readonly orders: number
  readonly notices: number
}

export async function runPaymentLaw(
  t: TestContext,
  world: PaymentWorld,
  relays: PaymentRelays,
  { orders, notices }: PaymentLawSize,
): Promise<void> {
  const { server, nodes } = relays
  world.forwarder.target = () => world.prng.pick(nodes()).url
  const accounts: string[] = []
  while (accounts.length < accountCount) accounts.push((await server.account()).id)
  const traffic = new PaymentTraffic(world, nodes, accounts)
  const startedAt = Date.now()
  await Promise.all([traffic.run(orders, notices), disturb(relays, traffic, notices)])
  const store = await openDatabase(server.relay)
  t.after(() => store.close())
  const { db } = store

  await letDaysPass(db, { world, relays, traffic })
  await decideRefunds(db, server, world)
  const [from, to] = [-dayMs, dayMs].map((ms) => dateOf('Asia/Shanghai', startedAt + ms))
  for (const { method } of world.providers) {
    const run = await expectResponse(server, 200, ['POST', '/payments/reconcile', { method, from, to }])
    assert.equal(run['problem'], null, method)
  }

  const report = assertPaymentLaw(await readPaymentRows(db), world.providers, traffic)
  assert.equal((await server.verify()).ok, true)
  t.diagnostic(
    `${traffic.notices} notices of ${traffic.orders} orders: ${report.credited} payments credited, ${report.listed} listed, ` +
      `${report.refunded} refunded; ${relays.disturbances.length} kills; ${Math.round((Date.now() - startedAt) / 1000)} s`,
  )
  assert.ok(report.credited > orders / 4 && report.listed > 0 && report.refunded > 0)
}

async function disturb(
  { disturbances }: PaymentRelays,
  traffic: PaymentTraffic,
  notices: number,
): Promise<void> {
  for (const [index, act] of disturbances.entries()) {
    const share = (index + 0.5) / disturbances.length
    await waitUntil(() => traffic.notices >= notices * share, 'more notices', maxWaitMs)
    await act()
  }
}

interface Run {
  readonly world: PaymentWorld
  readonly relays: PaymentRelays
  readonly traffic: PaymentTraffic
}

/** All orders end. A day later some are paid after all, of which half is noticed; then the lists of both days are ready. */
async function letDaysPass(db: Db, { world, relays, traffic }: Run): Promise<void> {
  for (const provider of world.providers) provider.finishRefunds()
  for (const days of [1, daysLater]) {
    world.setAhead(days * dayMs)
    await relays.restartAhead(days * dayMs)
    await waitForEnds(db)
    if (days > 1) return
    traffic.payLate()
    await traffic.deliver(traffic.lateNotices().filter((_, index) => index % 2 === 0))
  }
}

async function waitForEnds(db: Db): Promise<void> {
  await waitUntil(async () => openWork(await readPaymentRows(db)) === 0, 'the end of all payments', maxWaitMs)
}

/** As an operator who looks into the provider’s own pages. */
async function decideRefunds(db: Db, server: TestServer, { providers }: PaymentWorld): Promise<void> {
  const requested = (await readPaymentRows(db)).refunds.filter(({ state }) => state === 'requested')
  for (const { id } of requested) await expectResponse(server, 200, ['POST', `/refunds/${id}/approve`])
  await waitForEnds(db)
  const { refunds } = await readPaymentRows(db)
  const refunded = new Map(
    providers
      .flatMap(({ payments }) => payments)
      .filter(({ refundedMinor }) => refundedMinor > 0n)
      .map(({ order, refundedMinor }) => [order, refundedMinor]),
  )
  for (const { id, orderId, amountMinor } of refunds.filter(({ state }) => state === 'unknown')) {
    const done = refunds
      .filter((refund) => refund.orderId === orderId && refund.state === 'done')
      .reduce((sum, refund) => sum + refund.amountMinor, 0n)
    const isMade = (refunded.get(orderId) ?? 0n) >= done + amountMinor
    const [action, body] = isMade
      ? ['done', { transaction: `seen-${id}` }]
      : ['refuse', { reason: 'not made at the provider' }]
    await expectResponse(server, 200, ['POST', `/refunds/${id}/${action}`, body])
  }
  await waitForEnds(db)
}
