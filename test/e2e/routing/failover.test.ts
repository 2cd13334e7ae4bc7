// @backend both
/** One of two upstreams has each of twelve faults: callers do not notice, and few attempts are wasted. */

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { sharedTestServer } from '../../support/server/test-server.ts'
import { runLoadWithFault, faultNames } from '../../long/failover-load.ts'

const requests = 60
const server = await sharedTestServer()

describe('Failover', () => {
  for (const fault of faultNames) {
    for (const stream of [false, true]) {
      const mode = stream ? 'streaming' : 'non-streaming'
      test(`Upstream that ${fault} – ${requests} ${mode} requests succeed with at most 1.2 attempts each`, async () => {
        const outcome = await runLoadWithFault(server, fault, { requests, concurrency: 4, stream })
        assert.equal(outcome.started, requests)
        assert.ok(outcome.attempts <= 1.2 * requests, `${outcome.attempts} attempts`)
        // A stream truncated after its first content is not retried; soon the circuit of its upstream opens.
        const broken = stream && fault === 'truncates its response' ? 10 : 0
        assert.ok(outcome.complete >= requests - broken, `${outcome.complete} complete`)
        assert.equal(outcome.resent, 0)
      })
    }
  }
})
