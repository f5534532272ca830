// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

/// Uses up all gas, whatever it is asked.
contract GreedyToken {
    fallback() external {
        // Memory this far away costs more than any block has. A loop of small steps takes minutes, since
        // the node of the tests keeps a trace of each.
        assembly {
            mstore(0xffffffffffff, 1)
        }
    }
}
