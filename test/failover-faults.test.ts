/** One of two upstreams is down, in each of twelve ways: callers do not notice, and it costs few attempts. */

import { tellOfFaults } from './fault-stories.ts'
import { twelveFaults } from './twelve-faults.ts'

await tellOfFaults(Object.keys(twelveFaults), 60)
