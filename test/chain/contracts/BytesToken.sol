// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

/// Describes itself in `bytes32` with decimals in `uint256`, as tokens before ERC-20 was settled do.
contract BytesToken {
    bytes32 public immutable symbol;
    bytes32 public immutable name;
    uint256 public immutable decimals;

    constructor(bytes32 symbol_, bytes32 name_, uint256 decimals_) {
        symbol = symbol_;
        name = name_;
        decimals = decimals_;
    }
}
