#!/usr/bin/python3
"""Draws the Korean pictures: the English ones, with the texts of this table. Run it after a change of either."""

import re
from xml.sax.saxutils import escape, unescape

import sources

IMAGES = sources.ROOT / "docs/images"
TEXT = re.compile(r"(<(text|title|desc)\b[^>]*>)([^<]*)(</\2>)")

KOREAN = {
    "late-write": {
        "A guarded save refuses a late write": "가드가 늦은 저장을 거부합니다",
        "Alice takes the lock with fence 41, and her laptop sleeps until the lease has expired. Bob takes the lock with fence 42 "
        "and saves in one transaction: guard, update, release, commit. Alice wakes up and saves: the guard in her transaction "
        "refuses because Bob took the key, and she rolls back. Bob's save stays.":
            "앨리스가 펜싱 토큰 41로 잠금을 선점하고, 노트북이 절전에 들어간 사이에 잠금이 만료됩니다. 밥이 펜싱 토큰 42로 선점하고, 트랜잭션 하나에서 "
            "가드, 변경, 해제, 커밋을 합니다. 앨리스가 돌아와 저장하지만 밥이 선점했으므로 가드가 거부하고 롤백합니다. 밥이 저장한 내용은 그대로 남습니다.",
        "Alice": "앨리스",
        "your database": "데이터베이스",
        "Bob": "밥",
        "try_lock Order/1": "try_lock Order/1",
        "yours, fence 41": "선점, 펜싱 토큰 41",
        "the laptop sleeps": "노트북이 한 시간",
        "for an hour": "절전에 들어갑니다",
        "the lease expires": "잠금이 만료됩니다",
        "yours, fence 42": "선점, 펜싱 토큰 42",
        "one transaction": "트랜잭션 하나",
        "guard: alive": "가드: 유효함",
        "update the order": "주문 변경",
        "release, commit": "해제, 커밋",
        "wakes up, and saves": "깨어나서 저장합니다",
        "guard: alive?": "가드: 유효한가?",
        "no: taken by Bob": "거부: 밥이 선점함",
        "rollback": "롤백",
        "Bob's save stays. Alice learns who has the key.": "밥이 저장한 내용이 남고, 앨리스는 누가 선점했는지 압니다.",
    },
    "life-of-a-lease": {
        "The life of a lease": "잠금의 일생",
        "Alice takes the key Order/1 at 9:00 with fence 41. Her page renews the lease until she saves and releases it at 9:20. Bob is "
        "refused at 9:07, waits, and is granted the key with fence 42 at 9:20. A lease ends released, expired, taken or broken.":
            "앨리스가 9시에 펜싱 토큰 41로 키 Order/1을 선점합니다. 9시 20분에 저장하고 해제할 때까지 페이지가 잠금을 갱신합니다. 밥은 9시 7분에 거부되어 "
            "대기하고, 9시 20분에 펜싱 토큰 42로 선점합니다. 잠금은 해제, 만료, 만료 후 선점, 강제 해제로 끝납니다.",
        "The key Order/1, from nine o'clock on": "9시부터 키 Order/1에 일어나는 일",
        "9:00": "9:00",
        "9:10": "9:10",
        "9:20": "9:20",
        "9:30": "9:30",
        "Alice": "앨리스",
        "her lease, fence 41": "앨리스의 잠금, 펜싱 토큰 41",
        "the page renews it": "페이지가 갱신합니다",
        "opens the form": "양식을 엽니다",
        "saves and": "저장하고",
        "releases": "해제합니다",
        "Bob": "밥",
        "refused: Alice has it": "거부: 앨리스가 9:00부터",
        "since 9:00; he waits": "선점 중, 밥은 대기",
        "Bob's, fence 42": "밥, 펜싱 토큰 42",
        "How a lease ends, and what its holder is told": "잠금이 끝나는 방식, 그리고 소유자가 알게 되는 것",
        "released": "해제됨",
        "by its holder, or with all": "소유자가 해제했거나",
        "leases of a session": "세션이 끝나며 함께 해제됨",
        "expired": "만료됨",
        "its time is up, and nobody": "유효 시간이 지났고 아무도",
        "took the key: take it again": "선점하지 않음: 다시 선점 가능",
        "taken": "만료 후 선점됨",
        "its time was up, and somebody": "유효 시간이 지난 뒤",
        "else has the key: who": "다른 사용자가 선점함: 누가",
        "broken": "강제 해제됨",
        "by an administrator:": "관리자가 강제 해제함:",
        "who, and why": "누가, 왜",
    },
}


def drawn(name, texts):
    """The drawing with these texts instead of the English ones."""
    def translated(found):
        return found.group(1) + escape(texts[unescape(found.group(3))]) + found.group(4)

    drawing = (IMAGES / f"{name}.svg").read_text(encoding="utf-8")
    used = {unescape(found.group(3)) for found in TEXT.finditer(drawing)}
    if used != set(texts):
        raise RuntimeError(f"{name}.svg and the table differ: {sorted(used ^ set(texts))}")
    return TEXT.sub(translated, drawing)


def pictures():
    """The Korean pictures by their path."""
    return {IMAGES / f"{name}.ko.svg": drawn(name, texts) for name, texts in KOREAN.items()}


if __name__ == "__main__":
    for path, picture in pictures().items():
        path.write_text(picture, encoding="utf-8")
