"""What the shop sells when it opens. Staff may change prices and stock in the admin afterwards."""

from __future__ import annotations

from typing import Final, NamedTuple


class Item(NamedTuple):
    """``price`` is in minor units of ``currency``."""

    slug: str
    name: str
    price: int
    stock: int
    description: str
    currency: str = "USD"


CATEGORIES: Final = {
    "paper": "Office paper",
    "stationery": "Stationery",
    "tea": "Tea",
    "books": "Books",
    "tools": "Tools",
    "garden": "Garden",
    "japan": "From Japan",
}
"""Slug and name, in the order of the front page."""

ITEMS: Final[dict[str, tuple[Item, ...]]] = {
    "paper": (
        Item(
            "copy-paper-a4",
            "Copy paper A4, 500 sheets",
            649,
            240,
            "White printer paper, 80 g/m², for laser and inkjet printers.",
        ),
        Item(
            "copy-paper-a4-recycled",
            "Recycled copy paper A4, 500 sheets",
            749,
            180,
            "Printer paper from all-recycled fibre, 80 g/m², natural white.",
        ),
        Item(
            "copy-paper-a3",
            "Copy paper A3, 500 sheets",
            1349,
            60,
            "Large white printer paper, 80 g/m², for plans and posters.",
        ),
        Item(
            "card-stock-a4",
            "Card stock A4, 100 sheets",
            1199,
            75,
            "Stiff white card, 250 g/m², for covers and invitations.",
        ),
        Item(
            "photo-paper-a4",
            "Photo paper A4, 20 sheets",
            899,
            90,
            "Glossy paper for inkjet printers, 260 g/m², dries at once.",
        ),
        Item(
            "label-sheets-a4",
            "Label sheets A4, 24 per sheet",
            1099,
            64,
            "Self-adhesive labels, 70 x 37 mm, 25 sheets.",
        ),
        Item("graph-paper-pad", "Graph paper pad", 399, 110, "50 sheets A4 with a 5 mm grid, perforated."),
        Item(
            "till-rolls-10",
            "Till rolls, pack of 10",
            1450,
            45,
            "Thermal paper, 80 mm wide, free of bisphenol.",
        ),
        Item(
            "kraft-paper-roll",
            "Kraft paper roll, 10 m",
            850,
            38,
            "Brown wrapping paper, 70 cm wide, strong enough for parcels.",
        ),
    ),
    "stationery": (
        Item(
            "notebook-a5-dotted",
            "Notebook A5, dotted",
            950,
            120,
            "160 numbered pages that lie flat, thread-sewn, with two ribbons.",
        ),
        Item(
            "notebook-a4-lined", "Notebook A4, lined", 1150, 85, "96 lined pages with a margin, soft cover."
        ),
        Item(
            "fountain-pen-medium",
            "Fountain pen, medium nib",
            2400,
            32,
            "Steel nib, takes cartridges or a converter, comes with one blue cartridge.",
        ),
        Item(
            "ballpoint-pens-12", "Ballpoint pens, box of 12", 620, 150, "Blue ink, medium point, refillable."
        ),
        Item("gel-pens-black-4", "Gel pens, black, pack of 4", 780, 95, "0.5 mm point, waterproof ink."),
        Item("pencils-hb-12", "Pencils HB, box of 12", 480, 140, "Cedar wood with an eraser at the end."),
        Item("highlighters-6", "Highlighters, six colours", 690, 88, "Chisel tip, do not smear gel ink."),
        Item("stapler-desk", "Desk stapler", 1290, 54, "Metal, staples up to 25 sheets, takes 24/6 staples."),
        Item("ring-binder-a4", "Ring binder A4", 420, 130, "Four rings, 40 mm spine, recycled board."),
    ),
    "tea": (
        Item("earl-grey-100", "Earl Grey, 100 g", 720, 70, "Black Ceylon tea with bergamot oil, loose leaf."),
        Item(
            "assam-second-flush-100",
            "Assam second flush, 100 g",
            840,
            52,
            "Malty black breakfast tea, loose leaf, good with milk.",
        ),
        Item(
            "darjeeling-first-flush-50",
            "Darjeeling first flush, 50 g",
            1180,
            28,
            "Light and flowery spring picking, loose leaf.",
        ),
        Item(
            "jasmine-green-100",
            "Jasmine green tea, 100 g",
            890,
            47,
            "Green tea scented five times with jasmine blossom.",
        ),
        Item(
            "oolong-tie-guan-yin-50",
            "Tie Guan Yin oolong, 50 g",
            1320,
            24,
            "Lightly roasted oolong for many short infusions.",
        ),
        Item("peppermint-bags-20", "Peppermint tea, 20 bags", 410, 160, "Peppermint leaf without caffeine."),
        Item(
            "chamomile-bags-20",
            "Chamomile tea, 20 bags",
            430,
            145,
            "Whole chamomile flowers without caffeine.",
        ),
        Item(
            "rooibos-vanilla-100",
            "Rooibos with vanilla, 100 g",
            650,
            66,
            "Red bush tea without caffeine, sweet without sugar.",
        ),
        Item("teapot-glass-1l", "Glass teapot, 1 litre", 2850, 19, "Heat-proof glass with a steel strainer."),
    ),
    "books": (
        Item(
            "book-bread-at-home",
            "Bread at Home",
            2200,
            26,
            "Forty loaves from one basic dough, with photographs of every step.",
        ),
        Item(
            "book-first-garden",
            "A First Garden",
            1850,
            31,
            "What to sow, month by month, on ten square metres.",
        ),
        Item(
            "book-birds-of-the-city",
            "Birds of the City",
            1690,
            22,
            "Field guide to 120 birds seen from a window.",
        ),
        Item(
            "book-repairing-bicycles",
            "Repairing Bicycles",
            2450,
            18,
            "From a puncture to a wheel, with drawings and torque tables.",
        ),
        Item(
            "book-night-sky-atlas",
            "Night Sky Atlas",
            3200,
            14,
            "Star charts for both hemispheres and a red reading light.",
        ),
        Item("book-knots", "Fifty Useful Knots", 1250, 40, "Each knot on two pages, with a practice cord."),
        Item(
            "book-short-history-of-paper",
            "A Short History of Paper",
            1490,
            17,
            "Two thousand years from mulberry bark to the copier.",
        ),
        Item("book-plain-letters", "Plain Letters", 1390, 23, "How to write so that people answer."),
    ),
    "tools": (
        Item("hammer-claw-450", "Claw hammer, 450 g", 1990, 36, "Forged head, ash handle."),
        Item(
            "screwdriver-set-8",
            "Screwdriver set, 8 pieces",
            2690,
            42,
            "Slotted, cross and Torx, magnetic tips.",
        ),
        Item("tape-measure-5m", "Tape measure, 5 m", 890, 77, "Locks, with a magnet at the hook."),
        Item(
            "spirit-level-60",
            "Spirit level, 60 cm",
            1750,
            29,
            "Aluminium with three vials, accurate to 0.5 mm/m.",
        ),
        Item("hand-saw-500", "Hand saw, 500 mm", 2150, 21, "Hardened teeth for wood and board."),
        Item(
            "pliers-combination",
            "Combination pliers, 180 mm",
            1590,
            33,
            "Chrome vanadium steel with insulated handles.",
        ),
        Item(
            "cordless-drill-12v",
            "Cordless drill, 12 V",
            8900,
            12,
            "Two batteries, charger and a case; 30 Nm.",
        ),
        Item("work-gloves-m", "Work gloves, size M", 740, 98, "Knitted nylon with a nitrile palm."),
        Item("wood-glue-250", "Wood glue, 250 ml", 560, 84, "Water-resistant (D3), dries clear."),
    ),
    "garden": (
        Item(
            "tomato-seeds-heirloom",
            "Heirloom tomato seeds",
            320,
            200,
            "Five old varieties, 60 seeds, with sowing notes.",
        ),
        Item("basil-seeds", "Basil seeds", 240, 220, "Sweet Genovese basil, 300 seeds."),
        Item(
            "wildflower-mix-100",
            "Wildflower mix, 100 g",
            980,
            58,
            "Annual and perennial flowers for bees, enough for 20 m².",
        ),
        Item("hand-trowel", "Hand trowel", 1340, 46, "Stainless blade with depth marks, oak handle."),
        Item(
            "pruning-shears",
            "Pruning shears",
            2790,
            27,
            "Bypass blade for branches up to 20 mm, every part replaceable.",
        ),
        Item("watering-can-8l", "Watering can, 8 litres", 2250, 20, "Galvanised steel with a brass rose."),
        Item("garden-twine-100", "Garden twine, 100 m", 530, 73, "Jute, rots away on the compost."),
        Item(
            "potting-soil-20l",
            "Potting soil, 20 litres",
            880,
            65,
            "Free of peat, with wood fibre and compost.",
        ),
        Item("bird-feeder-oak", "Bird feeder, oak", 3450, 15, "For seeds and suet, easy to clean."),
    ),
    "japan": (
        Item(
            "sencha-uji-100",
            "Uji sencha, 100 g",
            1800,
            34,
            "Steamed green tea from Kyoto prefecture, loose leaf.",
            "JPY",
        ),
        Item(
            "matcha-ceremonial-30",
            "Ceremonial matcha, 30 g",
            2600,
            25,
            "Stone-ground green tea powder for bowls.",
            "JPY",
        ),
        Item("hojicha-100", "Hojicha, 100 g", 1200, 41, "Roasted green tea, low in caffeine.", "JPY"),
        Item(
            "bamboo-whisk", "Bamboo tea whisk", 2200, 16, "Chasen with 100 bristles, carved by hand.", "JPY"
        ),
        Item(
            "washi-tape-set-10",
            "Washi tape, set of 10",
            1500,
            68,
            "Patterned paper tape, 15 mm wide, lifts off without a trace.",
            "JPY",
        ),
        Item("brush-pen-fude", "Brush pen", 650, 92, "Fude pen with a firm tip and pigment ink.", "JPY"),
        Item(
            "notebook-b6-japan",
            "Notebook B6, fountain pen paper",
            1100,
            57,
            "Smooth 52 g/m² paper that shows every shade of ink.",
            "JPY",
        ),
        Item(
            "origami-paper-300", "Origami paper, 300 sheets", 900, 80, "15 cm squares in 60 colours.", "JPY"
        ),
    ),
}
