/** How available each model was: roll-ups that db/ makes, objectives and incidents that the room health/ writes. */

interface AvailabilitySums {
  model: string
  answered: number
  /** Ours to answer, and not answered whole. */
  failed: number
  /** The caller's own, or left by the caller: counts for nothing. */
  apart: number
}

export interface AvailabilityMinutesTable extends AvailabilitySums {
  /** Its start, UTC. */
  minute: number
}

export interface AvailabilityDaysTable extends AvailabilitySums {
  /** Its start, UTC. */
  day: number
}

/** Models with an objective of their own. */
export interface ObjectivesTable {
  model: string
  /** Of the requests that are ours to answer, so many have to be answered. */
  parts_per_million: number
}

export type IncidentStatus = 'investigating' | 'identified' | 'monitoring' | 'resolved'

export interface IncidentsTable {
  id: string
  title: string
  status: IncidentStatus
  severity: 'minor' | 'major' | 'critical'
  /** JSON array of names; empty is the whole service. */
  models: string
  /** The model whose success opened it and will close it; null when it was opened by hand. */
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
  /** The incident's from then on. */
  status: IncidentStatus
  /** What the relay itself told, to be said in the reader's language; null for a person's own words. */
  code: 'failing' | 'failing_again' | 'recovered' | 'quiet' | null
  message: string
}

/** How each of our public addresses was when it was looked at last. */
export interface PublicAddressesTable {
  url: string
  is_well: 0 | 1
  /** Looks in a row that failed. */
  failures: number
  /** Since when it is well, or not. */
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

export const availabilityOwners = {
  availability_minutes: 'db',
  availability_days: 'db',
  objectives: 'health',
  incidents: 'health',
  incident_posts: 'health',
  public_addresses: 'health',
} as const satisfies Record<keyof AvailabilityTables, string>
