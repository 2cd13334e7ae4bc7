/** The memory that a worker's request bodies hold, and its limit; `/metrics` sums both over the workers. */
import { Gauge, type Registry } from '@prometheus-io/client'
import type { BodyBudget } from '../../http/body.ts'

export function registerBodyMemory(registry: Registry, bodies: BodyBudget): void {
  const registers = [registry]
  new Gauge({
    name: 'sluice_request_body_limit_bytes',
    help: 'How much request bodies may hold: BODIES_LIMIT of all workers',
    registers,
  }).set(bodies.limitBytes)
  new Gauge({
    name: 'sluice_request_body_bytes',
    help: 'Memory held by request bodies',
    registers,
    collect() {
      this.set(bodies.heldBytes)
    },
  })
}
