// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

/// Describes itself as ERC-20 does, with any text and any number of decimals.
contract Token {
    string public symbol;
    string public name;
    uint8 public immutable decimals;

    constructor(string memory symbol_, string memory name_, uint8 decimals_) {
        symbol = symbol_;
        name = name_;
        decimals = decimals_;
    }
}
