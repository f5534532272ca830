// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

/// Uses up all gas, whatever it is asked.
contract EndlessToken {
    fallback() external {
        uint256 n = 0;
        while (true) n++;
    }
}
