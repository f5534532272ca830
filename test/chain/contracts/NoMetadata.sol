// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

/// Reverts whatever it is asked.
contract NoMetadata {
    fallback() external {
        revert("no metadata");
    }
}
