/** Settings of what is kept, and for how long. */
import { duration, NotAllowed, type Setting } from '../lib/setting-types.ts'

const dayMs = 86_400_000
const days = duration('0s', 0, 36_500 * dayMs)

export const retentionSettings = {
  requestsKeptMs: {
    env: 'REQUEST_RETENTION',
    group: 'Data',
    doc: 'So long the rows of single requests are kept, such as `90d`; older ones are deleted in the background. Balances, the ledger, charges and the sums of statistics stay. `0s`: rows are kept for good.',
    allowed: '`0s`, or a time of at least a day such as `90d`',
    standard: days.standard,
    read(text: string | undefined): number {
      const keptMs = days.read(text)
      if (keptMs > 0 && keptMs < dayMs) throw new NotAllowed()
      return keptMs
    },
  },
} as const satisfies Record<string, Setting<unknown>>
