// How nodes say that a call has failed by what the contract does. All other errors are the node's own: they say nothing of the contract.

/**
 * From go-ethereum and Erigon, Besu, Nethermind, Reth and Anvil, Hardhat and Ganache. Whole texts, but for what a contract gives as its
 * reason: "missing revert data" and "socket exception" are of nodes.
 */
const FAILED = [
  /^execution reverted(?!\w)/,
  /^(revert|reverted)( 0x[0-9a-f]*)?$/,
  /^(invalid opcode|bad ?instruction)(:? .{0,40})?$/,
  /^(invalid instruction|invalid ?jump ?destination|bad ?jump( ?destination)?( \w+)?)$/,
  /^(stack ?(underflow|overflow|limit reached)( .{0,40})?|max call depth exceeded)$/,
  /^(return data out of bounds|access ?violation|gas uint64 overflow)$/,
  /^transaction processing could not be completed due to an exception(?!\w)/,
  /^evm error:? (opcodenotfound|invalidfeopcode|invalidjump|notactivated|stackunderflow|stackoverflow|outofoffset)$/,
  /^(error: )?vm exception while processing transaction: (revert|reverted|invalid opcode)(?!\w)/,
  /^(error: )?transaction reverted(?!\w)/,
];

/** The gas of the call, which runs out. */
const OUT_OF_GAS = [
  /^out ?of ?gas$/,
  /^out of gas: (gas required exceeds( allowance)?|gas exhausted during (memory expansion|precompiled contract execution)|invalid operand to an opcode): \d+$/,
  /^evm error:? outofgas(\(\w+\))?$/,
  /^(error: )?vm exception while processing transaction: out of gas$/,
  /^(error: )?transaction ran out of gas$/,
];

const isOneOf = (patterns: readonly RegExp[], reason: string): boolean =>
  patterns.some((pattern) => pattern.test(reason.toLowerCase()));

/** Whether it reverts, or does what no contract may. */
export const isContractFailure = (reason: string): boolean => isOneOf(FAILED, reason);

export const isOutOfGas = (reason: string): boolean => isOneOf(OUT_OF_GAS, reason);
