/**
 * The doctor's list of hardening that is off: in the settings and, on Linux, in the confinement of the running relay's
 * process. All of it is the operator's choice, so nothing here fails.
 */

import { readFileSync, statSync } from 'node:fs'
import type { Config } from '../../config.ts'
import { parseCidrs } from '../../lib/address-guard.ts'
import { findLockingPid } from '../../db/sqlite/data-directory-lock.ts'
import { ok, warn, type Finding } from './finding.ts'

const name = 'hardening'

interface HardeningCheck<Facts> {
  /** What is off and why that matters; false if it is on. */
  readonly find: (facts: Facts) => string | false
  /** What turns it on. */
  readonly advice: string
}

function listFindings<Facts>(checks: readonly HardeningCheck<Facts>[], facts: Facts): Finding[] {
  return checks.flatMap(({ find, advice }) => {
    const detail = find(facts)
    return detail === false ? [] : [warn(name, detail, advice)]
  })
}

function isLoopback(host: string): boolean {
  return /^(?:localhost|127(?:\.\d+){3}|\[?::1\]?)$/.test(host)
}

/** False for this machine, and for names without a dot, which only the machine's or the cluster's own network knows. */
function isRemote(host: string): boolean {
  return /[.:]/.test(host) && !isLoopback(host)
}

/** Those that contain more than one small network: IPv4 /24, IPv6 /64. */
function findWideNetworks(networks: readonly string[]): string {
  const isWide = (text: string): boolean =>
    parseCidrs(text).some(([address, bits]) => bits < (address.kind() === 'ipv4' ? 24 : 64))
  return networks.filter(isWide).join(', ')
}

function findPlainDatabase(databaseUrl: string | null): string | false {
  if (databaseUrl === null) return false
  const { hostname, searchParams } = new URL(databaseUrl)
  const mode = searchParams.get('sslmode') ?? (searchParams.get('ssl') === 'true' ? 'require' : 'disable')
  if (!isRemote(hostname) || ['require', 'verify-ca', 'verify-full'].includes(mode)) return false
  return mode === 'no-verify'
    ? `the certificate of PostgreSQL at ${hostname} is not verified: another server can pretend to be it`
    : `the connection to PostgreSQL at ${hostname} is not encrypted`
}

const settingChecks: readonly HardeningCheck<Config>[] = [
  {
    find: ({ production }) =>
      !production &&
      'NODE_ENV is not production: an empty DATA_DIR starts as a demonstration, and a short ADMIN_API_KEY is accepted',
    advice: 'Set NODE_ENV=production.',
  },
  {
    find: ({ encryptionKey }) =>
      encryptionKey === null &&
      'ENCRYPTION_KEY is not set: what decrypts the upstream credentials is stored next to them',
    advice: 'See ENCRYPTION_KEY in docs/configuration.md.',
  },
  {
    find: ({ host, tlsCertFile, trustProxy }) =>
      !isLoopback(host) &&
      tlsCertFile === null &&
      trustProxy.length === 0 &&
      `HOST=${host} without TLS: keys and passwords are readable in the network`,
    advice:
      'Set TLS_CERT_FILE and TLS_KEY_FILE. Behind a proxy with TLS, set HOST=127.0.0.1 or, on another machine, TRUST_PROXY.',
  },
  {
    find({ publicUrls }) {
      const plain = publicUrls.filter((url) => url.startsWith('http:') && !isLoopback(new URL(url).hostname))
      if (plain.length === 0) return false
      return `${plain.join(', ')} is not https: keys and passwords are readable in the network, and cookies are not Secure`
    },
    advice: 'Set PUBLIC_URL and PUBLIC_URLS to https URLs.',
  },
  {
    find({ trustProxy }) {
      const wide = findWideNetworks(trustProxy)
      if (wide === '') return false
      return `TRUST_PROXY contains ${wide}: every client there chooses the address that limits and allowlists see`
    },
    advice: 'List the addresses of the proxies only, or let nothing else in that network connect.',
  },
  {
    find({ upstreamAllow }) {
      const wide = findWideNetworks(upstreamAllow)
      return wide !== '' && `UPSTREAM_ALLOW contains ${wide}: upstreams can be any service there`
    },
    advice: 'List the addresses of your models only.',
  },
  {
    find({ channelAllow }) {
      const wide = findWideNetworks(channelAllow)
      return wide !== '' && `CHANNEL_ALLOW contains ${wide}: customers’ webhooks can call any service there`
    },
    advice: 'List the addresses of your channels only.',
  },
  {
    find: ({ corsOrigins }) =>
      corsOrigins.includes('*') &&
      'CORS_ORIGINS is *: any web page can use a key that its visitor has entered',
    advice: 'List the origins of your own pages.',
  },
  {
    find({ tlsKeyFile }) {
      const file = tlsKeyFile === null ? undefined : statSync(tlsKeyFile, { throwIfNoEntry: false })
      const isOpen = file !== undefined && (file.mode & 0o007) !== 0
      return isOpen && `${tlsKeyFile} is accessible to every user of this machine`
    },
    advice: 'chmod 640 it, with the group of the relay’s user.',
  },
  {
    find: ({ databaseUrl }) => findPlainDatabase(databaseUrl),
    advice: 'Append ?sslmode=verify-full to DATABASE_URL (docs/operations/clusters.md).',
  },
  {
    find({ redisUrl }) {
      const url = redisUrl === null ? null : new URL(redisUrl)
      if (url?.protocol !== 'redis:' || !isRemote(url.hostname)) return false
      return `the connection to Redis at ${url.hostname} is not encrypted`
    },
    advice: 'Use rediss:// in REDIS_URL.',
  },
]

