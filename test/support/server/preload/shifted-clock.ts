/** Preloaded into a relay by NODE_OPTIONS: shifts its clock ahead by CLOCK_AHEAD_MS in every thread. */
const aheadMs = Number(process.env['CLOCK_AHEAD_MS'] ?? '0')
const systemNow = Date.now.bind(Date)
Date.now = () => systemNow() + aheadMs
