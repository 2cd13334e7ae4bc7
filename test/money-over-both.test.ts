/** Money where many want it at once, on a node of a cluster with Redis: the same as on one relay alone. */

import { runOverBoth } from './both-stores.ts'

await runOverBoth([() => import('./money.test.ts')])
