"""Covers as pictures: what stands on them, in any script, and that it can be read."""

import tracemalloc
from importlib.resources import files
from io import BytesIO
from itertools import pairwise
from uuid import UUID

import pytest
from PIL import Image, ImageChops

from chassis.http.public.rendering import ACCENT_COLOURS
from publisher.colours import BLACK, WHITE, contrast, mixed, parse, readable_on
from publisher.covers import Cover, Format, line_breaking, typesetting
from publisher.covers.drawing import draw
from publisher.covers.fonts import CoverFont, face_of
from publisher.covers.right_to_left import join_letters, visual_order
from publisher.covers.scripts import drawable

SIZES = (96, 80, 64, 50, 34)
WIDTH = 1040
TITLES = {
    "English": "Water quality for coffee: why hardness matters more than the beans you buy",
    "German": "Rechtsschutzversicherungsgesellschaften und Donaudampfschifffahrtsgesellschaften im Vergleich",
    "Greek": "Πώς φτιάχνεται ο ελληνικός καφές στο μπρίκι",  # noqa: RUF001 - Greek
    "Russian": "Как выбрать кофемолку для дома: жернова, помол и настройка",
    "Vietnamese": "Cách pha cà phê phin truyền thống tại nhà",
    "Arabic": "كيف تحضر القهوة العربية في المنزل: 5 خطوات",
    "Persian": "چگونه می\u200cتوان قهوه سرد را در خانه درست کرد؟",  # noqa: RUF001 - Arabic script
    "Hebrew": "איך מכינים קפה קר בבית: 3 שיטות (כולל Cold Brew)",
    "Chinese": "如何在家制作冷萃咖啡：水质、研磨度与时间的完整指南",  # noqa: RUF001 - wide marks
    "Japanese": "水出しコーヒーの作り方。豆の挽き目と抽出時間について",
    "Korean": "집에서 콜드브루 커피를 만드는 방법과 원두 분쇄도 선택",
    "endless": "unbreakable" * 90,
    "many words": "word " * 400,
}


def cover(title: str, *, site: str = "The Daily Grind", colour: str = ACCENT_COLOURS[0]) -> Cover:
    return Cover(UUID(int=7), title, site, colour)


def opened(cover: Cover, format_: Format) -> Image.Image:
    picture = Image.open(BytesIO(draw(cover, format_)))
    picture.load()
    return picture.convert("RGB")


def ink(picture: Image.Image, colour: tuple[int, int, int]) -> tuple[int, int, int, int] | None:
    """The smallest box that holds everything of about this colour: left, top, right, bottom."""
    apart = ImageChops.difference(picture, Image.new("RGB", picture.size, colour)).split()
    furthest = ImageChops.lighter(ImageChops.lighter(apart[0], apart[1]), apart[2])
    mask = furthest.point(lambda distance: 255 * (distance < 24))
    return mask.getbbox()


@pytest.mark.parametrize("format_", Format)
@pytest.mark.parametrize("language", TITLES)
def test_every_title_stands_within_the_margins(language: str, format_: Format) -> None:
    picture = opened(cover(TITLES[language]), format_)
    assert picture.size == format_.size
    box = ink(picture.crop((0, 160, *picture.size)), WHITE)
    assert box is not None, "no title is to be seen"
    left, top, right, bottom = box
    width, height = format_.size
    # Round letters and accents reach a little over the line that they are set to.
    assert left >= 74
    assert right <= width - 74
    assert top + 160 >= 170
    assert bottom + 160 <= height - 54


def test_the_files_are_what_links_and_instagram_take() -> None:
    link = Image.open(BytesIO(draw(cover("Cold brew at home"), Format.LINK)))
    assert (link.format, link.size) == ("PNG", (1200, 630))
    portrait = Image.open(BytesIO(draw(cover("Cold brew at home"), Format.PORTRAIT)))
    assert (portrait.format, portrait.size, portrait.mode) == ("JPEG", (1080, 1350), "RGB")


