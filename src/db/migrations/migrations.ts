/**
 * All migrations in order. The list only grows: a released migration is never edited. Tables are STRICT, so a number is
 * never stored as text by accident; journal, entries and audit reject updates and deletes.
 */

import { initialSchema } from './0001-initial-schema.ts'
import type { Migration } from './migration.ts'
import { notifications } from './0002-notices.ts'
import { lowBalances } from './0003-low-balances.ts'
import { availability } from './0004-availability.ts'
import { storedResponses } from './0005-kept-answers.ts'
import { routing } from './0006-routing.ts'
import { creditOrders } from './0007-credit-orders.ts'
import { cluster } from './0008-cluster.ts'
import { users } from './0009-people.ts'
import { channels } from './0010-channels.ts'
import { consoleTables } from './0011-console.ts'
import { promotions } from './0012-promotions.ts'
import { additions } from './0013-additions.ts'
import { payments } from './0014-payments.ts'
import { rechargePromotions } from './0015-recharge-promotions.ts'
import { automaticRecharge } from './0016-automatic-recharge.ts'
import { referrals } from './0017-referrals.ts'
import { invoices } from './0018-invoices.ts'
import { routeMaximums } from './0019-route-maximums.ts'
import { responseItems } from './0020-response-items.ts'

export const migrations: readonly Migration[] = [
  initialSchema,
  notifications,
  lowBalances,
  availability,
  storedResponses,
  routing,
  creditOrders,
  cluster,
  users,
  channels,
  consoleTables,
  promotions,
  ...additions,
  payments,
  rechargePromotions,
  automaticRecharge,
  referrals,
  invoices,
  ...routeMaximums,
  responseItems,
]
