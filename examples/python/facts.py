"""Checks the files of every day, and follows blocks: by Python's standard library alone.

python3 facts.py check URL-OR-FOLDER    every file against the manifest, and the digest of every block
python3 facts.py follow URL [BLOCK]     prints each trade from that block on, and checks its digest
"""

import csv
import gzip
import hashlib
import io
import json
import os
import sys
import time
import urllib.error
import urllib.request
from datetime import datetime, timezone

# The fields of the line of each kind of fact, as docs/digests.md has them: columns of the files, and fields of the blocks.
SWAP = ["maker", "pair", "lot_gem", "lot_amt", "bid_gem", "bid_amt", "tx", "venue"]
TRADE = ["idx", "offer", "maker", "taker", *SWAP[1:]]
OFFER = ["offer", *SWAP, "closed"]
POOL = ["venue", "gem0", "reserve0", "gem1", "reserve1", "fee", "tick_spacing", "sqrt_price", "tick", "liquidity", "nets"]
STATES = {"true": "closed", "false": "open", True: "closed", False: "open"}


def line(kind, row):
    if kind == "pools":
        has = [str(row[name]) for name in POOL if row[name] not in (None, "")]
        return " ".join(["pool" if row["sqrt_price"] in (None, "") else "ranges", *has])
    if kind == "ends":
        return "cancel " + row["offer"]
    word, fields = ("trade", TRADE) if kind == "trades" else ("offer", OFFER)
    values = [STATES[row[name]] if name == "closed" else row[name] for name in fields]
    return " ".join([word, *("-" if value in (None, "") else str(value) for value in values)])


def digest_of(before, number, block_hash, when, lines):
    """The digest of a block with these facts after the digest `before`."""
    moment = datetime.fromisoformat(when.replace("Z", "+00:00")) - datetime(1970, 1, 1, tzinfo=timezone.utc)
    micros = (moment.days * 86_400 + moment.seconds) * 1_000_000 + moment.microseconds
    whole, fraction = divmod(abs(micros), 1_000_000)
    seconds = ("-" if micros < 0 else "") + f"{whole}.{fraction:06}".rstrip("0").rstrip(".")
    head = f"block {number} {block_hash or '-'} {seconds}"
    form = "".join(one + "\n" for one in [head, *sorted(lines, key=str.encode)])
    return hashlib.sha256(before + form.encode()).digest()


def read(place, name):
    if not place.startswith(("http://", "https://")):
        with open(f"{place}/{name}", "rb") as file:
            return file.read()
    with urllib.request.urlopen(place.rstrip("/") + "/" + name, timeout=60) as answer:
        return answer.read()


def check(place):
    content = read(place, "manifest.json")
    # It ends with the SHA-256 of itself without this field.
    signed, _, recorded = content.rpartition(b',"sha256":"')
    if hashlib.sha256(signed + b"}").hexdigest() + '"}\n' != recorded.decode(errors="replace"):
        sys.exit("manifest.json is not what was written")
    manifest = json.loads(content)
    before = bytes(32)
    blocks = 0
    for day in manifest["days"]:
        rows = {}
        for file in day["files"]:
            content = read(place, file["name"])
            if hashlib.sha256(content).hexdigest() != file["sha256"]:
                sys.exit(f"{file['name']} has other bytes than the manifest says")
            if not file["name"].endswith(".parquet"):
                plain = gzip.decompress(content) if file["name"].endswith(".gz") else content
                rows[file["kind"]] = list(csv.DictReader(io.StringIO(plain.decode(), newline="")))
        for file in day["files"]:
            found = len(rows.get(file["kind"], []))
            if found != file["rows"]:
                sys.exit(f"{file['name']} has {found} rows, and the manifest says {file['rows']}")
        facts = {}
        for kind in ("offers", "trades", "ends", "pools"):
            for row in rows.get(kind, []):
                facts.setdefault((row["block"], row["time"]), []).append((kind, row))
        for block in rows.get("blocks", []):
            number = block["number"]
            of_block = facts.pop((number, block["time"]), [])
            lines = [line(kind, row) for kind, row in of_block if row.get("event") != "filled"]
            before = digest_of(before, number, block["hash"], block["time"], lines)
            blocks += 1
            if "0x" + before.hex() != block["digest"]:
                sys.exit(f"block {number}: its facts have the digest 0x{before.hex()}, and the file says {block['digest']}")
        if facts:
            (number, when), [(kind, _), *_] = next(iter(facts.items()))
            sys.exit(f"{kind}-{day['day']}.csv.gz has rows of block {number} at {when}, which is not in blocks-{day['day']}.csv.gz")
        if "0x" + before.hex() != day["digest"]:
            sys.exit(f"{day['day']} ends with the digest 0x{before.hex()}, and the manifest says {day['digest']}")
    print(f"{len(manifest['days'])} days, {blocks} blocks: every digest is that of the facts. The last is 0x{before.hex()}", flush=True)


# As the fields of /v2/blocks are called.
NAMES = {name: "".join(part.title() if n else part for n, part in enumerate(name.split("_"))) for name in {*TRADE, *OFFER, *POOL}}


def lines_of(block):
    for kind in ("offers", "trades", "pools"):
        for row in block[kind]:
            yield line(kind, {name: row.get(field) for name, field in NAMES.items()})
    for name in block["cancelled"]:
        yield "cancel " + name


def ask(url, start):
    """A page of blocks; where there is none yet, waits for one."""
    request = urllib.request.Request(f"{url}/v2/blocks?from={start}", headers={"X-Min-Block": str(start)})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)["data"]
    except urllib.error.HTTPError as error:
        # 503: the block is not there yet; 429: too many requests.
        if error.code not in (429, 503):
            raise
        time.sleep(float(error.headers.get("Retry-After", 1)))
        return None


def follow(url, start):
    before = None
    while True:
        page = ask(url, start)
        if page is None:
            continue
        if page["before"] is None:
            known = bytes(32)
        else:
            known = bytes.fromhex(page["before"]["digest"][2:])
        if before is not None and known != before:
            sys.exit(f"block {start - 1} was replaced: begin anew some blocks earlier")
        before = known
        for block in page["blocks"]:
            facts = list(lines_of(block))
            # A block without rows has the digest of the block before it.
            if facts:
                before = digest_of(before, block["number"], block["hash"], block["time"], facts)
            if "0x" + before.hex() != block["digest"]:
                sys.exit(f"block {block['number']}: its facts have another digest than {block['digest']}")
            for trade in block["trades"]:
                print(block["time"], trade["tx"], trade["lotAmt"], trade["lotGem"], "for", trade["bidAmt"], trade["bidGem"], flush=True)
            start = block["number"] + 1


def main(arguments):
    if len(arguments) == 2 and arguments[0] == "check":
        check(arguments[1])
    elif len(arguments) in (2, 3) and arguments[0] == "follow":
        follow(arguments[1].rstrip("/"), int(arguments[2]) if len(arguments) == 3 else 0)
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except KeyboardInterrupt:
        pass
    except BrokenPipeError:
        # Who read what is printed has enough; what is left goes nowhere when Python ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
