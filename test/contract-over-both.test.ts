/** The automation contract, its money, and failover on a node of a cluster with Redis: the same as on one relay alone. */

import { runOverBoth } from './both-stores.ts'

await runOverBoth([
  () => import('./admin.test.ts'),
  () => import('./admin-money.test.ts'),
  () => import('./failover-circuits.test.ts'),
])
