/** The scheduled jobs, on the main thread. In a cluster only the leader runs them. Each is closed before the store. */
import type { Config } from '../config.ts'
import type { Db } from '../db/db.ts'
import { notifyAutomaticIncident } from '../notifications/incident-notifications.ts'
import type { Log } from '../lib/log.ts'
import { operatorAudience } from '../notifications/notification-kinds.ts'
import { raiseNotification } from '../notifications/notifications.ts'
import { parseCidrs } from '../lib/address-guard.ts'
import { defaultClientBounds, HttpClient } from '../lib/http-client/http-client.ts'
import { AutomaticRechargeSweep } from './automatic-recharge-sweep.ts'
import { BackupSchedule } from './backup-schedule.ts'
import type { Core } from '../engine/core.ts'
import { HealthChecks } from './health-checks.ts'
import { NotificationDelivery } from './notification-delivery.ts'
import { Housekeeping } from './housekeeping.ts'
import { AddressMonitor } from './address-monitor.ts'
import { PaymentChecks } from './payment-checks.ts'
import { IncidentMonitor, type IncidentFinding } from './incident-monitor.ts'
import type { BackupRunner } from '../backup/backup-runner.ts'
import type { AutomaticRechargeService } from '../engine/payments/automatic-recharge-service.ts'
import type { PaymentService } from '../engine/payments/payment-service.ts'
import type { AdmissionOutages } from '../health/admission-outage.ts'
import type { Change } from '../db/change.ts'

interface Job {
  close(): Promise<void>
}

/** What the jobs use of the main thread. */
interface JobServices {
  readonly backups: BackupRunner
  readonly outages: AdmissionOutages
  readonly payments: PaymentService
  readonly automaticRecharges: AutomaticRechargeService
  publishChanges(changes: readonly Change[]): Promise<void>
}

/** How soon a node starts or stops its jobs when the leader changes. */
const checkLeadershipEveryMs = 1000

/** Runs the jobs while this node is the leader. The returned function stops them. */
export function startLeaderJobs(
  config: Config,
  core: Core,
  control: JobServices,
  log: Log,
): () => Promise<void> {
  let running: readonly Job[] = []
  const followLeadership = (): void => {
    if (core.isLeader() && running.length === 0) running = createLeaderJobs(config, core, control, log)
    if (core.isLeader() || running.length === 0) return
    for (const job of running) void job.close()
    running = []
  }
  followLeadership()
  const timer = setInterval(followLeadership, checkLeadershipEveryMs)
  timer.unref()
  return async () => {
    clearInterval(timer)
    await Promise.all(running.map((job) => job.close()))
  }
}

function createLeaderJobs(config: Config, core: Core, control: JobServices, log: Log): readonly Job[] {
  const { sealer } = core
  const { db } = core.store
  const client = new HttpClient({ ...defaultClientBounds, allow: parseCidrs(config.upstreamAllow.join(',')) })
  return [
    new HealthChecks(core, { client, maxResponseBytes: config.answerLimitBytes, now: Date.now }),
    new NotificationDelivery({ db, sealer, log, config, branding: core.branding }),
    new Housekeeping({
      db,
      currency: core.currency,
      log,
      keysDeletedMs: config.keysDeletedMs,
      responseItemsTtlMs: config.responseItemsTtlMs,
      publishChanges: (changes) => control.publishChanges(changes),
    }),
    new BackupSchedule({ backups: control.backups, config, db, log }),
    ...(control.payments.hasMethods ? [new PaymentChecks(control.payments, log)] : []),
    ...(control.automaticRecharges.isOffered
      ? [new AutomaticRechargeSweep(control.automaticRecharges, log)]
      : []),
    new AddressMonitor({ db, log, urls: config.publicUrls, everyMs: config.addressCheckMs }),
    new IncidentMonitor({
      db,
      log,
      options: {
        objectivePercent: config.objectivePercent,
        windowMs: config.incidentWindowMs,
        minFailures: config.incidentMinimum,
        recoveryMs: config.incidentRecoveryMs,
      },
      outages: control.outages,
      onFinding: (finding) => notifyFinding(db, log, finding),
    }),
  ]
}

async function notifyFinding(db: Db, log: Log, finding: IncidentFinding): Promise<void> {
  if (finding.kind !== 'burning') {
    const { id, models, title } = finding.incident
    log.warn({ incident: id, title, models }, `incident ${finding.kind}`)
    await notifyAutomaticIncident(db, finding.incident)
    return
  }
  const { model, rule, burn, objective } = finding
  log.warn({ model, rule, burn }, 'error budget burn rate exceeded')
  await raiseNotification(db, {
    audience: operatorAudience,
    kind: 'availability',
    severity: rule === 'fast' ? 'critical' : 'warning',
    subject: `model:${model}`,
    // Once per day and rule: the availability page keeps showing it.
    period: `${rule} ${new Date().toISOString().slice(0, 10)}`,
    code: `${rule}_burn`,
    params: { model, burn: burn.toFixed(1), objective: String(Number((objective * 100).toFixed(4))) },
  })
}
