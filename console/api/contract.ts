/**
 * The types of the API's responses, inferred from the server's schemas. Only types are imported, no server code.
 */
import type { z } from 'zod'
import type { brandingSchema } from '../../src/http/admin/system/branding.ts'
import type { backupSchema, scheduleSchema } from '../../src/http/admin/system/backups.ts'
import type { newChannelSchema, channelSchema } from '../../src/http/admin/notifications/channels.ts'
import type { credentialSchema } from '../../src/http/admin/catalog/credentials.ts'
import type { entrySchema } from '../../src/http/api/entries.ts'
import type { refundSchema } from '../../src/http/admin/money/credits.ts'
import type { accountSchema } from '../../src/http/admin/accounts/accounts.ts'
import type { availabilitySchema } from '../../src/http/admin/monitoring/availability.ts'
import type { flowSchema } from '../../src/http/admin/traffic/traffic-flow.ts'
import type { incidentSchema } from '../../src/http/admin/monitoring/incidents.ts'
import type { listedKeySchema, newKeySchema } from '../../src/http/admin/accounts/keys.ts'
import type { ledgerReportSchema } from '../../src/http/admin/money/ledger.ts'
import type { auditRecordSchema } from '../../src/http/admin/system/audit.ts'
import type { planSchema } from '../../src/http/admin/catalog/route-plan.ts'
import type { modelSchema, priceVersionSchema } from '../../src/http/admin/catalog/models.ts'
import type { inviteSchema, linkSchema, userSchema } from '../../src/http/admin/accounts/users.ts'
import type { bankRowsSchema } from '../../src/http/admin/money/bank-rows.ts'
import type { differenceSchema, runSchema } from '../../src/http/admin/money/payment-differences.ts'
import type { adminMethodSchema, rateSchema } from '../../src/http/admin/money/payment-orders.ts'
import type { revenueSchema } from '../../src/http/admin/money/payment-revenue.ts'
import type { promotionSchema } from '../../src/http/admin/money/promotions.ts'
import type { referralSchema } from '../../src/http/admin/money/referrals.ts'
import type { rechargePromotionSchema } from '../../src/http/admin/money/recharge-promotions.ts'
import type { providerSchema } from '../../src/http/admin/catalog/providers.ts'
import type { referenceModelSchema } from '../../src/http/admin/catalog/reference-models.ts'
import type { requestDetailSchema, requestSchema } from '../../src/http/admin/traffic/requests.ts'
import type { tierSchema } from '../../src/http/admin/accounts/tiers.ts'
import type { upstreamModelsSchema, testResultSchema } from '../../src/http/admin/catalog/upstream-actions.ts'
import type { upstreamSchema } from '../../src/http/admin/catalog/upstreams.ts'
import type { upstreamHealthSchema } from '../../src/http/admin/monitoring/upstream-health.ts'
import type { usageSchema } from '../../src/http/admin/traffic/usage.ts'
import type { voucherSchema, newVouchersSchema } from '../../src/http/admin/money/vouchers.ts'

