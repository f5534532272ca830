// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

// A book with the events, prices and roundings of Tempo's exchange. It holds no tokens, and looks for the best order one by one.
contract TickBook {
    event PairCreated(bytes32 indexed key, address indexed base, address indexed quote);
    event OrderPlaced(
        uint128 indexed orderId,
        address indexed maker,
        address indexed token,
        uint128 amount,
        bool isBid,
        int16 tick,
        bool isFlipOrder,
        int16 flipTick
    );
    event OrderFilled(
        uint128 indexed orderId,
        address indexed maker,
        address indexed taker,
        uint128 amountFilled,
        bool partialFill
    );
    event OrderFlipped(
        uint128 indexed orderId,
        address indexed maker,
        address indexed token,
        uint128 amount,
        bool isBid,
        int16 tick,
        int16 flipTick
    );
    event FlipFailed(uint128 indexed orderId, address indexed maker, bytes4 reason);
    event OrderCancelled(uint128 indexed orderId);

    struct Order {
        uint128 orderId;
        address maker;
        bytes32 bookKey;
        bool isBid;
        int16 tick;
        uint128 amount;
        uint128 remaining;
        uint128 prev;
        uint128 next;
        bool isFlip;
        int16 flipTick;
    }

    // What becomes of a flip order that is filled.
    enum Flips {
        InPlace,
        Anew,
        Fail
    }

    uint128 public nextOrderId = 1;
    Flips public flips;
    mapping(address => address) public quoteOf;
    mapping(bytes32 => bool) private pairs;
    mapping(uint128 => Order) private orders;
    mapping(uint128 => address) private baseOf;
    // In the order of their time.
    uint128[] private queue;

    function setQuote(address base, address quote) external {
        quoteOf[base] = quote;
    }

    function setFlips(Flips to) external {
        flips = to;
    }

    function place(address base, uint128 amount, bool isBid, int16 tick) external {
        enter(base, Order(0, msg.sender, 0, isBid, tick, amount, amount, 0, 0, false, 0));
    }

    function placeFlip(address base, uint128 amount, bool isBid, int16 tick, int16 flipTick) external {
        enter(base, Order(0, msg.sender, 0, isBid, tick, amount, amount, 0, 0, true, flipTick));
    }

    function cancel(uint128 id) external {
        require(orders[id].maker == msg.sender, "not the maker");
        leave(id);
        delete orders[id];
        emit OrderCancelled(id);
    }

    // Buys or sells this amount of the base, as far as there are orders.
    function swap(address base, bool buys, uint128 amount) external {
        bytes32 key = keyOf(base);
        while (amount > 0) {
            uint128 id = best(key, !buys);
            if (id == 0) return;
            Order storage order = orders[id];
            uint128 taken = amount < order.remaining ? amount : order.remaining;
            amount -= taken;
            order.remaining -= taken;
            emit OrderFilled(id, order.maker, msg.sender, taken, order.remaining > 0);
            if (order.remaining == 0) end(id);
        }
    }

    function getOrder(uint128 id) external view returns (Order memory) {
        require(orders[id].maker != address(0), "no order");
        return orders[id];
    }

    function openOrders() external view returns (uint128[] memory) {
        return queue;
    }

    function enter(address base, Order memory order) private returns (uint128 id) {
        require(order.amount >= 100_000_000 && order.tick >= -2000 && order.tick <= 2000 && order.tick % 10 == 0);
        bytes32 key = keyOf(base);
        if (!pairs[key]) {
            pairs[key] = true;
            emit PairCreated(key, base, quoteOf[base]);
        }
        id = nextOrderId++;
        (order.orderId, order.bookKey) = (id, key);
        orders[id] = order;
        baseOf[id] = base;
        queue.push(id);
        emit OrderPlaced(id, order.maker, base, order.amount, order.isBid, order.tick, order.isFlip, order.flipTick);
    }

    function end(uint128 id) private {
        Order memory order = orders[id];
        leave(id);
        if (order.isFlip && flips != Flips.Fail) {
            (order.isBid, order.tick, order.flipTick) = (!order.isBid, order.flipTick, order.tick);
            order.remaining = order.amount;
            if (flips == Flips.InPlace) {
                orders[id] = order;
                queue.push(id);
                emit OrderFlipped(id, order.maker, baseOf[id], order.amount, order.isBid, order.tick, order.flipTick);
                return;
            }
            enter(baseOf[id], order);
        } else if (order.isFlip) {
            emit FlipFailed(id, order.maker, 0x12345678);
        }
        delete orders[id];
    }

    function leave(uint128 id) private {
        uint256 to = 0;
        for (uint256 from = 0; from < queue.length; from++) {
            if (queue[from] != id) queue[to++] = queue[from];
        }
        queue.pop();
    }

    function best(bytes32 key, bool isBid) private view returns (uint128 found) {
        for (uint256 n = 0; n < queue.length; n++) {
            Order storage order = orders[queue[n]];
            if (order.bookKey != key || order.isBid != isBid) continue;
            if (found != 0 && (isBid ? order.tick <= orders[found].tick : order.tick >= orders[found].tick)) continue;
            found = queue[n];
        }
    }

    function keyOf(address base) private view returns (bytes32) {
        return keccak256(abi.encodePacked(base, quoteOf[base]));
    }
}
