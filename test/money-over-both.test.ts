/** Money where many want it at once, and money that comes in, on a node of a cluster with Redis: the same as on one relay alone. */

import { runOverBoth } from './both-stores.ts'

await runOverBoth([
  () => import('./money.test.ts'),
  () => import('./vouchers.test.ts'),
  () => import('./trial-credit.test.ts'),
])
