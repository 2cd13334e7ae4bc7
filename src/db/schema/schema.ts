/**
 * The tables as types, and the module that owns each: a table is written only by its owner. The DDL is in migrations/.
 * Kysely only compiles queries here; the store's threads run them. Integers are numbers, except
 * money (money-columns.ts), which is bigint. Times are milliseconds since the epoch; booleans are 1 and 0.
 */

import {
  DummyDriver,
  Kysely,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  type Generated,
  type Selectable,
} from 'kysely'
import type { AvailabilityTables } from './tables/availability.ts'
import type { UpstreamCredentialsTable } from './tables/catalog.ts'
import type { BrandingTable } from './tables/branding.ts'
import type { ConsoleTables } from './tables/console.ts'
import type { InvoiceTables } from './tables/invoices.ts'
import type { LedgerTables } from './tables/ledger.ts'
import type { NotificationTables } from './tables/notifications.ts'
import type { PaymentTables } from './tables/payments.ts'
import type { PromotionTables } from './tables/promotions.ts'
import type { ReferralTables } from './tables/referrals.ts'
import type { UsageTables } from './tables/usage.ts'
import type { UserTables } from './tables/users.ts'

export type * from './tables/availability.ts'
export type * from './tables/branding.ts'
export type * from './tables/catalog.ts'
export type * from './tables/invoices.ts'
export type * from './tables/ledger.ts'
export type * from './tables/notifications.ts'
export type * from './tables/payments.ts'
export type * from './tables/promotions.ts'
export type * from './tables/referrals.ts'
export type * from './tables/usage.ts'

export type Flag = 0 | 1

export interface AccountsTable {
  id: string
  email: string
  email_normalised: string
  name: string
  tier: string
  status: 'active' | 'suspended'
  timezone: string
  price_factor_ppm: number | null
  cap_daily_nanos: bigint | null
  cap_monthly_nanos: bigint | null
  /** The balance below which the account is notified; null: a tenth of the last credit. */
  low_balance_nanos: bigint | null
  /** JSON: {rpm?, tpm?, rpd?, concurrency?}, each a number or "unlimited"; absent: the tier's limit. */
  limits: string
  trial: Flag
  first_paid_at: number | null
  created_at: number
  updated_at: number
}

export interface KeysTable {
  id: string
  account_id: string
  name: string
  /** SHA-256 of the secret in hex; the secret itself is never stored. */
  hash: string
  prefix: string
  last_four: string
  status: 'active' | 'disabled'
  expires_at: number | null
  /** JSON array of model names, which may end with `*`; null: every model. */
  models: string | null
  /** JSON array of CIDRs; null: every address. */
  ips: string | null
  cap_daily_nanos: bigint | null
  cap_monthly_nanos: bigint | null
  cap_total_nanos: bigint | null
  /** JSON: {rpm?, tpm?, rpd?, concurrency?}; absent: no separate limit. */
  limits: string
  created_at: number
  last_used_at: number | null
  deleted_at: number | null
}

export interface TiersTable {
  name: string
  /** null: unlimited, here and below. */
  rpm: number | null
  tpm: number | null
  rpd: number | null
  concurrency: number | null
  price_factor_ppm: number
  /** The tier of the account after its first payment; null: unchanged. */
  after_payment: string | null
}

export interface UpstreamsTable {
  id: string
  name: string
  provider: string
  base_url: string
  /** Sealed with the row's id. */
  credential: string
  /** Sealed with the row's id, because its URL may contain a password. */
  proxy: string | null
  /** JSON object of the headers that are added to every request, sealed with the row's id; null: none. */
  headers: string | null
  /** JSON object of what is added to every request's body; null: nothing. */
  body: string | null
  priority: number
  weight: number
  /** JSON of our cost, as decimal strings with currency and rate; null: unknown. */
  prices: string | null
  /** JSON: {connect_ms?, first_token_ms?, idle_ms?, answer_ms?}. */
  timeouts: string
  on_abort: 'cancel' | 'drain'
  enabled: Flag
  /** JSON object of provider-specific settings. */
  settings: string
  /** The interval of health checks without traffic; null: never. */
  health_check_ms: number | null
  created_at: number
  updated_at: number
}

export interface ModelsTable {
  id: string
  context_tokens: number
  max_output_tokens: number | null
  hidden_reasoning: Flag
  owned_by: string
  listed: Flag
  /** JSON: {prefer?, affinity?, fallbacks?}; see catalog/routing.ts. */
  routing: string
  /** JSON: {rpm?, tpm?, rpd?, concurrency?}, per account that calls it. */
  limits: string
  /** JSON as of `upstreams.timeouts`: those that are shorter than the upstream's count. */
  timeouts: string
  /** JSON: a list of what it can do; see catalog/operations.ts. */
  operations: string
  created_at: number
  updated_at: number
  deleted_at: number | null
}

