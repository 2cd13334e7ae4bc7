/** Users of the console, their credentials and sessions; owned by users/. */

export interface PersonsTable {
  id: string
  email: string
  email_normalised: string
  name: string
  role: 'customer' | 'operator'
  /** null: an operator without an account. */
  account_id: string | null
  /** `en` or `zh-CN`. */
  language: string
  /** argon2id in PHC format; null: signs in by link or passkey. */
  password_hash: string | null
  /** Sealed with the row's id; used only after confirmation. */
  totp_secret: string | null
  totp_confirmed_at: number | null
  /** The time step of the last accepted code, which prevents replay. */
  totp_counter: number | null
  email_verified_at: number | null
  disabled_at: number | null
  last_sign_in_at: number | null
  created_at: number
  updated_at: number
}

export interface SessionsTable {
  /** SHA-256 of the cookie's token in hex. */
  hash: string
  id: string
  person_id: string
  /** The account that an operator impersonates. */
  acting_account: string | null
  address: string
  agent: string
  created_at: number
  seen_at: number
  expires_at: number
}

/** One-time tokens with an expiry: links, pending second factors, passkey challenges. */
export interface TicketsTable {
  hash: string
  kind: string
  person_id: string | null
  /** JSON object. */
  detail: string
  tries_left: number
  created_at: number
  expires_at: number
}

export interface RecoveryCodesTable {
  person_id: string
  hash: string
  used_at: number | null
}

export interface PasskeysTable {
  /** The credential's id in base64url. */
  id: string
  person_id: string
  public_key: Uint8Array
  counter: number
  /** JSON array. */
  transports: string
  name: string
  created_at: number
  last_used_at: number | null
}

export interface InvitesTable {
  id: string
  code_hash: string
  note: string
  uses_left: number
  expires_at: number | null
  created_at: number
}

/** Counters against guessing, by a hash of what was tried and by whom. */
export interface AttemptsTable {
  name: string
  tries: number
  /** The end of the counting period. */
  until: number
}

export interface UserTables {
  persons: PersonsTable
  sessions: SessionsTable
  tickets: TicketsTable
  recovery_codes: RecoveryCodesTable
  passkeys: PasskeysTable
  invites: InvitesTable
  attempts: AttemptsTable
}
