/** What tests use of a relay, whether it runs in their own process (relay-in-process.ts) or in another (relay-process.ts). */
import { setDatabaseClockAhead } from './database-clock.ts'
import { freePort } from '../upstream/unreachable-addresses.ts'

export interface RelaySettings {
  dataDir: string
  /** Default: a free port. */
  port?: number
  /** Added to the test defaults: loopback upstreams allowed, no demo data, no drain delay. */
  env?: Record<string, string>
}

/** How the relay ended; one in the test's own process has always the code 0. */
export interface Exit {
  code: number | null
  signal: NodeJS.Signals | null
}

/** Settings for every relay that this process starts, by data directory; see test/support/runner/cluster-backend.ts. */
let settingsFor: ((dataDir: string) => Promise<Record<string, string>>) | undefined

export function setRelaySettings(settings: typeof settingsFor): void {
  settingsFor = settings
}

/** The settings with those of the run and a port. */
export async function completeSettings<Settings extends RelaySettings>(
  settings: Settings,
): Promise<Settings & { env: Record<string, string>; port: number }> {
  const env = { ...(await settingsFor?.(settings.dataDir)), ...settings.env }
  const { CLOCK_AHEAD_MS: aheadMs, DATABASE_URL: databaseUrl } = env
  if (aheadMs !== undefined && databaseUrl !== undefined)
    await setDatabaseClockAhead(databaseUrl, Number(aheadMs))
  return { ...settings, env, port: settings.port ?? (await freePort()) }
}

export abstract class Relay {
  readonly url: string
  readonly port: number
  readonly dataDir: string
  readonly adminKey: string
  /** For a node of a cluster: DATABASE_URL, and REDIS_URL if it is set. */
  readonly clusterSettings: Readonly<Record<string, string>>
  /** Its output so far, by line. */
  readonly lines: string[] = []
  /** All its settings. */
  protected readonly env: Readonly<Record<string, string>>

  constructor(settings: RelaySettings, port: number) {
    this.env = {
      HOST: '127.0.0.1',
      PORT: String(port),
      DATA_DIR: settings.dataDir,
      ADMIN_API_KEY: 'admin-key-of-the-tests-0123456789',
      // Tests write more in a minute than a person; those of these bounds set them.
      WRITES_PER_MINUTE: '100000',
      OPEN_ORDERS: '10000',
      ORDERS_PER_HOUR: '10000',
      UPSTREAM_ALLOW: '127.0.0.0/8',
      DEMO: '0',
      SIGN_UP: 'open',
      WORKERS: '1',
      DRAIN_DELAY: '0s',
      ...settings.env,
    }
    this.port = port
    this.url = `http://127.0.0.1:${port}`
    this.dataDir = settings.dataDir
    this.adminKey = this.env['ADMIN_API_KEY'] ?? ''
    const clusterVariables = ['DATABASE_URL', 'REDIS_URL']
    this.clusterSettings = Object.fromEntries(
      Object.entries(this.env).filter(([name]) => clusterVariables.includes(name)),
    )
  }

  abstract get isRunning(): boolean

  /** Ends it as `systemctl stop` and `docker stop` do, and waits for its end. */
  abstract stop(): Promise<Exit>

  get databaseUrl(): string | undefined {
    return this.clusterSettings['DATABASE_URL']
  }

  /** One admin API call; returns the raw response. */
  async adminResponse(method: string, path: string, body?: unknown): Promise<Response> {
    const headers: Record<string, string> = { authorization: `Bearer ${this.adminKey}` }
    if (body !== undefined) headers['content-type'] = 'application/json'
    return fetch(`${this.url}/api/admin${path}`, { method, headers, body: JSON.stringify(body) })
  }

  /** One admin API call that must succeed; returns the parsed body. */
  async admin<Answer>(method: string, path: string, body?: unknown): Promise<Answer> {
    const response = await this.adminResponse(method, path, body)
    const text = await response.text()
    if (!response.ok) throw new Error(`${method} /api/admin${path} → ${response.status}: ${text}`)
    return (text === '' ? null : JSON.parse(text)) as Answer
  }
}
