/** Additional credentials of upstreams; owned by catalog/. */

export interface UpstreamCredentialsTable {
  id: string
  upstream_id: string
  /** Sealed with the row's id. */
  credential: string
  /** Its last four characters, for display; null if it is too short to show any. */
  last_four: string | null
  label: string
  weight: number
  enabled: 0 | 1
  created_at: number
  updated_at: number
}
