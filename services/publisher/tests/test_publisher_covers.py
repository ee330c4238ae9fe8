"""Covers as pictures: their text is right and readable in any script."""

import tracemalloc
from importlib.resources import files
from io import BytesIO
from itertools import pairwise
from uuid import UUID

import pytest
from PIL import Image, ImageChops

from chassis.http.public.rendering import ACCENT_COLOURS
from publisher.colours import BLACK, WHITE, contrast, mixed, parse, readable_on
from publisher.covers import Cover, Format, typesetting
from publisher.covers.drawing import draw
from publisher.covers.fonts import CoverFont, face_of
from publisher.covers.right_to_left import join_letters, visual_order
from publisher.covers.scripts import drawable
from publisher.figures import Figure, FigureRow, figure_of

SIZES = (96, 80, 64, 50, 34)
WIDTH = 1040
NAMES = {
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


BANDS = {Format.LINK: 513, Format.PORTRAIT: 1080}
"""The height at which the band with the name begins."""
FIGURE = Figure(
    "Coffee",
    (
        FigureRow("Espresso", "18 g", 18),
        FigureRow("Moka pot", "36 g", 36),
        FigureRow("Cold brew", "72 g", 72),
    ),
)


def cover(
    title: str = "Cold brew at home",
    *,
    site: str = "The Daily Grind",
    colour: str = ACCENT_COLOURS[0],
    number: int = 7,
    figure: str | None = None,
) -> Cover:
    return Cover(UUID(int=number), title, site, colour, figure=figure)


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


@pytest.mark.extended
@pytest.mark.parametrize("format_", BANDS)
@pytest.mark.parametrize("language", NAMES)
def test_every_name_stands_within_the_margins_of_the_band(language: str, format_: Format) -> None:
    picture = opened(cover(site=NAMES[language]), format_)
    assert picture.size == format_.size
    box = ink(picture.crop((0, BANDS[format_], *picture.size)), WHITE)
    assert box is not None, "no name is to be seen"
    left, _, right, _ = box
    # Round letters and accents reach a little over the line that they are set to.
    assert left >= 58
    assert right <= format_.size[0] - 58


@pytest.mark.parametrize(
    ("format_", "kind"), [(Format.LINK, "PNG"), (Format.PORTRAIT, "JPEG"), (Format.LIST, "WEBP")]
)
def test_the_files_are_what_links_lists_and_instagram_take(format_: Format, kind: str) -> None:
    file = draw(cover(), format_)
    picture = Image.open(BytesIO(file))
    assert (picture.format, picture.size, f"image/{kind.lower()}") == (kind, format_.size, format_.media_type)
    assert len(file) < {Format.LINK: 40_000, Format.PORTRAIT: 250_000, Format.LIST: 16_000}[format_]


@pytest.mark.extended
@pytest.mark.parametrize("format_", Format)
def test_the_same_cover_is_the_same_file_and_each_article_has_its_own(format_: Format) -> None:
    assert draw(cover(), format_) == draw(cover(), format_) == draw(cover(title="Another"), format_)
    others = [
        cover(),
        cover(colour=ACCENT_COLOURS[1]),
        cover(number=8),
        cover(figure=FIGURE.as_json()),
        *([] if format_ is Format.LIST else [cover(site="Other")]),  # lists leave the band out
    ]
    assert (
        len({draw(each, format_) for each in others}) == len({each.digest for each in others}) == len(others)
    )


@pytest.mark.parametrize("colour", [*ACCENT_COLOURS, "#000000", "#ffffff", "#777777", "#ffd400", "#808000"])
def test_the_name_can_be_read_on_any_colour(colour: str) -> None:
    """WCAG 2.2, 1.4.3: at least 4.5 to 1."""
    picture = opened(cover(colour=colour), Format.LINK)
    text = readable_on(parse(colour))
    assert contrast(text, parse(colour)) >= 4.5
    assert ink(picture.crop((0, BANDS[Format.LINK], *picture.size)), text) is not None


@pytest.mark.parametrize("colour", ["#ffd400", "#1f6154"])
def test_a_figure_is_drawn_as_bars_as_long_as_its_numbers(colour: str) -> None:
    picture = opened(cover(figure=FIGURE.as_json(), colour=colour), Format.LINK)
    paper, ground = (0xFC, 0xFB, 0xF8), parse(colour)
    bar = ground if readable_on(ground) == WHITE else mixed(ground, BLACK, 0.35)
    assert contrast(bar, paper) >= 1.5
    lengths = []
    for row in range(len(FIGURE.rows)):
        # The chart begins below its head, and ends above the band.
        top = 108 + (513 - 108 - 32) * (row + 0.5) / len(FIGURE.rows)
        box = ink(picture.crop((0, round(top) - 4, 1029, round(top) + 4)), bar)
        assert box is not None
        lengths.append(box[2] - box[0])
    assert [round(lengths[2] / length) for length in lengths] == [4, 2, 1]
    assert cover(figure=FIGURE.as_json()).alternative_text == (
        "Bar chart. Coffee: Espresso 18 g, Moka pot 36 g, Cold brew 72 g"
    )


def test_a_name_that_the_typefaces_lack_is_not_set_at_all() -> None:
    for name in ("วิธีชงกาแฟเย็นที่บ้าน", "घर पर कोल्ड ब्रू", "Cold brew ठंडा", "ߒߞߏ", "ܣܘܪܝܝܐ", "ไทย coffee"):
        assert drawable(name) is None, name
        picture = opened(cover(site=name), Format.LINK)
        assert ink(picture.crop((0, BANDS[Format.LINK], *picture.size)), WHITE) is None


@pytest.mark.parametrize(
    ("rows", "numbers"),
    [
        ([["Espresso", "18 g"], ["Moka pot", "20 g"], ["Cold brew", "90 g"]], [18, 20, 90]),
        ([["Espresso", "1,000"], ["Moka pot", "2.5"], ["Cold brew", "0"]], [1000, 2.5, 0]),
        ([["Espresso", "fine"], ["Moka pot", "20 g"], ["Cold brew", "90 g"]], None),
        ([["Espresso", "18 g"], ["Moka pot", "20 ml"], ["Cold brew", "90 g"]], None),
        ([["Espresso", "1:2"], ["Moka pot", "1:10"], ["Cold brew", "1:8"]], None),
        ([["Espresso", "2–3"], ["Moka pot", "4–5"], ["Cold brew", "12–18"]], None),  # noqa: RUF001 - ranges
        ([["Espresso", "5"], ["Moka pot", "5"], ["Cold brew", "5"]], None),
        ([["Espresso", "5"], ["Espresso", "6"], ["Cold brew", "7"]], None),
        ([["1", "5"], ["2", "6"], ["3", "7"]], None),
        ([["Espresso", "5"], ["Moka pot", "6"]], None),
        ([[f"way {n}", str(n)] for n in range(8)], None),
    ],
)
def test_a_figure_is_a_column_of_numbers_in_one_unit(
    rows: list[list[str]], numbers: list[float] | None
) -> None:
    figure = figure_of([["Way", "Amount"], *rows])
    assert (figure and [row.value for row in figure.rows]) == numbers
    if figure is not None:
        assert Figure.of_json(figure.as_json()) == figure
        assert [row.shown for row in figure.rows] == [row[1] for row in rows]


def test_emoji_and_vowel_points_are_left_out() -> None:
    assert drawable("☕\ufe0f Coffee 😀 now 👩\u200d🍳🇩🇪: 1\ufe0f\u20e3 way") == "☕ Coffee now: 1 way"
    assert drawable("שָׁלוֹם") == "שלום"
    assert drawable("قَهْوَة") == "قهوة"
    assert drawable("x" + "\u0301" * 200) == "x\u0301\u0301"
    assert drawable("😀😀") == ""
    assert drawable("cafe\u0301") == "café"


@pytest.mark.extended
def test_larger_type_is_taken_as_long_as_it_fits_and_only_then_the_text_is_cut() -> None:
    lines = [typesetting.fit("coffee " * count, WIDTH, SIZES) for count in range(1, 60)]
    sizes = [line.type.size for line in lines]
    assert (sizes[0], sizes[-1]) == (SIZES[0], SIZES[-1])
    assert all(one >= other for one, other in pairwise(sizes))
    assert all(line.width <= WIDTH for line in lines)
    assert [line.text.endswith("…") for line in lines] == sorted(line.text.endswith("…") for line in lines)


def test_arabic_letters_take_the_form_that_their_neighbours_ask_for() -> None:
    assert join_letters("قهوة") == "\ufed7\ufeec\ufeee\ufe93"
    assert join_letters("لا") == "\ufefb"
    assert join_letters("سلام") == "\ufeb3\ufefc\ufee1"
    assert join_letters("می\u200cتوان") == "\ufee3\ufbfd\u200c\ufe97\ufeee\ufe8d\ufee5"  # noqa: RUF001 - Arabic script
    assert join_letters("Coffee 5") == "Coffee 5"
    assert all(face_of(character) == 0 for character in join_letters(NAMES["Arabic"]))


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
    picture = opened(cover(site="בית הקפה"), Format.LINK)
    box = ink(picture.crop((0, BANDS[Format.LINK], *picture.size)), WHITE)
    assert box is not None
    left, _, right, _ = box
    assert left > 500
    assert 1128 <= right <= 1142


@pytest.mark.extended
def test_drawing_takes_bounded_memory_whatever_the_name_is() -> None:
    draw(cover(), Format.PORTRAIT)
    tracemalloc.start()
    try:
        draw(cover(site="x" * 1_000_000 + " " + "字" * 100_000), Format.PORTRAIT)
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