@pytest.mark.parametrize("format_", Format)
def test_the_same_cover_is_the_same_file(format_: Format) -> None:
    title = TITLES["Persian"]
    assert draw(cover(title), format_) == draw(cover(title), format_)
    others = [
        cover("Cold brew"),
        cover(title, site="Other"),
        cover(title, colour=ACCENT_COLOURS[1]),
        Cover(UUID(int=8), title, "The Daily Grind", ACCENT_COLOURS[0]),
    ]
    drawn = {draw(each, format_) for each in [cover(title), *others]}
    assert len(drawn) == len({each.digest for each in [cover(title), *others]}) == 5


@pytest.mark.parametrize("colour", [*ACCENT_COLOURS, "#000000", "#ffffff", "#777777", "#ffd400", "#808000"])
def test_text_can_be_read_on_any_colour_and_on_the_figures(colour: str) -> None:
    """WCAG 2.2, 1.4.3: at least 4.5 to 1, also where a figure lies below the text."""
    picture = opened(cover("Cold brew at home", colour=colour), Format.LINK)
    ground = parse(colour)
    text = readable_on(ground)
    assert ink(picture.crop((0, 160, *picture.size)), text) is not None
    away = BLACK if text == WHITE else WHITE
    for share in (0.0, 0.16):
        assert contrast(text, mixed(ground, away, share)) >= 4.5
    # Nothing that was drawn is nearer to the text than the ground is, but for the edges of letters.
    corner = picture.crop((700, 160, 1200, 430)).getcolors()
    assert corner is not None
    assert min(contrast(text, (red, green, blue)) for _, (red, green, blue) in corner) >= 4.4


def test_what_the_typefaces_lack_is_not_set_at_all() -> None:
    for title in ("วิธีชงกาแฟเย็นที่บ้าน", "घर पर कोल्ड ब्रू", "Cold brew ठंडा", "ߒߞߏ", "ܣܘܪܝܝܐ", "ไทย coffee"):
        assert drawable(title) is None, title
        picture = opened(cover(title), Format.LINK)
        assert ink(picture.crop((0, 160, *picture.size)), WHITE) is None
        assert ink(picture, WHITE) is not None, "the name of the site is there"
    nothing = opened(cover("กาแฟ", site="กาแฟ"), Format.LINK)
    assert ink(nothing, WHITE) is None


def test_emoji_and_vowel_points_are_left_out() -> None:
    assert drawable("☕\ufe0f Coffee 😀 now 👩\u200d🍳🇩🇪: 1\ufe0f\u20e3 way") == "☕ Coffee now: 1 way"
    assert drawable("שָׁלוֹם") == "שלום"
    assert drawable("قَهْوَة") == "قهوة"
    assert drawable("x" + "\u0301" * 200) == "x\u0301\u0301"
    assert drawable("😀😀") == ""
    assert ink(opened(cover("😀😀"), Format.LINK).crop((0, 160, 1200, 630)), WHITE) is None
    assert drawable("cafe\u0301") == "café"


@pytest.mark.parametrize("language", ["English", "Greek", "Russian", "Chinese", "Korean", "Arabic"])
def test_lines_are_even_and_hold_the_whole_title(language: str) -> None:
    title = TITLES[language]
    block = typesetting.fit(title, WIDTH, 350, SIZES)
    widths = [block.type.width(line) for line in block.lines]
    assert max(widths) <= WIDTH
    assert min(widths) >= 0.5 * max(widths)
    assert block.height <= 350
    assert not any("…" in line for line in block.lines)
    assert sorted("".join(block.lines).replace(" ", "")) == sorted(
        visual_order(join_letters(title), right_to_left=block.right_to_left).replace(" ", "")
    )


def test_no_word_stays_alone_below_a_long_line() -> None:
    for count in range(3, 40):
        title = " ".join(["coffee"] * count + ["at", "it"])
        block = typesetting.fit(title, WIDTH, 350, SIZES)
        if len(block.lines) > 1:
            assert len(block.lines[-1].split()) > 1, block.lines


def test_larger_type_is_taken_as_long_as_it_fits() -> None:
    sizes = [typesetting.fit("coffee " * count, WIDTH, 350, SIZES).type.size for count in range(1, 60)]
    assert sizes[0] == SIZES[0]
    assert sizes[-1] == SIZES[-1]
    assert all(one >= other for one, other in pairwise(sizes))


