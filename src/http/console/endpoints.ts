/** All endpoints of the console API. */
import type { Endpoint } from '../api/endpoint.ts'
import { accountEndpoints } from './account/account.ts'
import { impersonationEndpoints } from './auth/impersonation.ts'
import { billingEndpoints } from './billing/billing.ts'
import { referralEndpoints } from './billing/referral.ts'
import { keyEndpoints } from './account/keys.ts'
import { passwordResetEndpoints } from './auth/password-reset.ts'
import { overviewEndpoints } from './usage/overview.ts'
import { profileEndpoints } from './auth/profile.ts'
import { requestEndpoints } from './usage/requests.ts'
import { signInEndpoints } from './auth/sign-in.ts'
import { signUpEndpoints } from './auth/sign-up.ts'
import { usageEndpoints } from './usage/usage.ts'
import type { ConsoleContext } from './context.ts'

/** In matching order: a fixed path comes before one with a parameter. */
export const endpoints: readonly Endpoint<ConsoleContext>[] = [
  signInEndpoints,
  signUpEndpoints,
  passwordResetEndpoints,
  profileEndpoints,
  overviewEndpoints,
  keyEndpoints,
  usageEndpoints,
  requestEndpoints,
  billingEndpoints,
  referralEndpoints,
  accountEndpoints,
  impersonationEndpoints,
].flatMap((group) => Object.values<Endpoint<ConsoleContext>>(group))
