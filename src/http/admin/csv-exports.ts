/** The lists of the admin API that have a CSV export, with its columns. */
import type { z } from '@hono/zod-openapi'
import { csvExport, currencyColumn, keyScopeColumns, limitColumns, type CsvExport } from '../csv-export.ts'
import type { limitRequest } from '../api/limit-requests.ts'
import type { accountSchema } from './accounts/accounts.ts'
import type { listedKeySchema } from './accounts/key-list.ts'
import type { tierSchema } from './accounts/tiers.ts'
import type { inviteSchema, userSchema } from './accounts/users.ts'
import type { modelSchema } from './catalog/models.ts'
import type { upstreamSchema } from './catalog/upstreams.ts'
import type { entrySchema } from './money/credits.ts'
import type { promotionSchema } from './money/promotions.ts'
import type { voucherSchema } from './money/vouchers.ts'
import type { incidentSchema } from './monitoring/incidents.ts'
import type { auditRecordSchema } from './system/audit.ts'
import type { failureGroup } from './traffic/failures.ts'
import type { requestSchema } from './traffic/requests.ts'
import type { usageSchema } from './traffic/usage.ts'

const accounts = csvExport<z.infer<typeof accountSchema>>('/accounts', [
  'id',
  'email',
  'name',
  'tier',
  'status',
  'balance',
  'held',
  'available',
  'spent_today',
  'spent_month',
  'caps.daily',
  'caps.monthly',
  'low_balance',
  'currency',
  ...limitColumns,
  'timezone',
  'price_factor',
  'trial',
  'created_at',
  'updated_at',
])
const entries = csvExport<z.infer<typeof entrySchema>>('/accounts/{id}/entries', [
  'time',
  'id',
  'kind',
  'amount',
  'balance',
  currencyColumn,
  'source',
  'reason',
  'reference',
])
const keys = csvExport<z.infer<typeof listedKeySchema>>('/keys', [
  'id',
  'name',
  'account',
  'account_email',
  'prefix',
  'last_four',
  'status',
  'expired',
  'expires_at',
  ...keyScopeColumns,
  'created_at',
  'last_used_at',
])
const prices = [
  'prices.input',
  'prices.output',
  'prices.cached_input',
  'prices.cache_write',
  'prices.cache_write_1h',
  'prices.reasoning',
  'prices.per_request',
  'prices.per_search',
  'prices.free',
] as const
const models = csvExport<z.infer<typeof modelSchema>>('/models', [
  'id',
  'owned_by',
  'listed',
  'context_tokens',
  'max_output_tokens',
  ...prices,
  currencyColumn,
  'price_version',
  'routes',
  'prefer',
  'affinity',
  'fallbacks',
  'created_at',
  'updated_at',
])
const upstreams = csvExport<z.infer<typeof upstreamSchema>>('/upstreams', [
  'id',
  'name',
  'provider',
  'base_url',
  'enabled',
  'priority',
  'weight',
  ...prices,
  {
    name: 'currency',
    valueOf: ({ prices }) => prices && (prices.currency ?? currencyColumn.valueOf({}, '')),
  },
  'prices.rate',
  'health_check_ms',
  'created_at',
  'updated_at',
])
const vouchers = csvExport<z.infer<typeof voucherSchema>>('/vouchers', [
  'id',
  'status',
  'amount',
  currencyColumn,
  'expires_at',
  'created_at',
  'redeemed_at',
  'redeemed_by',
  'revoked_at',
])
const promotions = csvExport<z.infer<typeof promotionSchema>>('/promotions', [
  'id',
  'name',
  'amount',
  currencyColumn,
  'code',
  'state',
  'status',
  'starts_at',
  'ends_at',
  'granted',
  'max_grants',
  'credit_days',
  'created_at',
  'updated_at',
])
const tiers = csvExport<z.infer<typeof tierSchema>>('/tiers', [
  'name',
  'rpm',
  'tpm',
  'rpd',
  'concurrency',
  'price_factor',
  'after_payment',
])
const users = csvExport<z.infer<typeof userSchema>>('/people', [
  'id',
  'email',
  'name',
  'role',
  'account',
  'disabled',
  'two_factor',
  'email_verified',
  'last_sign_in_at',
  'created_at',
])
const invites = csvExport<z.infer<typeof inviteSchema>>('/invites', [
  'id',
  'note',
  'uses_left',
  'expires_at',
  'created_at',
])
const limitRequests = csvExport<z.infer<typeof limitRequest>>('/limit-requests', [
  'id',
  'account',
  'account_email',
  'status',
  'wanted.rpm',
  'wanted.tpm',
  'wanted.rpd',
  'wanted.concurrency',
  'reason',
  'answer',
  'created_at',
  'answered_at',
])
const requests = csvExport<z.infer<typeof requestSchema>>('/requests', [
  'time',
  'request_id',
  'account',
  'key',
  'model',
  'upstream',
  'outcome',
  'http_status',
  'stream',
  'finish',
  'prompt_tokens',
  'cached_tokens',
  'completion_tokens',
  'reasoning_tokens',
  'usage_source',
  'cost',
  'currency',
  'first_token_ms',
  'duration_ms',
  'count',
  { name: 'attempts', valueOf: ({ attempts }) => attempts.length },
  'account_email',
  'key_name',
])
const usage = csvExport<z.infer<typeof usageSchema>>('/usage', [
  'day',
  'hour',
  'model',
  'key',
  'account',
  'requests',
  'errors',
  'prompt_tokens',
  'completion_tokens',
  'cost',
  'upstream_cost',
  'margin',
  'currency',
])
const failures = csvExport<z.infer<typeof failureGroup>>('/failures', [
  'cause',
  'stage',
  'owner',
  'upstream',
  'upstream_name',
  'model',
  'http_status',
  'count',
  'share',
  'first_at',
  'last_at',
  'sample_request_id',
])
const incidents = csvExport<z.infer<typeof incidentSchema>>('/incidents', [
  'id',
  'title',
  'status',
  'severity',
  'models',
  'automatic',
  'public',
  'opened_at',
  'closed_at',
  'updated_at',
  { name: 'latest_message', valueOf: ({ updates }) => updates[0]?.message },
])
const audit = csvExport<z.infer<typeof auditRecordSchema>>('/audit', [
  'time',
  'id',
  'actor',
  'action',
  'object',
  'detail',
])

export const adminExports: readonly CsvExport[] = [
  accounts,
  entries,
  keys,
  models,
  upstreams,
  vouchers,
  promotions,
  tiers,
  users,
  invites,
  limitRequests,
  requests,
  usage,
  failures,
  incidents,
  audit,
]