export interface PricesTable {
  version: Generated<number>
  model_id: string
  effective_at: number
  free: Flag
  input_per_million_nanos: bigint
  output_per_million_nanos: bigint
  /** null: the price of input. */
  cached_input_per_million_nanos: bigint | null
  /** null: the price of input. */
  cache_write_per_million_nanos: bigint | null
  /** null: the price of other cache writes. */
  cache_write_1h_per_million_nanos: bigint | null
  /** null: the price of output. */
  reasoning_per_million_nanos: bigint | null
  per_request_nanos: bigint
  /** Per web search; null: free. */
  per_search_nanos: bigint | null
  /** JSON, as of providers/price-units.ts; null: nothing is priced by unit. */
  units: string | null
  /** The version was saved for a later time than it was saved at; null: it applied at once. */
  effective_from: number | null
}

export type PriceRow = Selectable<PricesTable>

export interface RoutesTable {
  model_id: string
  upstream_id: string
  upstream_model: string
  /** null: the upstream's own value. */
  priority: number | null
  weight: number | null
  /** 1: responses carry the upstream's name for the model. */
  expose_model: number
  /** What the model costs us there: a JSON object like that of `upstreams.prices`. null: none of its own. */
  prices: string | null
}

/** Whether a route has been seen to obey the maximum of output tokens; without a row, it has not been seen yet. */
export interface RouteMaximumsTable {
  upstream_id: string
  upstream_model: string
  state: 'obeyed' | 'exceeded'
  /** When it was first seen in this state. */
  at: number
}

/** The same under another name of the maximum than the upstream's own. A name that was exceeded is not used any more. */
export interface RouteMaximumFieldsTable extends RouteMaximumsTable {
  field: string
}

export interface Schema
  extends
    AvailabilityTables,
    ConsoleTables,
    InvoiceTables,
    LedgerTables,
    NotificationTables,
    PaymentTables,
    PromotionTables,
    ReferralTables,
    UsageTables,
    UserTables {
  accounts: AccountsTable
  keys: KeysTable
  tiers: TiersTable
  upstreams: UpstreamsTable
  upstream_credentials: UpstreamCredentialsTable
  models: ModelsTable
  prices: PricesTable
  routes: RoutesTable
  route_maximums: RouteMaximumsTable
  route_maximum_fields: RouteMaximumFieldsTable
  branding: BrandingTable
  cursors: { name: string; position: number }
  settings: { name: string; value: string }
}

const tablesOfModules = {
  accounts: ['accounts', 'keys', 'tiers', 'limit_requests'],
  branding: ['branding'],
  catalog: [
    'upstreams',
    'upstream_credentials',
    'models',
    'prices',
    'routes',
    'route_maximums',
    'route_maximum_fields',
  ],
  db: [
    'journal',
    'checkpoints',
    'entries',
    'owners',
    'requests',
    'kept_answers',
    'dropped_bills',
    'audit',
    'cursors',
    'settings',
  ],
  health: ['objectives', 'incidents', 'incident_posts', 'public_addresses'],
  ledger: ['vouchers', 'credit_orders', 'promotions', 'trial_grants'],
  payments: [
    'payment_orders',
    'automatic_recharges',
    'replaced_cards',
    'recharge_promotions',
    'recharge_bonuses',
    'payments',
    'payment_refunds',
    'payment_rates',
    'payment_disputes',
    'payment_runs',
    'payment_differences',
    'referral_codes',
    'referrals',
    'invoice_titles',
    'invoices',
    'invoice_orders',
    'invoice_files',
  ],
  limits: ['attempts'],
  notifications: ['notices', 'notice_preferences', 'channels', 'deliveries', 'outbox', 'announcements'],
  usage: [
    'response_pins',
    'response_items',
    'usage_hourly',
    'traffic_hourly',
    'latency_daily',
    'failures_hourly',
    'availability_minutes',
    'availability_days',
  ],
  users: ['persons', 'sessions', 'tickets', 'recovery_codes', 'passkeys', 'invites'],
} satisfies Record<string, readonly (keyof Schema)[]>

/** The only module that writes each table, enforced by test/architecture.test.ts. db/ writes the rows of ledger commits. */
export const owners: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(tablesOfModules).flatMap(([module, tables]) => tables.map((table) => [table, module])),
)

/** Compiles queries without running them: `db.all(sql.selectFrom('tiers').selectAll())`. */
export const sql = new Kysely<Schema>({
  dialect: {
    createAdapter: () => new SqliteAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  },
})
