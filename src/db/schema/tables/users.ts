/** Who may sign in to the console: written by the room people/. */

export interface PersonsTable {
  id: string
  email: string
  email_normalised: string
  name: string
  role: 'customer' | 'operator'
  /** null: an operator without an account of the own. */
  account_id: string | null
  /** `en` or `zh-CN`. */
  language: string
  /** PHC text of argon2id; null: comes in by a link or a passkey. */
  password_hash: string | null
  /** Sealed with the row's id. Counts from its confirmation on. */
  totp_secret: string | null
  totp_confirmed_at: number | null
  /** The step of the last code that was taken: none is taken twice. */
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
  /** The account that an operator has signed in as. */
  acting_account: string | null
  address: string
  agent: string
  created_at: number
  seen_at: number
  expires_at: number
}

/** What is good once and for a while: links, second steps of a sign-in, challenges of passkeys. */
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

/** How often something was tried that guessing could open, by a hash of what and by whom. */
export interface AttemptsTable {
  name: string
  tries: number
  /** The end of the time within which they are counted. */
  until: number
}

export interface PeopleTables {
  persons: PersonsTable
  sessions: SessionsTable
  tickets: TicketsTable
  recovery_codes: RecoveryCodesTable
  passkeys: PasskeysTable
  invites: InvitesTable
  attempts: AttemptsTable
}
