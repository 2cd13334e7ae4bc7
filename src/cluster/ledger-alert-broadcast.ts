/**
 * Only the leader monitors the ledger, but a mismatch halts admission on all nodes. It is broadcast after every check that
 * fails, and to each node that has just connected. The alert lasts until the nodes are restarted with a corrected ledger.
 */
import type { LedgerReport } from '../engine/verification/replay.ts'
import type { BroadcastMessage } from './broadcasts.ts'
import type { MonitorListener } from '../engine/verification/verify-thread.ts'

/** Findings are truncated because messages have a maximum size; `sluice verify` shows all of them. */
const maxFindings = 5
const maxFindingLength = 300

function encodeAlert({ drift, overrun, findings, ...rest }: LedgerReport): string {
  const truncated = findings.slice(0, maxFindings).map((finding) => finding.slice(0, maxFindingLength))
  return JSON.stringify({
    distrust: { ...rest, drift: drift.toString(), overrun: overrun.toString(), findings: truncated },
  } satisfies BroadcastMessage)
}

function decodeAlert(distrust: unknown): LedgerReport {
  const { drift, overrun, ...rest } = distrust as Record<'drift' | 'overrun', string> &
    Omit<LedgerReport, 'drift' | 'overrun'>
  return { ...rest, drift: BigInt(drift), overrun: BigInt(overrun) }
}

export class LedgerAlertBroadcast {
  readonly #send: (text: string) => void
  #listener: MonitorListener | null = null
  /** The last report with a mismatch, of this node or another. */
  #failedReport: LedgerReport | null = null

  constructor(send: (text: string) => void) {
    this.#send = send
  }

  /** Also broadcasts mismatches that the listener gets, and reports those of other nodes to it. */
  wrap(listener: MonitorListener): MonitorListener {
    this.#listener = listener
    if (this.#failedReport) listener.onReport(this.#failedReport)
    return {
      onReport: (report) => {
        if (!report.ok) {
          this.#failedReport = report
          this.#send(encodeAlert(report))
        }
        listener.onReport(report)
      },
      onError: (error) => listener.onError(error),
    }
  }

  /** Adopts the alert of another node, and sends the known one to a node that has just connected. */
  onMessage({ isNew, distrust }: BroadcastMessage): void {
    if (isNew === true && this.#failedReport) this.#send(encodeAlert(this.#failedReport))
    if (distrust === undefined) return
    this.#failedReport = decodeAlert(distrust)
    this.#listener?.onReport(this.#failedReport)
  }
}
