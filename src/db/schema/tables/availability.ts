/** Availability of models: roll-ups, owned by usage/; objectives and incidents, owned by health/. */

interface AvailabilityCounts {
  model: string
  answered: number
  /** Failed or truncated by our fault. */
  failed: number
  /** Client errors and abandoned requests, which do not count. */
  apart: number
}

export interface AvailabilityMinutesTable extends AvailabilityCounts {
  /** Its start, UTC. */
  minute: number
}

export interface AvailabilityDaysTable extends AvailabilityCounts {
  /** Its start, UTC. */
  day: number
}

/** Models with their own objective. */
export interface ObjectivesTable {
  model: string
  /** The required share of successful requests. */
  parts_per_million: number
}

export type IncidentStatus = 'investigating' | 'identified' | 'monitoring' | 'resolved'

export interface IncidentsTable {
  id: string
  title: string
  status: IncidentStatus
  severity: 'minor' | 'major' | 'critical'
  /** JSON array of model names; empty: the whole service. */
  models: string
  /** The model whose success rate opened the incident and will close it; null if opened manually. */
  watched_model: string | null
  is_public: 0 | 1
  opened_at: number
  closed_at: number | null
  updated_at: number
}

export interface IncidentPostsTable {
  id: string
  incident_id: string
  at: number
  /** The incident's status from this post on. */
  status: IncidentStatus
  /** An automatic post, shown in the reader's language; null: written by a person. */
  code: 'failing' | 'failing_again' | 'recovered' | 'quiet' | null
  message: string
}

/** The state of each of our public addresses at the last check. */
export interface PublicAddressesTable {
  url: string
  is_well: 0 | 1
  /** Consecutive failed checks. */
  failures: number
  /** When it became healthy or unhealthy. */
  since: number
  checked_at: number
  duration_ms: number | null
  problem: string | null
}

export interface AvailabilityTables {
  availability_minutes: AvailabilityMinutesTable
  availability_days: AvailabilityDaysTable
  objectives: ObjectivesTable
  incidents: IncidentsTable
  incident_posts: IncidentPostsTable
  public_addresses: PublicAddressesTable
}
