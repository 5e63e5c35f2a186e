"""Word lists that names in generated tasks are drawn from. Invariant: short lowercase ASCII, no word twice in a list.

Changing a list changes the generated tasks, and with them the task set's fingerprint.
"""

# ruff: noqa: SIM905
from __future__ import annotations

__all__ = ["ACCENTED", "CITIES", "DIRECTORIES", "EXTENSIONS", "HOSTS", "SERVICES", "STEMS", "USERS", "WORDS"]

DIRECTORIES = tuple(
    """
    alpha archive assets attic audio backend backup base bench billing blog board books build bundle cabin cache cargo
    catalog cellar central client cloud common config content core corner crate custom daily data delta demo depot
    design desk dist docs draft drop east engine export extra field files final fleet forms frontend garage garden
    gateway general harbor history home hub images import inbox index inner input intake internal kernel kitchen lab
    legacy library live local locker main market media meta mobile module north office old outbox output pages parts
    plans pool portal private project public queue records release remote reports review root sales samples scripts
    server setup shared shop source south spare stage static store studio system target team temp tools tower upload
    vault vendor warehouse web weekly west work yard
    """.split()
)

STEMS = tuple(
    """
    account agenda album answer appendix asset badge balance batch beacon bill booking branch brief budget bulletin
    bundle calendar campaign card chapter chart clause client code column contract counter coupon course cover credit
    customer debit decision delivery deposit device diagram diary digest draft drill entry episode essay event exam
    expense factor figure filter folder forecast formula fragment gallery glossary grade guide handout header hint
    image income index insight invoice item journal key label lease lecture ledger lesson letter license list listing
    loan log manual map margin matrix member memo menu message meter minutes mission model motion note notice offer
    order outline packet page panel paper payment permit phone photo pilot plan player poem policy poster price prize
    profile proof protocol quiz quote rate receipt recipe record refund region register report request result review
    roster route sample schedule score script section series session shift sketch slide song speech staff stock story
    summary supplier survey table target task tax thesis ticket title topic tour tract trend tutorial unit update user
    verse visit voucher wage wish
    """.split()
)

EXTENSIONS = tuple("txt md log csv cfg conf ini dat tmp bak json html rst out list text doc tex yml css".split())

WORDS = tuple(
    """
    acorn amber anchor apple apron arrow autumn badger bamboo banjo basil beacon beaver berry birch bishop blanket
    bottle breeze bridge bronze bucket butter button cactus camel candle canyon carpet carrot castle cedar cherry
    cipher citrus clover cobalt coffee comet copper coral cotton cricket crystal dagger daisy dolphin donkey dragon
    eagle ember falcon feather fennel ferry fiddle fossil fountain galaxy garlic ginger glacier goblin granite
    hammer harvest hazel helmet honey horizon indigo island ivory jacket jasmine jigsaw juniper kettle lantern lemon
    lilac lizard lotus magnet mango maple marble meadow mellow meteor mirror monkey mosaic mustard nectar nickel nutmeg
    oasis olive onyx orbit orchid otter oyster paddle panther parrot peach pebble pepper piano pickle pigeon planet
    plaster pocket pollen poppy prairie puzzle quartz rabbit radish raven ribbon river rocket saddle saffron salmon
    sandal scarlet shadow signal silver sparrow spider spruce squash statue summer sunset thistle thunder timber tomato
    topaz tulip tunnel turnip turtle umbrella valley velvet violet walnut walrus whistle willow window winter wizard
    yellow zephyr zigzag
    """.split()
)

USERS = tuple(
    """
    adam agnes alan alba alex alice amir amy andre anna anton april arlo ava basil bella ben beth boris bruno carla
    carmen celia chloe clara colin daisy dan daria david diego dora dylan edith elena eli elsa emil emma eric ethan
    eva felix fiona flora frank gina grace greta gus hana hanna harry hector helen hugo ida igor ines irene iris isaac
    ivan jack jana jane jasper joan joel john jonas judy julia karl kate kira lara laura lena leo lila linda liam lola
    louis luca lucy luis lydia marco maria mark marta max maya mia mila mona nadia nina noah nora olga olive omar oscar
    otto paul paula pedro peter petra quinn rachel ralph rita robin rosa ruth sam sara simon sofia stella sven tara tess
    theo tina tom uma vera victor viola walter wanda yara zoe
    """.split()
)

CITIES = tuple(
    """
    accra ankara athens bangkok basel bergen berlin bern bogota bonn boston bremen bristol brno cairo calgary cardiff
    chicago cologne cordoba cork dallas delhi denver dublin durban florence geneva genoa ghent glasgow graz hamburg
    hanoi havana helsinki houston istanbul kyoto lagos leeds leipzig lima lisbon london lyon madrid malaga manila milan
    montreal munich nairobi naples nice osaka oslo ottawa oxford padua paris perth porto prague quito riga rome
    rotterdam salzburg seattle seoul seville split sydney tallinn tampa tokyo toronto trieste tunis turin
    utrecht vienna vilnius warsaw york zagreb zurich
    """.split()
)

SERVICES = tuple(
    """
    auth api backup billing broker cache catalog chat checkout cron crawler dns feed fetch gateway geo graph image
    indexer ingest inventory invoice ledger login mailer media metrics monitor notify orders parser payment printer
    profile proxy queue ranker relay render report router scanner scheduler search session shipping signup sync tagger
    upload user video wallet watcher webhook worker
    """.split()
)

HOSTS = tuple(f"{name}{number}" for name in "app db edge mail node web".split() for number in range(1, 17))

ACCENTED = tuple(
    """
    café über naïve señor garçon fenêtre müller Ångström crème déjà brûlée jalapeño piñata smörgås façade élan größe
    straße málaga zürich malmö århus coöperate éclair hôtel forêt français español português österreich Ørsted æther
    """.split()
)
