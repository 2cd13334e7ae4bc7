/** Running the relay: its ledger, its records, its health. English. */

export const running = {
  ledger: {
    title: 'Ledger',
    lead: 'Every amount that came and went, double entry, append-only. Verifying recomputes all of it from the journal.',
    verify: 'Verify now',
    holds: 'The ledger adds up, to the last digit.',
    fails: 'The ledger does not add up.',
    entries: 'Entries checked',
    drift: 'Drift',
    driftNote: 'sum of all differences',
    openHolds: 'Open holds',
    openHoldsNote: 'requests under way',
    overrun: 'Overrun',
    overrunNote: 'delivered, and not to be had',
    notYet: 'Not verified here yet',
    notYetLead:
      'The relay watches its ledger all the time; here you can see it done. It reads everything and may take a while.',
  },
  audit: {
    title: 'Audit log',
    lead: 'Who did what to which object, newest first. It can only grow.',
    object: 'Object',
    objectHint: 'An id of an account, key, model or upstream',
    find: 'Find',
    none: 'Nothing was done yet',
    noneLead: 'Every change that is made here, by script or at the command line is written down.',
    time: 'Time',
    actor: 'Who',
    action: 'What',
    detail: 'Detail',
  },
}
