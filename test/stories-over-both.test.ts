/** The stories of keys and limits on a node of a cluster with Redis: the same as on one relay alone. */

import { runOverBoth } from './both-stores.ts'

await runOverBoth([
  () => import('./limits.test.ts'),
  () => import('./model-limits.test.ts'),
  () => import('./keys.test.ts'),
  () => import('./tiers.test.ts'),
])
