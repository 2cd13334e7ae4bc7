/** Preloaded into a relay by NODE_OPTIONS: its clock is ahead by CLOCK_AHEAD_MS, in every thread. */
const ahead = Number(process.env['CLOCK_AHEAD_MS'] ?? '0')
const now = Date.now.bind(Date)
Date.now = () => now() + ahead
