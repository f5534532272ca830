// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import "./Exchange.sol";

/// Takes offers for its caller: the taker of the event is this contract, not the sender.
contract TakerContract {
    Exchange private immutable exchange;

    constructor(Exchange exchange_) {
        exchange = exchange_;
    }

    /// All in one transaction.
    function take(uint256[] calldata ids, uint128[] calldata quantities) external {
        for (uint256 n = 0; n < ids.length; n++) exchange.take(ids[n], quantities[n]);
    }
}
