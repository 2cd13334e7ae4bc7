/** Acquires the lock of the folder in its argument, drops the reference, reports it, and holds the lock until it is killed. */
import { acquireLock } from './data-directory-lock.ts'

acquireLock(process.argv[2] ?? '')
globalThis.gc?.()
process.stdout.write('taken\n')
setInterval(() => {}, 60_000)
