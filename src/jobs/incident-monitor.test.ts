import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openAnyStore } from '../db/store.fixture.ts'
import { sql } from '../db/schema/schema.ts'
import { AdmissionOutages } from '../health/admission-outage.ts'
import { minuteMs } from '../health/availability.ts'
import type { Incident } from '../health/incidents.ts'
import { createLog } from '../lib/log.ts'
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
      outages: new AdmissionOutages(),
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

  test('outage of admission – is an incident from its start, and ends soon after it', async (t) => {
    const { db } = await openAnyStore(t)
    const outages = new AdmissionOutages()
    const since = Date.now() - 10 * minuteMs
    outages.onAdmissionChange(false, since)
    const opened = Promise.withResolvers<Incident>()
    const closed = Promise.withResolvers<Incident>()
    const monitor = new IncidentMonitor({
      db,
      log: createLog('silent'),
      options: { objectivePercent: 99.9, windowMs: minuteMs, minFailures: 10, recoveryMs: 1000 },
      outages,
      onFinding(finding) {
        if (finding.kind === 'opened') opened.resolve(finding.incident)
        if (finding.kind === 'closed') closed.resolve(finding.incident)
        return Promise.resolve()
      },
    })
    t.after(() => monitor.close())
    const incident = await opened.promise
    assert.equal(incident.id, outages.latest?.id)
    assert.deepEqual([incident.openedAt, incident.severity, incident.models], [since, 'critical', []])
    assert.equal(incident.title, 'Relay API: requests are rejected')
    outages.onAdmissionChange(true, Date.now())
    const { id, posts } = await closed.promise
    assert.equal(id, incident.id)
    assert.deepEqual(
      posts.map(({ code, message }) => [code, message]),
      [
        ['recovered', 'The service is accepting requests again.'],
        ['failing', 'The service is rejecting requests. We are investigating.'],
      ],
    )
  })
})
