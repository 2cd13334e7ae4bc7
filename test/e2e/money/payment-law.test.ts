// @backend sqlite – test/long/payments.long.ts runs on clusters
// @suite all – crash tests
// @relay process – its clock is shifted by a preloaded module
/** The law of payments on a single relay that is killed again and again. */
import { describe, test } from 'node:test'
import { runPaymentLaw } from '../../long/payment-law.ts'
import { PaymentWorld } from '../../long/payment-world.ts'
import { seedRange } from '../../support/runner/seeds.ts'
import { startServerProcess } from '../../support/server/server-process.ts'

const { from: seed } = seedRange(1)

describe('Law of payments', () => {
  test(`kill -9, seed ${seed} – credits and listed payments are the genuine ones, each once`, async (t) => {
    const world = await PaymentWorld.open(seed, 2)
    t.after(() => world.close())
    const server = await startServerProcess(t, { env: world.env })
    const kill = async (): Promise<void> => {
      await server.relay.kill()
      await server.restart()
    }
    const relays = {
      server,
      nodes: () => [server.relay],
      disturbances: Array.from({ length: 5 }, () => kill),
      restartAhead: (ms: number) => server.restart({ CLOCK_AHEAD_MS: String(ms) }),
    }
    await runPaymentLaw(t, world, relays, { orders: 100, notices: 1500 })
  })
})
