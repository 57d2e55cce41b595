#!/usr/bin/env python3
"""Verifies a JSONL export of a missive log, without missive: verify.py EXPORT [HEAD], a head or a file that holds one"""
import base64, json, os, sys
sys.excepthook = lambda kind, error, trace: print(f"not verified: {kind.__name__}: {error}", "(pip install blake3)" * (kind is ModuleNotFoundError), file=sys.stderr)
if len(sys.argv) not in (2, 3) or sys.argv[1].startswith("-"): sys.exit(__doc__)
from blake3 import blake3  # the one package that is not in the standard library

def h(label, *parts): return blake3(b"".join(parts), derive_key_context=f"missive 2026-12 {label} v1").digest()
def be64(number): return number.to_bytes(8, "big")
def need(truth, what): truth or sys.exit(f"fault after event {seq}: {what}")
def once(pairs): need(len(dict(pairs)) == len(pairs), "a key stands twice"); return dict(pairs)

heads = [open(head).read().strip() if os.path.exists(head) else head for head in sys.argv[2:]]
seq, link, left_out, lost, opened, unopened, kept = 0, b"", 0, 0, 0, 0, set(heads)
rows = (json.loads(line, object_pairs_hook=once) for line in open(sys.argv[1], "rb"))
need(set(next(rows, "")) == {"export"}, "no header")
while set(row := next(rows, {"head": None})) != {"head"}:
    if set(row) == {"gap"}:  # events that were left out: their digests alone carry the chain on
        joined = base64.b64decode(row["gap"], validate=True)
        need(base64.b64encode(joined).decode() == row["gap"], "a gap in another spelling")
        digests = [joined[at:at + 32] for at in range(0, len(joined), 32)]
        need(seq and joined and len(joined) % 32 == 0, "a gap before event 1 or of broken digests"); left_out += len(digests)
    else:
        need(set(row) == {"seq", "prev", "body", "link", "payloads"}, "not the next event")
        body, said = row["body"].encode(), json.loads(row["body"], object_pairs_hook=once)
        facts = said.get("facts", {}) if said["kind"] == "missive.log.reanchored" else {}
        if facts and seq == facts["found"] < facts["witnessed"] == row["seq"] - 1 and link.hex() == facts["found_link"]:
            lost += facts["witnessed"] - seq; seq, link = facts["witnessed"], bytes.fromhex(facts["witnessed_link"])  # declared lost
        need(row["prev"] <= seq == row["seq"] - 1, "not the next event"); promised = said.get("payloads", [])
        if not seq: log = h("log", body); link = h("genesis", log)
        digests = [h("event", log, be64(row["seq"]), be64(row["prev"]), be64(len(body)), body)]
        need(len(row["payloads"]) == len(promised), "more or fewer payloads than commitments")
        for one, commitment in zip(row["payloads"], (promise["commitment"] for promise in promised)):
            if "salt" not in one: need(set(one) in ({"erased"}, {"withheld"}, {"missing"}), "a payload in no known form"); unopened += 1; continue
            content, salt = one["text"].encode() if "text" in one else base64.b64decode(one["base64"], validate=True), bytes.fromhex(one["salt"])
            need(one == {"salt": salt.hex(), **({"text": one["text"]} if "text" in one else {"base64": base64.b64encode(content).decode()})}, "a payload in another spelling")
            need(h("payload", salt, be64(len(content)), content).hex() == commitment, "another payload"); opened += 1
    for digest in digests: seq, link = seq + 1, h("link", link, digest); kept.discard(f"{log.hex()}:{seq}:{link.hex()}")
    need("gap" in row or row["link"] == link.hex(), "another link than the one recomputed")
need(seq and row["head"] == {"log": log.hex(), "seq": seq, "link": link.hex()} and not any(True for _ in rows), "no head, another head, or more after it")
need(not kept, f"the head kept elsewhere is not in this log: {' '.join(kept)}")
if lost: print(f"{lost} events are lost, and a later event says so")
print(f"ok {log.hex()}:{seq}:{link.hex()}", f"{seq - left_out - lost} events, {left_out} left out, {opened} payloads verified, {unopened} not opened",
      f"unchanged up to {heads[0]}" if heads else "consistent; completeness unproven", sep="\n")
