/**
 * What the doors may ask of the rest of the house. A worker has one, made at its birth; the command line makes one
 * without HTTP when no relay runs.
 */
import type { Directory } from '../accounts/directory.ts'
import type { Catalog } from '../catalog/catalog.ts'
import type { Config } from '../config.ts'
import type { Change } from '../db/change.ts'
import type { Db } from '../db/db.ts'
import type { Circuit } from '../health/circuit.ts'
import type { Blame, Circuits } from '../health/observation.ts'
import type { Lately } from '../health/recent-calls.ts'
import type { Sealer } from '../lib/encryption.ts'
import type { CreditKind } from '../ledger/events.ts'
import type { Voucher } from '../ledger/credits/vouchers.ts'
import type { Backups } from '../db/backups.ts'
import type { Guard } from './guard.ts'

/** What an account has, in nanos. Periods are the open ones of its time zone. */
export interface Wallet {
  readonly balance: bigint
  readonly held: bigint
  /** What can still be set aside: the smallest of balance and caps, less what is held. */
  readonly available: bigint
  readonly spentToday: bigint
  readonly spentMonth: bigint
}

export interface CreditOrder {
  readonly account: string
  /** Nanos; negative takes back. */
  readonly amount: bigint
  readonly reason: string
  readonly source: CreditKind
  readonly idempotencyKey: string
}

export interface CreditReceipt {
  readonly id: string
  readonly amount: bigint
  readonly balance: bigint
  /** False when the same key had credited before. */
  readonly isNew: boolean
}

/** A voucher that was redeemed, and the credit that came of it. */
export interface VoucherReceipt {
  readonly voucher: Voucher
  readonly creditId: string
  readonly balance: bigint
}

export interface LedgerVerdict {
  readonly ok: boolean
  readonly entries: number
  readonly drift: bigint
  readonly openHolds: number
  readonly overrun: bigint
  readonly findings: readonly string[]
}

/** The outcome of one real, cheap call of an upstream. */
export interface UpstreamTrial {
  readonly ok: boolean
  readonly status: number | null
  readonly durationMs: number
  /** What happened, in words fit for an operator; without secrets. */
  readonly message: string
}

/** What is known of one call: its three circuits, and what happened to its upstream's model lately. */
export interface CallHealth {
  readonly circuits: Readonly<Record<Blame, Circuit>>
  readonly lately: Lately
  /** From when on anything is known. */
  readonly knownSince: number
}

/** What an upstream says it has. */
export interface UpstreamModels {
  readonly ok: boolean
  readonly status: number | null
  /** What happened, in words fit for an operator; without secrets. */
  readonly message: string
  /** In the order of the alphabet. */
  readonly models: readonly string[]
}

/** A node of a cluster. Times in milliseconds since the epoch. */
export interface NodeRecord {
  readonly id: string
  readonly name: string
  readonly version: string
  readonly state: 'running' | 'silent' | 'stopped' | 'retired'
  readonly startedAt: number
  readonly seenAt: number
  readonly openHolds: number
}

export interface House {
  readonly config: Config
  readonly db: Db
  readonly directory: Directory
  readonly catalog: Catalog
  readonly version: string
  /** Resolves when durable. Throws a refusal: `conflict` for more than is there, or another amount by the same key. */
  credit(order: CreditOrder): Promise<CreditReceipt>
  /** Enters the credit whose order is written down (ledger/credit-orders.ts); resolves when durable. */
  enterOrder(creditId: string): Promise<CreditReceipt>
  /** Uses a voucher for an account, in somebody's name. Throws a refusal that says why it is worth nothing. */
  redeem(accountId: string, code: string, by: string): Promise<VoucherReceipt>
  wallet(accountId: string, keyId: string | null): Promise<Wallet>
  /** Resolves when every thread works with what has changed. */
  announce(changes: readonly Change[]): Promise<void>
  /** Whether everything is known here that was changed anywhere a second ago; waits for it a while. */
  isCurrent(): Promise<boolean>
  verify(): Promise<LedgerVerdict>
  /** None where one relay works by itself. */
  nodes(): Promise<readonly NodeRecord[]>
  /** Gives up a node; tells how many of its requests were settled. Throws a refusal where there is no such node. */
  retireNode(id: string): Promise<number>
  /** One real call of an upstream with this model name, as `POST /upstreams/{id}/test` makes it. */
  tryUpstream(upstreamId: string, model: string | null): Promise<UpstreamTrial>
  /** What is known of the health of these calls, in the same order. */
  health(circuits: readonly Circuits[]): Promise<CallHealth[]>
  /** Asks an upstream which models it has. */
  fetchModels(upstreamId: string): Promise<UpstreamModels>
  /** Seals upstreams' credentials for their rows. */
  readonly sealer: Sealer
  /** Copies of everything, made while it works. */
  readonly backups: Backups
  /** What guessing must not open; one for the whole process. */
  readonly guard: Guard
  /** Prometheus text of the whole process. */
  metrics(): Promise<string>
  /** Ready for traffic. */
  isReady(): boolean
}
