/** The advisory locks of a cluster, as SQL statements. */

/** "SLUI": the key space of our locks. */
const space = 0x534c5549

/** Serializes control-plane writes, until their transaction ends. */
export const writeLock: string = `select pg_advisory_xact_lock(${space}, 1)`
/** Serializes migrations, until the connection ends. */
export const migrationLock: string = `select pg_advisory_lock(${space}, 2)`
/** Tries the migration lock without waiting. */
export const tryMigrationLock: string = `select pg_try_advisory_lock(${space}, 2)`
/** Held shared by every transaction that inserts request rows; the exclusive holder knows that no lower row id will appear. */
export const sharedRowLock: string = `select pg_advisory_xact_lock_shared(${space}, 3)`
export const exclusiveRowLock: string = `select pg_advisory_xact_lock(${space}, 3)`
/** Serializes the steps of leader jobs: a node that has not noticed the loss of its lease waits for the new leader. */
export const jobLock: string = `select pg_advisory_xact_lock(${space}, 4)`
