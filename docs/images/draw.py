"""Draw the pictures of this folder again: `python docs/images/draw.py`."""

from pathlib import Path

from getbit_env.get_bit.notation import parse_game
from getbit_env.get_bit.rendering import save_picture, scenes

GAME = """
4p C B A D
1. A2 B1 C5 D1 | C4:1234/5 A4:1345/2 B4:2345/1 D4:2345/1
2. A4 B5 C2 D3 | C3:12345 B4:234/15 A4:135/24 D4:245/13
3. A1 B4 C2 D5 | A3:12345 D4:12345 B4:12345 C3:1345/2
4. A2 B4 C5 D3 | A2:12345 C3:134/25 B4:1235/4 D4:1245/3
5. A4 B2 C3 D2 | D3:12345 A2:1235/4 C3:12345 B4:135/42
6. A1 B3 C3 D1 | B3:12345 D3:2345/1 A2:235/41 C3:1245/3
7. A2 B2 C5 D3 | A1:12345 C3:124/35 D3:245/13 B3:1345/2
8. A2 B3 C1 D2 | D2:12345 B3:145/23 C3:12345 A1:1345/2
9. A5 B5 C1 D4 | D2:1235/4 C3:2345/1 B3:12345 ~ A0:134/25
10. B4 C5 D5 | C2:12345 B3:1235/4 D2:123/45 ~ A0:134/25
11. B1 C4 D1 | D1:12345 C2:1235/4 B3:235/41 ~ A0:134/25
"""

if __name__ == "__main__":
    *_, last = scenes(parse_game(GAME))
    save_picture(last, Path(__file__).parent / "get_bit_4p.png")
