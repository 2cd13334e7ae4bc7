/** What a machine that is busy with other work may take longer. */
import { availableParallelism, loadavg } from 'node:os'

/** So long on a machine that does nothing else; where more wants to run than there are cores, as much longer. */
export function onThisMachine(ms: number): number {
  const [load = 0] = loadavg()
  return ms * Math.max(1, load / availableParallelism())
}
