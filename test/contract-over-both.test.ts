/** The automation contract, its money, and failover on a node of a cluster with Redis: the same as on one relay alone. */

import { runOverBoth } from './both-stores.ts'
import { tellOfFaults } from './fault-stories.ts'

await runOverBoth([
  () => import('./admin.test.ts'),
  () => import('./admin-money.test.ts'),
  () => import('./failover-circuits.test.ts'),
  // Of the twelve those that are told apart by what is settled: nothing, nothing in time, and a part.
  () => tellOfFaults(['answers 500', 'hangs before its headers', 'cuts in the middle'], 60),
])
