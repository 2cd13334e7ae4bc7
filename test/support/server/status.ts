/** The public status and the availability of the relay's own API. */
import assert from 'node:assert/strict'

import { chatRequest, type Account } from './account.ts'
import type { TestServer } from './test-server.ts'

interface StatusComponent {
  state: string
  success_percent: number | null
}

export interface Status {
  state: string
  components: (StatusComponent & { name: string })[]
  models: (StatusComponent & { id: string })[]
  incidents: { id: string; title: string; models: string[]; opened_at: string; closed_at: string | null }[]
}

interface Counts {
  answered: number
  failed: number
  success_percent: number | null
}

export async function readStatus(url: string): Promise<Status> {
  const response = await fetch(`${url}/status.json`)
  assert.equal(response.status, 200)
  return (await response.json()) as Status
}

/** The availability of the relay's own API. */
export async function readRelayApi(server: TestServer): Promise<{ total: Counts; month: Counts }> {
  const path = '/availability?model=Relay%20API'
  const { data } = await server.admin<{ data: { model: string; total: Counts; month: Counts }[] }>(
    'GET',
    path,
  )
  const [relay] = data
  assert.ok(relay !== undefined && data.length === 1)
  return relay
}

/** Sends requests that the relay must reject because it admits none. */
export async function rejectRequests(account: Account, count: number): Promise<void> {
  for (let sent = 0; sent < count; sent += 1) {
    const response = await account.post(chatRequest('m'))
    assert.equal(response.status, 503)
    await response.text()
  }
}
