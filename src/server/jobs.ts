/** The scheduled jobs of a node: beside requests, on the main thread, each closed before the store is. */
import type { Config } from '../config.ts'
import type { Db } from '../db/db.ts'
import { tellAutomatic } from '../http/incident-telling.ts'
import type { Log } from '../lib/log.ts'
import { operator } from '../notifications/notification-kinds.ts'
import { raiseNotice } from '../notifications/notifications.ts'
import { parseCidrs } from '../lib/address-guard.ts'
import { defaultBounds, HttpClient } from '../lib/http-client/http-client.ts'
import { BackupSchedule } from './backup/schedule.ts'
import type { Core } from './core.ts'
import { HealthChecks } from './jobs/health-checks.ts'
import { NoticeDelivery } from './deliver-notices.ts'
import { PeopleTending } from './tend-people.ts'
import type { Orders } from './orders.ts'
import { AddressWatch } from './watch-addresses.ts'
import { ModelWatch, type Finding } from './watch-models.ts'

interface Job {
  close(): Promise<void>
}

/** How soon a node of a cluster takes up what another has left. */
const followEveryMs = 1000

/** Starts them all; what is returned ends them. Of a cluster's nodes one does what is done for all. */
export function startJobs(config: Config, core: Core, orders: Orders, log: Log): () => Promise<void> {
  let forAll: readonly Job[] = []
  const follow = (): void => {
    if (core.leads() && forAll.length === 0) forAll = jobsForAll(config, core, orders, log)
    if (core.leads() || forAll.length === 0) return
    for (const job of forAll) void job.close()
    forAll = []
  }
  follow()
  const following = setInterval(follow, followEveryMs)
  following.unref()
  return async () => {
    clearInterval(following)
    await Promise.all(forAll.map((job) => job.close()))
  }
}

function jobsForAll(config: Config, core: Core, orders: Orders, log: Log): readonly Job[] {
  const { sealer } = core
  const { db } = core.store
  const client = new HttpClient({ ...defaultBounds, allow: parseCidrs(config.upstreamAllow.join(',')) })
  return [
    new HealthChecks(core, { client, maxAnswerBytes: config.answerLimitBytes, now: Date.now }),
    new NoticeDelivery({ db, sealer, log, config }),
    new PeopleTending({
      db,
      log,
      keysDeletedMs: config.keysDeletedMs,
      announce: (changes) => orders.announce(changes),
    }),
    new BackupSchedule({ work: orders.backups, config, db, log }),
    new AddressWatch({ db, log, urls: config.publicUrls, everyMs: config.addressCheckMs }),
    new ModelWatch({
      db,
      log,
      terms: {
        objectivePercent: config.objectivePercent,
        windowMs: config.incidentWindowMs,
        minimum: config.incidentMinimum,
        recoveryMs: config.incidentRecoveryMs,
      },
      found: (finding) => tell(db, log, finding),
    }),
  ]
}

async function tell(db: Db, log: Log, finding: Finding): Promise<void> {
  if (finding.kind !== 'burning') {
    const { id, models } = finding.incident
    log.warn({ incident: id, models }, `an incident was ${finding.kind}`)
    await tellAutomatic(db, finding.incident)
    return
  }
  const { model, rule, burn, objective } = finding
  log.warn({ model, rule, burn }, 'a model spends its budget of failures too fast')
  await raiseNotice(db, {
    audience: operator,
    kind: 'availability',
    severity: rule === 'fast' ? 'critical' : 'warning',
    subject: `model:${model}`,
    // Once a day and pace: it goes on being shown under availability.
    period: `${rule} ${new Date().toISOString().slice(0, 10)}`,
    code: `${rule}_burn`,
    params: { model, burn: burn.toFixed(1), objective: String(Number((objective * 100).toFixed(4))) },
  })
}
