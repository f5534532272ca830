// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

/// An exchange of offers for tests: the events of MatchingMarket and their order, without transfers of
/// tokens. Any two addresses can be traded.
contract Exchange {
    struct Offer {
        uint128 payAmount;
        uint128 buyAmount;
        address payToken;
        address buyToken;
        address maker;
        uint64 timestamp;
    }

    event LogItemUpdate(uint256 id);
    event LogMake(
        bytes32 indexed id,
        bytes32 indexed pair,
        address indexed maker,
        address pay_gem,
        address buy_gem,
        uint128 pay_amt,
        uint128 buy_amt,
        uint64 timestamp
    );
    event LogBump(
        bytes32 indexed id,
        bytes32 indexed pair,
        address indexed maker,
        address pay_gem,
        address buy_gem,
        uint128 pay_amt,
        uint128 buy_amt,
        uint64 timestamp
    );
    event LogTake(
        bytes32 id,
        bytes32 indexed pair,
        address indexed maker,
        address pay_gem,
        address buy_gem,
        address indexed taker,
        uint128 take_amt,
        uint128 give_amt,
        uint64 timestamp
    );
    event LogKill(
        bytes32 indexed id,
        bytes32 indexed pair,
        address indexed maker,
        address pay_gem,
        address buy_gem,
        uint128 pay_amt,
        uint128 buy_amt,
        uint64 timestamp
    );
    event LogTrade(uint256 pay_amt, address indexed pay_gem, uint256 buy_amt, address indexed buy_gem);
    event LogMinSell(address pay_gem, uint256 min_amount);
    event LogAddTokenPairWhitelist(address baseToken, address quoteToken);
    event LogRemTokenPairWhitelist(address baseToken, address quoteToken);

    /// The id of the newest offer; the first one is 1.
    uint256 public lastId;
    mapping(uint256 => Offer) public offers;
    /// A remainder below this amount of the token that an offer pays is killed.
    mapping(address => uint256) public dustOf;

    function make(address payToken, uint128 payAmount, address buyToken, uint128 buyAmount)
        public
        returns (uint256 id)
    {
        require(payAmount > 0 && buyAmount > 0, "an amount is 0");
        require(payToken != buyToken, "the tokens are the same");
        id = ++lastId;
        offers[id] = Offer(payAmount, buyAmount, payToken, buyToken, msg.sender, uint64(block.timestamp));
        emit LogItemUpdate(id);
        emit LogMake(
            bytes32(id),
            pairOf(payToken, buyToken),
            msg.sender,
            payToken,
            buyToken,
            payAmount,
            buyAmount,
            uint64(block.timestamp)
        );
    }

    function take(uint256 id, uint128 quantity) public {
        Offer storage offer = standing(id);
        require(quantity > 0 && quantity <= offer.payAmount, "the offer has not this quantity");
        uint128 spent = spendOf(offer, quantity);
        require(spent > 0, "the quantity costs 0");

        emit LogItemUpdate(id);
        emit LogTake(
            bytes32(id),
            pairOf(offer.payToken, offer.buyToken),
            offer.maker,
            offer.payToken,
            offer.buyToken,
            msg.sender,
            quantity,
            spent,
            uint64(block.timestamp)
        );
        logTrade(quantity, offer.payToken, spent, offer.buyToken);

        offer.payAmount -= quantity;
        offer.buyAmount -= spent;
        if (offer.payAmount == 0) delete offers[id];
        else if (offer.payAmount < dustOf[offer.payToken]) remove(id);
    }

    function kill(uint256 id) public {
        require(standing(id).maker == msg.sender, "not the maker");
        remove(id);
    }

    function bump(uint256 id) public {
        Offer storage offer = standing(id);
        emit LogBump(
            bytes32(id),
            pairOf(offer.payToken, offer.buyToken),
            offer.maker,
            offer.payToken,
            offer.buyToken,
            offer.payAmount,
            offer.buyAmount,
            offer.timestamp
        );
    }

    /// Takes the standing offers that this one crosses, the best price first, and makes an offer of
    /// what is left. `match` itself is a reserved word.
    function matchOrMake(address payToken, uint128 payAmount, address buyToken, uint128 buyAmount)
        public
    {
        require(payAmount > 0 && buyAmount > 0, "an amount is 0");
        uint128 pay = payAmount;
        uint128 buy = buyAmount;
        while (buy > 0) {
            uint256 id = bestOffer(buyToken, payToken);
            if (id == 0 || !crosses(offers[id], payAmount, buyAmount)) break;
            uint128 quantity = offers[id].payAmount < buy ? offers[id].payAmount : buy;
            if (spendOf(offers[id], quantity) == 0) break;
            take(id, quantity);
            buy -= quantity;
            // The price of the rest is that of the whole.
            pay = uint128((uint256(buy) * payAmount) / buyAmount);
        }
        if (buy > 0 && pay > 0 && pay >= dustOf[payToken]) make(payToken, pay, buyToken, buy);
    }

    /// As MatchingMarket names them.
    function last_offer_id() external view returns (uint256) {
        return lastId;
    }

    function getOffer(uint256 id) external view returns (uint256, address, uint256, address) {
        Offer storage offer = offers[id];
        return (offer.payAmount, offer.payToken, offer.buyAmount, offer.buyToken);
    }

    function setDust(address token, uint256 amount) public {
        dustOf[token] = amount;
        emit LogMinSell(token, amount);
    }

    function whitelist(address base, address quote) public {
        emit LogAddTokenPairWhitelist(base, quote);
    }

    function unwhitelist(address base, address quote) public {
        emit LogRemTokenPairWhitelist(base, quote);
    }

    function logTrade(uint128 quantity, address payToken, uint128 spent, address buyToken)
        internal
        virtual
    {
        emit LogTrade(quantity, payToken, spent, buyToken);
    }

    function remove(uint256 id) private {
        Offer memory offer = offers[id];
        delete offers[id];
        emit LogItemUpdate(id);
        emit LogKill(
            bytes32(id),
            pairOf(offer.payToken, offer.buyToken),
            offer.maker,
            offer.payToken,
            offer.buyToken,
            offer.payAmount,
            offer.buyAmount,
            uint64(block.timestamp)
        );
    }

    function standing(uint256 id) private view returns (Offer storage offer) {
        offer = offers[id];
        require(offer.maker != address(0), "no such offer");
    }

    /// The cheapest offer that pays one token for another; of two at one price the older; 0 if none.
    function bestOffer(address payToken, address buyToken) private view returns (uint256 best) {
        for (uint256 id = 1; id <= lastId; id++) {
            Offer storage offer = offers[id];
            if (offer.payToken != payToken || offer.buyToken != buyToken) continue;
            if (best == 0 || isCheaper(offer, offers[best])) best = id;
        }
    }

    function isCheaper(Offer storage one, Offer storage other) private view returns (bool) {
        return
            uint256(one.buyAmount) * other.payAmount < uint256(other.buyAmount) * one.payAmount;
    }

    function crosses(Offer storage offer, uint128 payAmount, uint128 buyAmount)
        private
        view
        returns (bool)
    {
        return uint256(offer.buyAmount) * buyAmount <= uint256(payAmount) * offer.payAmount;
    }

    function spendOf(Offer storage offer, uint128 quantity) private view returns (uint128) {
        return uint128((uint256(quantity) * offer.buyAmount) / offer.payAmount);
    }

    function pairOf(address payToken, address buyToken) private pure returns (bytes32) {
        return keccak256(abi.encodePacked(payToken, buyToken));
    }
}
