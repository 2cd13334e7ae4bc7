/** What the authority does for the doors beside requests. */
import { Gauge, Registry } from '@prometheus-io/client'
import type { Config } from '../config.ts'
import type { Change, Changes } from '../db/change.ts'
import { answerBackups } from '../db/backups.ts'
import type { CreditReceipt, LedgerVerdict, VoucherReceipt, Wallet } from '../http/house.ts'
import { answerGuard, openGuard, type Guard } from '../http/guard.ts'
import { Attempts } from '../limits/attempts.ts'
import { BackupWork } from './backup/backup-runner.ts'
import type { Core } from './core.ts'
import type { Order } from './messages.ts'
import { Programmes } from './programmes.ts'

export interface OrderParts {
  readonly core: Core
  readonly config: Config
  /** Tells every worker, and waits until each works with the change. */
  readonly broadcast: (changes: Changes) => Promise<void>
  /** What every worker has counted. */
  readonly counts: () => Promise<object[]>
}

function nodeMetrics(core: Core): Registry {
  const registry = new Registry()
  const gauge = (name: string, help: string, value: number): void =>
    new Gauge({ name, help, registers: [registry] }).set(value)
  gauge('sluice_open_holds', 'Requests whose money is set aside', core.state.holds.size)
  gauge(
    'sluice_overrun_yuan',
    'Delivered and not charged, since the beginning',
    Number(core.state.overrun) / 1e9,
  )
  gauge('sluice_ledger_commits', 'Ledger commits on disk', core.commits.durable)
  gauge('sluice_admitting', 'The store takes commits', core.commits.admitting ? 1 : 0)
  for (const { name, help, value } of core.gauges()) gauge(name, help, value)
  core.health.addMetrics(registry)
  gauge('process_resident_memory_bytes', 'Resident memory', process.memoryUsage.rss())
  gauge('process_cpu_seconds_total', 'CPU time of all threads', cpuSeconds())
  return registry
}

function cpuSeconds(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1e6
}

export class Orders {
  readonly #parts: OrderParts
  readonly programmes: Programmes
  readonly backups: BackupWork
  readonly guard: Guard

  constructor(parts: OrderParts) {
    this.#parts = parts
    const { core } = parts
    const attempts = new Attempts(core.store.db)
    this.backups = new BackupWork(parts.config)
    this.guard = openGuard(attempts)
    this.programmes = new Programmes({ core, attempts, announce: (changes) => this.announce(changes) })
  }

  /** Carries out one order; throws a refusal. */
  async carryOut(order: Order): Promise<unknown> {
    const { core } = this.#parts
    switch (order.do) {
      case 'credit':
        return (await this.programmes.credit(order.credit)) satisfies CreditReceipt
      case 'enter-order':
        return (await this.programmes.enterOrder(order.id)) satisfies CreditReceipt
      case 'redeem':
        return (await this.programmes.redeem(order.account, order.code, order.by)) satisfies VoucherReceipt
      case 'wallet':
        return (await core.authority.wallet(order.account, order.key)) satisfies Wallet
      case 'announce':
        return this.announce(order.changes)
      case 'is-current':
        return core.isCurrent()
      case 'verify':
        return this.verify()
      case 'nodes':
        return core.nodes()
      case 'retire':
        return core.retireNode(order.node)
      case 'metrics':
        return this.metrics()
      case 'rate':
        return core.authority.takeRate(order.id, order.key)
      case 'retry':
        return core.health.mayRetry()
      case 'probe':
        return core.health.board.probe(order.keys)
      case 'health':
        return order.circuits.map((circuits) => core.health.of(circuits))
      case 'backup':
        return answerBackups(this.backups, order.ask)
      case 'guard':
        return answerGuard(this.guard, order.ask)
    }
  }

  /** Resolves when every thread works with what has changed. */
  async announce(changes: readonly Change[]): Promise<void> {
    await this.#parts.core.refresh(changes)
    await this.#parts.broadcast(changes)
  }

  verify(): Promise<LedgerVerdict> {
    return this.#parts.core.verify()
  }

  async metrics(): Promise<string> {
    const own = await nodeMetrics(this.#parts.core).getMetricsAsJSON()
    const counted = await this.#parts.counts()
    return Registry.aggregate([own, ...counted]).metrics()
  }
}