export type Branding = z.infer<typeof brandingSchema>
export type Backup = z.infer<typeof backupSchema>
export type BackupSchedule = z.infer<typeof scheduleSchema>
export type Channel = z.infer<typeof channelSchema>
export type NewChannel = z.infer<typeof newChannelSchema>
export type Credential = z.infer<typeof credentialSchema>
export type Refund = z.infer<typeof refundSchema>
export type Account = z.infer<typeof accountSchema>
export type Entry = z.infer<typeof entrySchema>
export type AdminApiKey = z.infer<typeof listedKeySchema>
export type NewAdminApiKey = z.infer<typeof newKeySchema>
export type AuditRecord = z.infer<typeof auditRecordSchema>
export type LedgerReport = z.infer<typeof ledgerReportSchema>
export type Availability = z.infer<typeof availabilitySchema>
export type Incident = z.infer<typeof incidentSchema>
export type Model = z.infer<typeof modelSchema>
export type PriceVersion = z.infer<typeof priceVersionSchema>
export type BankRows = z.infer<typeof bankRowsSchema>
export type {
  OfferedBonus,
  OwnOrder,
  OrderPreviewJson as OrderPreview,
} from '../../src/http/console/billing/payment-orders.ts'
export type { PaymentOrder, PaymentMethodJson as PaymentMethod } from '../../src/http/api/payment-orders.ts'
export type { AutomaticRechargeJson as AutomaticRecharge } from '../../src/http/api/automatic-recharges.ts'
export type { OwnAutomaticRecharge } from '../../src/http/console/billing/automatic-recharge.ts'
export type { PaymentRefund } from '../../src/http/api/payment-refunds.ts'
export type { Receipt } from '../../src/http/api/receipts.ts'
export type { InvoiceJson as Invoice } from '../../src/http/api/invoices.ts'
export type {
  InvoiceablePaymentJson as InvoiceablePayment,
  InvoiceTitleJson as InvoiceTitle,
} from '../../src/http/console/billing/invoices.ts'
export type PaymentDifference = z.infer<typeof differenceSchema>
export type AdminPaymentMethod = z.infer<typeof adminMethodSchema>
export type PaymentRate = z.infer<typeof rateSchema>
export type PaymentRevenue = z.infer<typeof revenueSchema>
export type PaymentRun = z.infer<typeof runSchema>
export type Promotion = z.infer<typeof promotionSchema>
export type Referral = z.infer<typeof referralSchema>
export type { InvitedAccount, ReferralSummary } from '../../src/http/console/billing/referral.ts'
export type RechargePromotion = z.infer<typeof rechargePromotionSchema>
export type RoutePlan = z.infer<typeof planSchema>
export type UpstreamHealth = z.infer<typeof upstreamHealthSchema>
export type Provider = z.infer<typeof providerSchema>
export type ReferenceModel = z.infer<typeof referenceModelSchema>
export type Flow = z.infer<typeof flowSchema>
export type RequestWithBill = z.infer<typeof requestDetailSchema>
export type RequestRecord = z.infer<typeof requestSchema>
export type Tier = z.infer<typeof tierSchema>
export type Upstream = z.infer<typeof upstreamSchema>
export type UpstreamTestResult = z.infer<typeof testResultSchema>
export type UpstreamModels = z.infer<typeof upstreamModelsSchema>
export type UsageRow = z.infer<typeof usageSchema>
export type Voucher = z.infer<typeof voucherSchema>
export type NewVouchers = z.infer<typeof newVouchersSchema>

export type User = z.infer<typeof userSchema>
export type AccessLink = z.infer<typeof linkSchema>
export type Invite = z.infer<typeof inviteSchema>

export interface Page<Item> {
  readonly data: readonly Item[]
  readonly next: string | null
}

export type { SignInResponse } from '../../src/http/console/auth/sign-in.ts'
export type { Platform, Session, SessionUser } from '../../src/http/console/auth/serialize-session.ts'
export type { AnnouncementJson as Announcement } from '../../src/http/api/announcements.ts'
export type { LimitRequestJson as LimitRequest } from '../../src/http/api/limit-requests.ts'
export type { NotificationJson as Notification } from '../../src/http/api/notifications.ts'
export type { MenuCounts } from '../../src/http/console/account/account.ts'
export type { Model as OfferedModel } from '../../src/http/console/account/models.ts'
export type { Entry as AccountEntry, Wallet } from '../../src/http/console/billing/billing.ts'
export type { Statement } from '../../src/http/console/billing/read-statement.ts'
export type { Key as ApiKey, NewKey as NewApiKey } from '../../src/http/console/account/keys.ts'
export type { AnnouncementBody } from '../../src/http/admin/notifications/announcements.ts'
export type { Dashboard } from '../../src/http/admin/monitoring/dashboard.ts'
export type { FailureGroup, Failures } from '../../src/http/admin/traffic/failures.ts'
export type { SearchResult } from '../../src/http/admin/system/search.ts'
export type { OpenSession, Passkey } from '../../src/http/console/auth/profile.ts'
export type { Bill } from '../../src/http/api/request-bill.ts'
export type { Overview } from '../../src/http/console/usage/overview.ts'
export type { Point } from '../../src/http/console/usage/usage-sums.ts'
export type { RequestDetail, RequestRow } from '../../src/http/console/usage/requests.ts'