export function checkHardeningSettings(config: Config): Finding[] {
  return listFindings(settingChecks, config)
}

/** What /proc/<pid> says of a process: `status`, `limits` and `mountinfo`; see proc(5). */
export interface ProcessFiles {
  readonly status: string
  readonly limits: string
  readonly mountInfo: string
}

/** The value of a field of `status`; empty if this kernel does not have it. */
function statusField({ status }: ProcessFiles, field: string): string {
  return new RegExp(`^${field}:\\s*(\\S+)`, 'm').exec(status)?.[1] ?? ''
}

/** All that a port below 1024 needs. */
const bindServiceCapability = 1n << 10n

const processChecks: readonly HardeningCheck<ProcessFiles>[] = [
  {
    find: (files) =>
      statusField(files, 'Uid') === '0' &&
      'the relay runs as root: an intruder in it would own the machine or the container',
    advice: 'Run it as a user of its own. systemd: User=sluice. Docker: keep the image’s user.',
  },
  {
    find: (files) =>
      statusField(files, 'NoNewPrivs') === '0' &&
      'the relay can gain privileges by starting a set-user-ID program',
    advice:
      'systemd: NoNewPrivileges=true. Compose: security_opt: [no-new-privileges:true]. Kubernetes: allowPrivilegeEscalation: false.',
  },
  {
    find: (files) =>
      (BigInt(`0x${statusField(files, 'CapPrm') || '0'}`) & ~bindServiceCapability) !== 0n &&
      `the relay has capabilities (${statusField(files, 'CapPrm')}), and needs none`,
    advice:
      'systemd: CapabilityBoundingSet= (empty). Compose: cap_drop: [ALL]. Kubernetes: capabilities: drop: [ALL].',
  },
  {
    find: (files) =>
      statusField(files, 'Seccomp') === '0' && 'no filter limits the system calls of the relay',
    advice:
      'systemd: SystemCallFilter=@system-service. Docker: its default profile. Kubernetes: seccompProfile: RuntimeDefault.',
  },
  {
    find({ mountInfo }) {
      const root = [...mountInfo.matchAll(/^(?:\S+ ){4}\/ (\S+)/gm)].at(-1)?.[1] ?? 'ro'
      return (
        !root.split(',').includes('ro') &&
        'the relay’s root file system is writable: an intruder in it could change programs and settings'
      )
    },
    advice:
      'systemd: ProtectSystem=strict. Compose: read_only: true. Kubernetes: readOnlyRootFilesystem: true.',
  },
  {
    find: ({ limits }) =>
      !/^Max core file size +0 /m.test(limits) &&
      'a crash may write the relay’s memory, with keys and credentials, to a core file',
    advice: 'systemd: LimitCORE=0. Compose: ulimits: { core: 0 }.',
  },
]

/** The process as these files describe it. */
export function checkProcessFiles(files: ProcessFiles): Finding[] {
  const findings = listFindings(processChecks, files)
  return findings.length > 0 ? findings : [ok(name, 'the process of the relay is confined')]
}

/** The confinement of the relay that runs on this data directory, not of this command, which has its own. Linux only. */
export function checkProcess(dataDir: string, isRunning: boolean): Finding[] {
  if (process.platform !== 'linux') return []
  const pid = isRunning ? findLockingPid(dataDir) : null
  if (pid === null) return [ok(name, 'the process of a relay is checked while it runs on this machine')]
  try {
    const read = (file: string): string => readFileSync(`/proc/${pid}/${file}`, 'utf8')
    return checkProcessFiles({
      status: read('status'),
      limits: read('limits'),
      mountInfo: read('mountinfo'),
    })
  } catch {
    const advice = 'Run sluice doctor as the relay’s user, or in its container.'
    return [warn(name, `the process of the relay (pid ${pid}) cannot be read`, advice)]
  }
}
