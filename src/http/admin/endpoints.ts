/** All endpoints of the admin API. */
import { providerEndpoints } from './catalog/providers.ts'
import { priceListEndpoints } from './catalog/price-lists.ts'
import { referenceModelEndpoints } from './catalog/reference-models.ts'
import { upstreamHealthEndpoints } from './monitoring/upstream-health.ts'
import { upstreamActionEndpoints } from './catalog/upstream-actions.ts'
import { upstreamEndpoints } from './catalog/upstreams.ts'
import { credentialEndpoints } from './catalog/credentials.ts'
import { routePlanEndpoints } from './catalog/route-plan.ts'
import { modelEndpoints } from './catalog/models.ts'
import { tierEndpoints } from './accounts/tiers.ts'
import { accountEndpoints } from './accounts/accounts.ts'
import { creditEndpoints } from './money/credits.ts'
import { keyEndpoints } from './accounts/keys.ts'
import { invoiceEndpoints } from './money/invoices.ts'
import { receiptEndpoints } from './money/receipts.ts'
import { voucherEndpoints } from './money/vouchers.ts'
import { automaticRechargeEndpoints } from './money/automatic-recharges.ts'
import { paymentOrderEndpoints } from './money/payment-orders.ts'
import { bankRowEndpoints } from './money/bank-rows.ts'
import { paymentDifferenceEndpoints } from './money/payment-differences.ts'
import { paymentRefundEndpoints } from './money/payment-refunds.ts'
import { paymentRevenueEndpoints } from './money/payment-revenue.ts'
import { promotionEndpoints } from './money/promotions.ts'
import { referralEndpoints } from './money/referrals.ts'
import { requestEndpoints } from './traffic/requests.ts'
import { usageEndpoints } from './traffic/usage.ts'
import { ledgerEndpoints } from './money/ledger.ts'
import { auditEndpoints } from './system/audit.ts'
import { nodeEndpoints } from './system/nodes.ts'
import { userEndpoints } from './accounts/users.ts'
import { dashboardEndpoints } from './monitoring/dashboard.ts'
import { failureEndpoints } from './traffic/failures.ts'
import { searchEndpoints } from './system/search.ts'
import { brandingEndpoints } from './system/branding.ts'
import { settingsEndpoints } from './system/settings.ts'
import { limitRequestEndpoints } from './accounts/limit-requests.ts'
import { announcementEndpoints } from './notifications/announcements.ts'
import { notificationEndpoints } from './notifications/notifications.ts'
import { publicAddressEndpoints } from './monitoring/public-addresses.ts'
import { availabilityEndpoints } from './monitoring/availability.ts'
import { incidentEndpoints } from './monitoring/incidents.ts'
import { channelEndpoints } from './notifications/channels.ts'
import { backupEndpoints } from './system/backups.ts'
import { trafficFlowEndpoints } from './traffic/traffic-flow.ts'

/** In matching order: a fixed path comes before one with a parameter. */
export const adminEndpoints = [
  ...providerEndpoints,
  ...priceListEndpoints,
  ...referenceModelEndpoints,
  ...upstreamHealthEndpoints,
  ...upstreamEndpoints,
  ...upstreamActionEndpoints,
  ...credentialEndpoints,
  ...routePlanEndpoints,
  ...modelEndpoints,
  ...tierEndpoints,
  ...accountEndpoints,
  ...creditEndpoints,
  ...keyEndpoints,
  ...voucherEndpoints,
  ...paymentOrderEndpoints,
  ...automaticRechargeEndpoints,
  ...paymentDifferenceEndpoints,
  ...paymentRefundEndpoints,
  ...receiptEndpoints,
  ...invoiceEndpoints,
  ...paymentRevenueEndpoints,
  ...bankRowEndpoints,
  ...promotionEndpoints,
  ...referralEndpoints,
  ...requestEndpoints,
  ...usageEndpoints,
  ...ledgerEndpoints,
  ...auditEndpoints,
  ...nodeEndpoints,
  ...userEndpoints,
  ...dashboardEndpoints,
  ...failureEndpoints,
  ...searchEndpoints,
  ...settingsEndpoints,
  ...brandingEndpoints,
  ...limitRequestEndpoints,
  ...announcementEndpoints,
  ...notificationEndpoints,
  ...publicAddressEndpoints,
  ...availabilityEndpoints,
  ...incidentEndpoints,
  ...channelEndpoints,
  ...backupEndpoints,
  ...trafficFlowEndpoints,
]

/** The lists that have an export. */
export const adminExports = adminEndpoints.flatMap(({ path, csv }) =>
  csv === undefined ? [] : [{ path, columns: csv }],
)
