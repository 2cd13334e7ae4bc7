/**
 * What the interface answers, by type alone: the schemas are the server's, and nothing of the server comes along.
 */
import type { z } from 'zod'
import type { backupOut, scheduleOut } from '../src/http/admin/system/backups.ts'
import type { channelMade, channelOut } from '../src/http/admin/channels.ts'
import type { credentialOut } from '../src/http/admin/credentials.ts'
import type { noticeOut } from '../src/http/admin/notifications/notifications.ts'
import type { refundOut } from '../src/http/admin/money/refunds.ts'
import type { entryOut } from '../src/http/admin/money/credits.ts'
import type { accountOut } from '../src/http/admin/accounts/accounts.ts'
import type { availabilityOut } from '../src/http/admin/availability.ts'
import type { flowOut } from '../src/http/admin/flow.ts'
import type { incidentOut } from '../src/http/admin/monitoring/incidents.ts'
import type { listedKeyOut } from '../src/http/admin/accounts/key-list.ts'
import type { newKeyOut } from '../src/http/admin/accounts/keys.ts'
import type { auditOut, verdictOut } from '../src/http/admin/ledger.ts'
import type { planOut } from '../src/http/admin/catalog/route-plan.ts'
import type { modelOut, versionOut } from '../src/http/admin/catalog/models.ts'
import type { inviteOut, linkOut, personOut } from '../src/http/admin/people.ts'
import type { promotionOut } from '../src/http/admin/money/promotions.ts'
import type { providerOut } from '../src/http/admin/catalog/providers.ts'
import type { referenceModelOut } from '../src/http/admin/catalog/reference-models.ts'
import type { requestDetailOut, requestOut } from '../src/http/admin/traffic/requests.ts'
import type { tierOut } from '../src/http/admin/accounts/tiers.ts'
import type { modelsOut, trialOut } from '../src/http/admin/catalog/upstream-checks.ts'
import type { healthOut } from '../src/http/admin/upstream-health.ts'
import type { upstreamOut } from '../src/http/admin/catalog/upstreams.ts'
import type { rowOut } from '../src/http/admin/traffic/usage.ts'
import type { voucherOut, vouchersOut } from '../src/http/admin/money/vouchers.ts'

export type Backup = z.infer<typeof backupOut>
export type BackupSchedule = z.infer<typeof scheduleOut>
export type Channel = z.infer<typeof channelOut>
export type NewChannel = z.infer<typeof channelMade>
export type Credential = z.infer<typeof credentialOut>
export type OperatorNotice = z.infer<typeof noticeOut>
export type Refund = z.infer<typeof refundOut>
export type Account = z.infer<typeof accountOut>
export type Entry = z.infer<typeof entryOut>
export type ListedKey = z.infer<typeof listedKeyOut>
export type NewKey = z.infer<typeof newKeyOut>
export type AuditRecord = z.infer<typeof auditOut>
export type LedgerVerdict = z.infer<typeof verdictOut>
export type Availability = z.infer<typeof availabilityOut>
export type Incident = z.infer<typeof incidentOut>
export type Model = z.infer<typeof modelOut>
export type PriceVersion = z.infer<typeof versionOut>
export type Promotion = z.infer<typeof promotionOut>
export type RoutePlan = z.infer<typeof planOut>
export type UpstreamHealth = z.infer<typeof healthOut>
export type Provider = z.infer<typeof providerOut>
export type ReferenceModel = z.infer<typeof referenceModelOut>
export type Flow = z.infer<typeof flowOut>
export type RequestWithBill = z.infer<typeof requestDetailOut>
export type RequestRecord = z.infer<typeof requestOut>
export type Tier = z.infer<typeof tierOut>
export type Upstream = z.infer<typeof upstreamOut>
export type UpstreamTrial = z.infer<typeof trialOut>
export type UpstreamModels = z.infer<typeof modelsOut>
export type UsageRow = z.infer<typeof rowOut>
export type Voucher = z.infer<typeof voucherOut>
export type NewVouchers = z.infer<typeof vouchersOut>

export type PersonRow = z.infer<typeof personOut>
export type Link = z.infer<typeof linkOut>
export type Invite = z.infer<typeof inviteOut>

export interface Page<Item> {
  readonly data: readonly Item[]
  readonly next: string | null
}

export type * from '../src/http/console/contract/entrance.ts'
export type {
  Announcement,
  LimitRequest,
  Model as OfferedModel,
  Notice,
} from '../src/http/console/contract/account.ts'
export type { Entry as OwnEntry, Statement, Wallet } from '../src/http/console/contract/billing.ts'
export type { Key as OwnKey, NewKey as OwnNewKey } from '../src/http/console/contract/keys.ts'
export type {
  AnnouncementBody,
  Dashboard,
  FailureGroup,
  Failures,
  Found,
} from '../src/http/console/contract/operator.ts'
export type { OpenSession, Passkey } from '../src/http/console/contract/person.ts'
export type { Bill, Overview, Point, RequestDetail, RequestRow } from '../src/http/console/contract/usage.ts'
