/** Resource usage of a process and its children from /proc (Linux, proc_pid_stat(5)). */

import { readdirSync, readFileSync } from 'node:fs'

/** USER_HZ, the unit of /proc/<pid>/stat: 100 on every Linux that Node supports. */
const ticksPerSecond = 100

interface Stat {
  parent: number
  ticks: number
}

/** User and system time of a process, its threads and its children so far, in µs. */
export function cpuMicros(pid: number): number {
  const ticks = treeOf(pid).reduce((sum, member) => sum + (statOf(member)?.ticks ?? 0), 0)
  return (ticks * 1e6) / ticksPerSecond
}

/** Peak resident memory of a process and its children, each at its own peak, in bytes. */
export function peakRssBytes(pid: number): number {
  return treeOf(pid).reduce((sum, member) => sum + kilobytesOf(member, 'VmHWM'), 0) * 1024
}

/** Current resident memory of a process and its children, in bytes. */
export function rssBytes(pid: number): number {
  return treeOf(pid).reduce((sum, member) => sum + kilobytesOf(member, 'VmRSS'), 0) * 1024
}

/** The threads of the product, by what they do. `other`: garbage collection, compilation, and reading threads. */
export const threadRoles = ['main', 'worker', 'store', 'other'] as const
export type ThreadRole = (typeof threadRoles)[number]
export type ThreadMicros = Readonly<Record<ThreadRole, number>>

/** User and system time of the running threads of one process so far, in µs. Sluice names its threads. */
export function threadMicros(pid: number): ThreadMicros {
  const micros: Record<ThreadRole, number> = { main: 0, worker: 0, store: 0, other: 0 }
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    const line = readIfThere(`/proc/${pid}/task/${thread}/stat`)
    const [user = 0, system = 0] = fieldsOf(line).slice(11, 13).map(Number)
    const name = line.slice(line.indexOf('(') + 1, line.lastIndexOf(')'))
    const role = Number(thread) === pid ? 'main' : roleOf(name)
    micros[role] += ((user + system) * 1e6) / ticksPerSecond
  }
  return micros
}

function roleOf(name: string): ThreadRole {
  if (name === 'store') return 'store'
  return /^relay \d+$/.test(name) ? 'worker' : 'other'
}

function kilobytesOf(pid: number, field: string): number {
  const status = readIfThere(`/proc/${pid}/status`)
  return Number(new RegExp(`^${field}:\\s*(\\d+) kB$`, 'm').exec(status)?.[1] ?? 0)
}

function treeOf(root: number): number[] {
  const children = new Map<number, number[]>()
  for (const entry of readdirSync('/proc')) {
    const pid = Number(entry)
    const parent = Number.isInteger(pid) ? statOf(pid)?.parent : undefined
    if (parent !== undefined) children.set(parent, [...(children.get(parent) ?? []), pid])
  }
  const below = (pid: number): number[] => [pid, ...(children.get(pid) ?? []).flatMap(below)]
  return below(root)
}

function statOf(pid: number): Stat | undefined {
  const line = readIfThere(`/proc/${pid}/stat`)
  const fields = fieldsOf(line)
  if (line === '') return undefined
  const [user, system, ofEndedChildren, ofEndedChildrenSystem] = fields.slice(11, 15).map(Number)
  const ticks = (user ?? 0) + (system ?? 0) + (ofEndedChildren ?? 0) + (ofEndedChildrenSystem ?? 0)
  return { parent: Number(fields[1]), ticks }
}

/** The fields after the command's name, which is in parentheses and may contain anything, including parentheses. */
function fieldsOf(line: string): string[] {
  return line.slice(line.lastIndexOf(')') + 2).split(' ')
}

function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