def test_only_what_fits_no_size_is_cut() -> None:
    for title in ("word " * 400, "unbreakable" * 90, "字" * 900):
        block = typesetting.fit(title, WIDTH, 350, SIZES)
        assert block.type.size == SIZES[-1]
        assert block.lines[-1].endswith("…")
        assert max(map(block.type.width, block.lines)) <= WIDTH
        assert block.height <= 350


def _lines(text: str, width: float) -> list[str]:
    """With every character one wide."""
    lines = line_breaking.balance_lines(line_breaking.pieces(text), width, len)
    assert lines is not None
    ends = [*([False] * (len(lines) - 1)), True]
    return [line_breaking.join_pieces(line, ends_text=end) for line, end in zip(lines, ends, strict=True)]


def test_lines_end_where_a_reader_expects_it() -> None:
    assert _lines("one two three four", 10) == ["one two", "three four"]
    assert _lines("well-known state-of-the-art", 14) == ["well-known", "state-of-", "the-art"]
    assert _lines("for coffee: a big overview", 14) == ["for coffee:", "a big overview"]
    assert _lines("Donau\u00addampf\u00adschiff", 11) == ["Donau-", "dampfschiff"]
    assert _lines("Donau\u00addampf\u00adschiff", 30) == ["Donaudampfschiff"]
    assert _lines("2-3 pages", 6) == ["2-3", "pages"]


def test_chinese_and_japanese_lines_begin_and_end_with_the_right_characters() -> None:
    for width in range(2, 12):
        for line in _lines("水出し「コーヒー」の作り方。豆の、挽き目ッと！抽出（時間）", max(width, 4)):  # noqa: RUF001 - wide marks
            assert line[0] not in "。、！」）ーッ", line  # noqa: RUF001 - wide marks
            assert line[-1] not in "「（", line  # noqa: RUF001 - wide marks
    assert _lines("집에서 콜드브루", 5) == ["집에서", "콜드브루"]


def test_arabic_letters_take_the_form_that_their_neighbours_ask_for() -> None:
    assert join_letters("قهوة") == "\ufed7\ufeec\ufeee\ufe93"
    assert join_letters("لا") == "\ufefb"
    assert join_letters("سلام") == "\ufeb3\ufefc\ufee1"
    assert join_letters("می\u200cتوان") == "\ufee3\ufbfd\u200c\ufe97\ufeee\ufe8d\ufee5"  # noqa: RUF001 - Arabic script
    assert join_letters("Coffee 5") == "Coffee 5"
    assert all(face_of(character) == 0 for character in join_letters(TITLES["Arabic"]))


@pytest.mark.parametrize(
    ("text", "drawn"),
    [
        ("אבג", "גבא"),
        ("אבג 123 דהו", "והד 123 גבא"),
        ("אבג (abc) דהו", "והד (abc) גבא"),
        ("אבג: 1,5–2.5%", "2.5%–1,5 :גבא"),  # noqa: RUF001 - a range
        ("אבג Cold Brew!", "!Cold Brew גבא"),
    ],
)
def test_right_to_left_lines_are_in_the_order_of_paper(text: str, drawn: str) -> None:
    assert visual_order(text, right_to_left=True) == drawn


def test_right_to_left_covers_begin_at_the_right() -> None:
    picture = opened(cover("קפה קר", site="בית הקפה"), Format.LINK)
    box = ink(picture, WHITE)
    assert box is not None
    left, _, right, _ = box
    assert left > 500
    assert 1112 <= right <= 1126


def test_drawing_takes_bounded_memory_whatever_the_title_is() -> None:
    draw(cover("warm"), Format.PORTRAIT)
    tracemalloc.start()
    try:
        draw(cover("x" * 1_000_000 + " " + "字" * 100_000), Format.PORTRAIT)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 40_000_000


def test_every_typeface_comes_with_its_licence() -> None:
    folder = files("publisher.covers").joinpath("typefaces")
    names = {file.name for file in folder.iterdir()}
    typefaces = {name.removesuffix(".ttf") for name in names if name.endswith(".ttf")}
    assert len(typefaces) == 2
    assert names == {name + end for name in typefaces for end in (".ttf", ".LICENSE.txt")}


def test_a_width_is_that_of_its_parts() -> None:
    type_ = CoverFont(50)
    assert type_.width("Coffee 咖啡") == pytest.approx(type_.width("Coffee ") + type_.width("咖啡"), abs=1)
