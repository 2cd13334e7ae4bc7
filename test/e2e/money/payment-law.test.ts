// @backend sqlite – test/long/payments.long.ts runs on clusters
// @suite all – crash tests
/** The law of payments on a single relay that is killed again and again. */
import { describe, test } from 'node:test'
import { runPaymentLaw } from '../../long/payment-law.ts'
import { PaymentWorld } from '../../long/payment-world.ts'
import { seedRange } from '../../support/runner/seeds.ts'
import { startTestServer } from '../../support/server/test-server.ts'

const { from: seed } = seedRange(1)

describe('Law of payments', () => {
  test(`kill -9, seed ${seed} – credits and listed payments are the genuine ones, each once`, async (t) => {
    const world = await PaymentWorld.open(seed, 2)
    t.after(() => world.close())
    const server = await startTestServer(t, { env: world.env })
    const kill = async (): Promise<void> => {
      await server.kill()
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
