"""The words of the generated catalogue: product groups, what can be true of them, and their variants.

Invariant: within one group no attribute says another one, contains it, or occurs in the group's own words, so that a
product without an attribute never seems to have it.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["BRAND_PARTS", "CLOSINGS", "DIMENSIONS", "GROUPS", "LINE_PARTS", "OPENINGS", "Dimension", "Group"]


@dataclass(frozen=True)
class Dimension:
    """One option of a product.

    Args:
        name: As the item page shows it.
        values: All values that exist, in the order shown.
        step: What each next value adds to the price, as a share of the base price; 0 where all cost the same.
    """

    name: str
    values: tuple[str, ...]
    step: float = 0.0


@dataclass(frozen=True)
class Group:
    """One kind of product.

    Args:
        query: What a customer would search for.
        category: The shop's department.
        path: "A › B › C".
        are: Attributes that stand before the noun ("foldable").
        have: Attributes that follow "with" ("long battery life").
        dimensions: Keys of `DIMENSIONS`.
        dollars: The range of base prices.
        accessory: Another kind of product, sold for this one.
        uses: What titles say it is for.
        ood: Whether the group is kept out of training.
    """

    query: str
    category: str
    path: str
    are: tuple[str, ...]
    have: tuple[str, ...]
    dimensions: tuple[str, ...]
    dollars: tuple[int, int]
    accessory: str
    uses: tuple[str, ...]
    ood: bool = False

    @property
    def attributes(self) -> tuple[str, ...]:
        """All that may be true of a product of the group."""
        return self.are + self.have

    @property
    def is_plural(self) -> bool:
        """Whether the query names several things ("bar stools", not "summer dress")."""
        return self.query.endswith("s") and not self.query.endswith("ss")


def _split(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(","))


BRAND_PARTS = (
    _split("Al,Bren,Cor,Dal,El,Fen,Gal,Har,Il,Jun,Kel,Lor,Mar,Nor,Ol,Pel,Quin,Ros,Sol,Tar,Ul,Ver,Wil,Yor,Zan"),
    _split("adora,bex,cadia,dova,enza,fara,gano,hollow,ista,jona,kara,lux,mira,nelle,ova,para,rino,stead,tova,wynn"),
)
LINE_PARTS = (
    _split("Ae,Bo,Ca,Du,Ei,Fa,Gi,Ho,In,Ja,Ko,La,Mi,Na,Or,Pa,Qui,Re,Si,Te,Um,Va,Xe,Yu,Zo"),
    _split("bal,cen,dri,fel,gan,han,jor,kas,lim,mon,nes,por,ras,sel,tam,vin,wex,yel,zar,thos"),
    _split("a,en,is,o,us,ine,ar,el,ix,um,ya,eth"),
)
OPENINGS = (
    "The {brand} {noun} range is made for everyday use.",
    "The {line} range comes from a small team that listens to its customers.",
    "A good choice for a first order, and a nice gift.",
    "{brand} {line} has been in our shop for years.",
    "Looking for {noun}? {brand} began with exactly that.",
    "Please read all features before you order.",
)
CLOSINGS = (
    "Contact us if anything is not as you expect.",
    "Colors may look different on your screen.",
    "Ships within two days from our own warehouse.",
    "Thirty days to send it back.",
    "Check the choices above before you buy.",
    "Thank you for shopping with {brand}.",
)

DIMENSIONS = {
    "color": Dimension(
        "color",
        _split(
            "black,white,off white,grey,light grey,dark grey,charcoal,blue,navy blue,sky blue,red,wine red,pink,"
            "rose pink,green,forest green,mint green,yellow,orange,purple,brown,beige,tan,silver,gold,rose gold"
        ),
    ),
    "shade": Dimension(
        "color",
        _split(
            "nude,rosewood,coral,berry,plum,classic red,brick red,dusty pink,hot pink,mocha,copper,wine,peach,mauve"
        ),
    ),
    "apparel": Dimension("size", _split("x-small,small,medium,large,x-large,xx-large,3x-large"), 0.06),
    "shoe": Dimension("size", _split("5,5.5,6,6.5,7,7.5,8,8.5,9,9.5,10,10.5,11,12"), 0.0),
    "width": Dimension("width", _split("narrow,regular,wide,x-wide")),
    "ounces": Dimension(
        "size", _split("1 fl oz,1.7 fl oz,3.4 fl oz,6.8 fl oz,8 fl oz,12 fl oz,16 fl oz,32 fl oz"), 0.35
    ),
    "weight": Dimension("size", _split("4 ounce,8 ounce,12 ounce,1 pound,2 pound,3 pound,5 pound"), 0.4),
    "pack": Dimension(
        "quantity", _split("pack of 1,pack of 2,pack of 3,pack of 4,pack of 6,pack of 12,pack of 24"), 0.7
    ),
    "length": Dimension("length", _split("1.5 ft,3 ft,6 ft,6.6 ft,10 ft,15 ft,25 ft,50 ft"), 0.25),
    "storage": Dimension("capacity", _split("32 gb,64 gb,128 gb,256 gb,512 gb,1 tb"), 0.55),
    "charge": Dimension("capacity", _split("5000 mah,10000 mah,15000 mah,20000 mah,26800 mah,30000 mah"), 0.3),
    "rug": Dimension("size", _split("2 ft x 3 ft,3 ft x 5 ft,4 ft x 6 ft,5 ft x 8 ft,6 ft x 9 ft,8 ft x 10 ft"), 0.5),
    "bed": Dimension("size", _split("twin,twin xl,full,queen,king,california king"), 0.2),
    "panel": Dimension("size", _split("42w x 45l,42w x 63l,42w x 84l,52w x 63l,52w x 84l,52w x 95l,52w x 108l"), 0.15),
    "pillow": Dimension("size", _split("12 x 20 inch,16 x 16 inch,18 x 18 inch,20 x 20 inch,24 x 24 inch"), 0.15),
    "inches": Dimension("size", _split("24 inch,30 inch,36 inch,42 inch,48 inch,60 inch,72 inch"), 0.2),
    "tiers": Dimension("style", _split("2 shelves,3 shelves,4 shelves,5 shelves,6 shelves"), 0.25),
    "phone": Dimension("model", _split("nova 11,nova 12,nova 12 mini,nova 12 pro,nova 13,nova 13 pro,nova 13 pro max")),
    "band": Dimension("size", _split("38 mm,40 mm,41 mm,42 mm,44 mm,45 mm,49 mm")),
    "scent": Dimension(
        "scent", _split("lavender,rose,vanilla,citrus,sandalwood,eucalyptus,jasmine,ocean,cedar,unscented")
    ),
    "fruit": Dimension(
        "flavor", _split("apple,apricot,banana,blueberry,cherry,cranberry,mango,peach,pineapple,strawberry")
    ),
    "sweet": Dimension(
        "flavor",
        _split(
            "chocolate,dark chocolate,peanut butter,vanilla,caramel,cinnamon,cookie dough,lemon,mint,salted caramel"
        ),
    ),
    "savory": Dimension(
        "flavor", _split("original,barbecue,chili lime,garlic,jalapeno,sea salt,smoked,teriyaki,sriracha")
    ),
    "roast": Dimension("roast", _split("light roast,medium roast,medium dark roast,dark roast,french roast")),
    "wood": Dimension("color", _split("oak,dark oak,walnut,espresso,natural,rustic brown,black,white,grey,cherry")),
}

# Attributes that any product of a department may have.
_BEAUTY = ("cruelty free,paraben free,dermatologist tested,long lasting,vegan,hypoallergenic", "aloe vera,green tea")
_ELECTRONICS = (
    "easy to install,light weight,heavy duty,dust proof,eco friendly",
    "two year warranty,gold plated parts",
)
_FASHION = ("machine washable,quick drying,wrinkle free,hand made,fade resistant", "reinforced seams,soft lining")
_GARDEN = ("easy to assemble,easy to clean,space saving,heavy duty,stain resistant,eco friendly", "non slip feet")
_GROCERY = ("gluten free,non gmo,kosher certified,dairy free,low sodium,soy free", "natural ingredients,resealable bag")

_COMMON = {
    "beauty": _BEAUTY,
    "electronics": _ELECTRONICS,
    "fashion": _FASHION,
    "garden": _GARDEN,
    "grocery": _GROCERY,
}


def _group(
    query: str,
    category: str,
    path: str,
    are: str,
    have: str,
    dimensions: str,
    dollars: tuple[int, int],
    accessory: str,
    uses: str,
    ood: bool = False,
) -> Group:
    common_are, common_have = _COMMON[category]
    return Group(
        query,
        category,
        path,
        _split(f"{are},{common_are}"),
        _split(f"{have},{common_have}"),
        _split(dimensions),
        dollars,
        accessory,
        _split(uses),
        ood,
    )


# fmt: off
_BEAUTY_GROUPS = (
    _group("face serum", "beauty", "Beauty & Personal Care › Skin Care › Face › Serums", "anti aging,oil free",
           "hyaluronic acid,vitamin c,retinol", "ounces,pack", (9, 45), "dropper bottles",
           "dry skin,all skin types,men"),
    _group("shampoo", "beauty", "Beauty & Personal Care › Hair Care › Shampoo", "sulfate free,color safe",
           "argan oil,tea tree oil,biotin", "scent,ounces", (6, 30), "scalp brushes",
           "curly hair,fine hair,damaged hair"),
    _group("lipstick", "beauty", "Beauty & Personal Care › Makeup › Lips › Lipstick",
           "smudge proof,matte,highly pigmented", "shea butter,jojoba oil", "shade,pack", (5, 28), "makeup pouches",
           "daily wear,parties,the office"),
    _group("body lotion", "beauty", "Beauty & Personal Care › Skin Care › Body › Lotions",
           "fast absorbing,alcohol free", "coconut oil,shea butter,oat extract", "scent,ounces", (6, 26),
           "pump dispensers", "dry skin,winter,the family"),
    _group("sunscreen", "beauty", "Beauty & Personal Care › Skin Care › Sun › Sunscreens",
           "reef safe,sweat proof,oil free", "zinc oxide,vitamin e", "ounces,pack", (7, 32), "beach bags",
           "face and body,kids,sports", ood=True),
    _group("eye cream", "beauty", "Beauty & Personal Care › Skin Care › Eyes › Creams", "anti aging,fragrance free",
           "peptides,caffeine,vitamin k", "ounces,pack", (10, 48), "gel eye masks", "dark circles,puffy eyes,men"),
    _group("nail polish", "beauty", "Beauty & Personal Care › Foot, Hand & Nail › Nail Polish",
           "chip resistant,fast setting,non toxic", "high gloss finish,wide brush", "shade,pack", (4, 18),
           "nail files", "salons,home,gifts"),
    _group("makeup brushes", "beauty", "Beauty & Personal Care › Tools › Makeup Brushes", "synthetic,travel ready",
           "bamboo handles,dense bristles,carrying case", "color,pack", (8, 40), "brush holders",
           "powder,beginners,artists"),
    _group("hair oil", "beauty", "Beauty & Personal Care › Hair Care › Hair Oils", "silicone free,heat protecting",
           "argan oil,castor oil,rosemary", "scent,ounces", (7, 34), "wide tooth combs",
           "frizzy hair,dry ends,beards"),
    _group("bath bombs", "beauty", "Beauty & Personal Care › Bath › Bath Bombs", "hand crafted,slow fizzing",
           "cocoa butter,sea minerals", "scent,pack", (5, 24), "bath pillows", "relaxing,gifts,kids", ood=True),
)
_ELECTRONICS_GROUPS = (
    _group("over ear headphones", "electronics", "Electronics › Headphones › Over-Ear Headphones",
           "noise cancelling,foldable,wireless", "long battery life,stereo sound,built in microphone", "color",
           (25, 160), "replacement ear pads", "travel,studio work,gaming"),
    _group("phone case", "electronics", "Electronics › Cell Phones & Accessories › Cases",
           "shock proof,scratch resistant,ultra slim", "kickstand,card slot,raised edges", "phone,color", (7, 35),
           "screen protectors", "women,work,everyday use"),
    _group("charging cable", "electronics", "Electronics › Computers & Accessories › Cables",
           "fast charging,tangle free,braided", "aluminum connectors,cable tie", "length,color", (6, 28),
           "cable clips", "phones,cars,tablets"),
    _group("portable speaker", "electronics", "Electronics › Portable Audio › Speakers",
           "water resistant,wireless,dual pairing", "deep bass,long battery life,built in microphone", "color",
           (18, 120), "speaker stands", "the beach,parties,camping"),
    _group("memory card", "electronics", "Electronics › Computers & Accessories › Memory Cards",
           "high speed,shock proof,x-ray proof", "adapter,storage box", "storage,pack", (9, 60), "card readers",
           "cameras,drones,phones", ood=True),
    _group("security camera", "electronics", "Electronics › Security › Surveillance Cameras",
           "weather proof,motion activated,battery powered", "night vision,two way audio,high resolution",
           "color,pack", (28, 150), "camera wall mounts", "homes,shops,garages"),
    _group("gaming mouse", "electronics", "Electronics › Computers & Accessories › Mice",
           "programmable,ergonomic,wireless", "rgb lighting,silent buttons,high precision sensor", "color", (15, 90),
           "mouse pads", "laptops,small hands,work"),
    _group("power bank", "electronics", "Electronics › Cell Phones & Accessories › Chargers",
           "fast charging,pocket sized,airline approved", "led display,dual usb ports,flashlight", "charge,color",
           (16, 70), "travel pouches", "phones,hiking,trips"),
    _group("tv wall mount", "electronics", "Electronics › Television & Video › Mounts",
           "full motion,low profile,tool free", "built in level,cable management", "inches,color", (19, 95),
           "mounting screws", "flat screens,corners,bedrooms"),
    _group("smart watch band", "electronics", "Electronics › Wearable Technology › Bands",
           "sweat proof,quick release,breathable", "magnetic clasp,stainless steel buckle", "band,color", (6, 32),
           "watch chargers", "sports,women,men", ood=True),
)
_FASHION_GROUPS = (
    _group("polo shirt", "fashion", "Clothing, Shoes & Jewelry › Men › Shirts › Polos", "slim fit,moisture wicking",
           "short sleeves,button closure,chest pocket", "color,apparel", (12, 55), "shirt stays", "golf,work,men"),
    _group("running shoes", "fashion", "Clothing, Shoes & Jewelry › Women › Shoes › Running",
           "breathable,slip resistant,shock absorbing", "arch support,rubber sole,memory foam", "color,shoe",
           (28, 130), "shoe laces", "women,trails,the gym"),
    _group("yoga leggings", "fashion", "Clothing, Shoes & Jewelry › Women › Active › Leggings",
           "high waisted,squat proof,moisture wicking", "tummy control,side pockets,elastic waist", "color,apparel",
           (14, 60), "yoga mats", "workouts,running,women"),
    _group("winter jacket", "fashion", "Clothing, Shoes & Jewelry › Men › Jackets",
           "water resistant,wind proof,insulated", "detachable hood,zipper pockets,fleece collar", "color,apparel",
           (40, 190), "jacket patches", "skiing,hiking,men"),
    _group("ankle boots", "fashion", "Clothing, Shoes & Jewelry › Women › Shoes › Boots",
           "slip resistant,water resistant", "rubber sole,side zipper,block heel", "color,shoe,width", (32, 140),
           "boot shapers", "women,fall,the office", ood=True),
    _group("summer dress", "fashion", "Clothing, Shoes & Jewelry › Women › Dresses",
           "loose fit,knee length,light weight", "short sleeves,side pockets,elastic waist", "color,apparel",
           (16, 75), "dress straps", "women,vacation,parties"),
    _group("swim trunks", "fashion", "Clothing, Shoes & Jewelry › Men › Swim › Trunks", "knee length,chlorine proof",
           "drawstring closure,mesh liner,zipper pockets", "color,apparel", (13, 48), "swim caps",
           "men,surfing,pools"),
    _group("crossbody bag", "fashion", "Clothing, Shoes & Jewelry › Women › Handbags › Crossbody",
           "water resistant,anti theft,compact", "adjustable strap,vegan leather,card slots", "color", (15, 85),
           "bag charms", "women,travel,concerts"),
    _group("dress socks", "fashion", "Clothing, Shoes & Jewelry › Men › Socks",
           "breathable,odor resistant,moisture wicking", "arch support,cushioned heels", "color,pack,width", (8, 36),
           "sock clips", "men,business,weddings"),
    _group("sun hat", "fashion", "Clothing, Shoes & Jewelry › Women › Accessories › Hats",
           "packable,breathable,wind proof", "wide brim,chin strap,uv protection", "color,apparel", (11, 45),
           "hat boxes", "beach,gardening,women", ood=True),
)
_GARDEN_GROUPS = (
    _group("console table", "garden", "Home & Kitchen › Furniture › Living Room › Console Tables",
           "scratch resistant,narrow bodied", "steel frame,solid wood legs,storage drawers", "wood,inches",
           (60, 260), "table runners", "entryways,hallways,living rooms"),
    _group("bar stools", "garden", "Home & Kitchen › Furniture › Kitchen › Bar Stools",
           "height adjustable,swivel,stackable", "backrest,footrest,faux leather", "color,inches", (45, 220),
           "stool cushions", "kitchens,counters,pubs"),
    _group("area rug", "garden", "Home & Kitchen › Home Decor › Area Rugs",
           "machine washable,non shedding,water repellent", "low pile,rubber backing", "color,rug", (25, 140),
           "rug grippers", "bedrooms,dining rooms,pets"),
    _group("blackout curtains", "garden", "Home & Kitchen › Home Decor › Window Treatments",
           "thermal insulated,machine washable,noise reducing", "grommet tops,tie backs", "color,panel", (15, 70),
           "curtain rods", "bedrooms,nurseries,offices"),
    _group("patio chair", "garden", "Patio, Lawn & Garden › Patio Furniture › Chairs",
           "weather proof,foldable,rust resistant", "arm rests,cup holder,steel frame", "color,pack", (35, 180),
           "chair covers", "decks,pools,camping", ood=True),
    _group("throw pillow covers", "garden", "Home & Kitchen › Bedding › Throw Pillow Covers",
           "machine washable,super soft,double sided", "hidden zipper,tassels,embroidery", "color,pillow,pack",
           (8, 36), "pillow inserts", "sofas,beds,benches"),
    _group("bed frame", "garden", "Home & Kitchen › Furniture › Bedroom › Bed Frames",
           "noise free,low profile,upholstered", "headboard,wood slats,storage drawers", "wood,bed", (90, 380),
           "bed risers", "kids,guest rooms,dorms"),
    _group("floor lamp", "garden", "Home & Kitchen › Lighting › Floor Lamps",
           "dimmable,height adjustable,energy saving", "remote control,linen shade,foot switch", "color", (24, 130),
           "lamp shades", "reading,living rooms,offices"),
    _group("storage ottoman", "garden", "Home & Kitchen › Furniture › Living Room › Ottomans",
           "foldable,tufted,water repellent", "faux leather,solid wood legs,flip top tray", "color,inches",
           (30, 150), "furniture sliders", "toys,blankets,living rooms"),
    _group("bookshelf", "garden", "Home & Kitchen › Furniture › Office › Bookcases",
           "scratch resistant,free standing,wall mounted", "steel frame,glass doors,adjustable feet", "wood,tiers",
           (40, 210), "book ends", "offices,bedrooms,plants", ood=True),
)
_GROCERY_GROUPS = (
    _group("protein bars", "grocery", "Grocery & Gourmet Food › Snacks › Bars",
           "keto friendly,sugar free,high protein", "added fiber,real nuts", "sweet,pack", (8, 42), "shaker bottles",
           "breakfast,workouts,hiking"),
    _group("ground coffee", "grocery", "Grocery & Gourmet Food › Beverages › Coffee",
           "low acid,single origin,fair trade", "smooth finish,arabica beans", "roast,weight", (9, 45),
           "coffee filters", "drip machines,cold brew,offices"),
    _group("herbal tea", "grocery", "Grocery & Gourmet Food › Beverages › Tea",
           "caffeine free,usda organic,hand picked", "real flowers,plastic free sachets", "fruit,pack", (5, 28),
           "tea infusers", "evenings,iced tea,gifts"),
    _group("mixed nuts", "grocery", "Grocery & Gourmet Food › Snacks › Nuts", "unsalted,dry roasted,keto friendly",
           "whole cashews,no peanuts", "savory,weight", (8, 40), "nut bowls", "snacking,baking,lunch boxes"),
    _group("popcorn", "grocery", "Grocery & Gourmet Food › Snacks › Popcorn", "air popped,whole grain,low calorie",
           "real butter,no artificial colors", "savory,pack", (5, 30), "popcorn tubs", "movie nights,kids,parties",
           ood=True),
    _group("beef jerky", "grocery", "Grocery & Gourmet Food › Snacks › Jerky", "grass fed,high protein,sugar free",
           "no added nitrites,lean cuts", "savory,weight", (9, 48), "jerky guns", "hiking,road trips,lunch boxes"),
    _group("granola", "grocery", "Grocery & Gourmet Food › Breakfast › Granola",
           "usda organic,whole grain,low sugar", "real honey,chia seeds,added fiber", "sweet,weight", (6, 34),
           "cereal dispensers", "breakfast,yogurt,snacking"),
    _group("hot sauce", "grocery", "Grocery & Gourmet Food › Sauces › Hot Sauce",
           "sugar free,small batch,extra spicy", "aged peppers,roasted onions", "savory,pack", (5, 26),
           "sauce caddies", "tacos,wings,eggs"),
    _group("dried fruit", "grocery", "Grocery & Gourmet Food › Produce › Dried Fruit",
           "unsweetened,sulfite free,sun dried", "no added oil,added fiber", "fruit,weight", (6, 34), "snack trays",
           "trail mix,baking,kids"),
    _group("rice crackers", "grocery", "Grocery & Gourmet Food › Snacks › Crackers",
           "oven baked,whole grain,low fat", "sesame seeds,seaweed", "savory,pack", (4, 24), "cheese boards",
           "cheese,soups,lunch boxes", ood=True),
)
# fmt: on

# Departments take turns, so that any five groups in a row hold all of them.
GROUPS = tuple(
    group
    for row in zip(_BEAUTY_GROUPS, _ELECTRONICS_GROUPS, _FASHION_GROUPS, _GARDEN_GROUPS, _GROCERY_GROUPS, strict=True)
    for group in row
)
