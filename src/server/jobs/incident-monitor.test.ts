import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openAnyStore } from '../../db/store.fixture.ts'
import { sql } from '../../db/schema/schema.ts'
import { minuteMs } from '../../health/availability.ts'
import { createLog } from '../../lib/log.ts'
import { IncidentMonitor, type IncidentFinding } from './incident-monitor.ts'

describe('IncidentMonitor', () => {
  test('requests rejected before their model was read – never alert for a model without a name', async (t) => {
    const { db } = await openAnyStore(t)
    const minute = Math.floor(Date.now() / minuteMs) * minuteMs
    const failing = ['', 'm'].map((model) => ({ model, minute, answered: 0, failed: 100, apart: 0 }))
    await db.write(sql.insertInto('availability_minutes').values(failing))
    const findings: IncidentFinding[] = []
    const { promise: bothFound, resolve } = Promise.withResolvers<void>()
    const monitor = new IncidentMonitor({
      db,
      log: createLog('silent'),
      options: { objectivePercent: 99.9, windowMs: minuteMs, minFailures: 10, recoveryMs: minuteMs },
      onFinding(finding) {
        findings.push(finding)
        if (findings.length === 2) resolve()
        return Promise.resolve()
      },
    })
    t.after(() => monitor.close())
    await bothFound
    assert.deepEqual(
      findings.map((finding) => finding.kind === 'burning' && [finding.rule, finding.model]),
      [
        ['fast', 'm'],
        ['slow', 'm'],
      ],
    )
  })
})
