// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import "./Exchange.sol";

/// An exchange whose LogTrade is missing, or has other amounts than its LogTake.
contract BrokenExchange is Exchange {
    bool private immutable isMissing;

    constructor(bool isMissing_) {
        isMissing = isMissing_;
    }

    function logTrade(uint128 quantity, address payToken, uint128 spent, address buyToken)
        internal
        override
    {
        if (!isMissing) emit LogTrade(uint256(quantity) + 1, payToken, spent, buyToken);
    }
}
