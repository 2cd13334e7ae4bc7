/** The advisory locks of a cluster, all of them statements to run. */

/** "SLUI": the number space of our locks. */
const space = 0x534c5549

/** Control-plane writes, one after the other until their transaction ends. */
export const writeLock: string = `select pg_advisory_xact_lock(${space}, 1)`
/** Migrations, until the connection ends. */
export const migrationLock: string = `select pg_advisory_lock(${space}, 2)`
/** The same for one who does not wait. */
export const tryMigrationLock: string = `select pg_try_advisory_lock(${space}, 2)`
/** Whoever adds request rows has it together with others; whoever has it alone knows that no lower number comes any more. */
export const sharedRowLock: string = `select pg_advisory_xact_lock_shared(${space}, 3)`
export const soleRowLock: string = `select pg_advisory_xact_lock(${space}, 3)`
/** Work that one node does for all, step by step: a node whose lease has run out unnoticed waits for the one that has it now. */
export const jobLock: string = `select pg_advisory_xact_lock(${space}, 4)`
