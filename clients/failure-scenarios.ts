/** What official clients of both formats do when an upstream rejects, breaks off or stays silent; by title. */
import type { Scenario } from './client-program.ts'
import { assertClosed, assertCutShort, rejectOnce } from './server-checks.ts'

export const failureScenarios: Readonly<Record<string, Scenario>> = {
  'Rate-limited upstream – the client retries and gets a response': {
    name: 'retried',
    before: (context, family) => rejectOnce(context, family, 429),
  },
  'Rate-limited upstream without retries – raises the error': {
    name: 'without_retries',
    before: (context, family) => rejectOnce(context, family, 429),
  },
  'Disconnect from a stream – closes the upstream and ends the charge': {
    name: 'disconnect_from_stream',
    async after(context, family, doneMs) {
      await assertClosed(context, family, doneMs)
      await assertCutShort(context, family)
    },
  },
  'Timeout of a silent request – closes the upstream': {
    name: 'timeout_of_silent_request',
    after: assertClosed,
  },
  'Error within a stream – is raised after the text before it': { name: 'error_in_stream' },
  'Truncated stream – is raised as an error after the text before it': { name: 'truncated_stream' },
}
