/** Settings of what the nodes of a cluster count together in Redis. */
import { duration, type Setting } from '../lib/setting-types.ts'

export const slotSettings = {
  slotLeaseMs: {
    env: 'SLOT_LEASE',
    group: 'Data',
    doc: 'How long after the end of a node that was killed, and was neither started again nor retired, the requests it had running are still counted in Redis against limits of concurrent requests. Nodes say three times in it that a request still runs.',
    ...duration('30s', 1000, 3_600_000),
  },
} as const satisfies Record<string, Setting<unknown>>
