"""How a block's relation graph is drawn. Invariant: it depends on nothing but the block's number, size and generator.

Years are drawn before relations, so that teachers are older than students and novels than the films made of them,
whether or not a page states these years.
"""

from __future__ import annotations

import itertools
import random

from agentenv.tasks.search import names
from agentenv.tasks.search.world import BLOCK_SIZE, Block, Entity, Term

__all__ = ["build_block"]

# Share of subjects of which the relation is known; the rest make unanswerable questions.
_KNOWN = 0.9
_LONGEST_LIST = 4
_PROFESSIONS = names.words("architect botanist chemist engineer geologist painter physician surveyor")
# Roles in turn; None is any profession.
_ROLES = ("film director", None, "novelist", None, "actor", None, None)
_TRADES = {
    "film studio": ("Pictures", "Film Works", "Studios"),
    "publisher": ("Press", "Books", "Editions"),
    "maker": ("Cables", "Clocks", "Dyes", "Glass", "Motors", "Optics", "Pumps"),
}


def build_block(number: int, size: int, rng: random.Random) -> Block:
    """The relation graph of a block, without pages.

    Args:
        number: The block's; decides which names it may use.
        size: How many documents it will have.
        rng: All randomness.
    """
    return _Builder(number, size, rng).build()


class _Builder:
    """Draws one block's entities, then relations between them."""

    def __init__(self, number: int, size: int, rng: random.Random) -> None:
        self.block = Block(number)
        self.size = size
        self.rng = rng
        self.years: dict[int, int] = {}

    def build(self) -> Block:
        size = self.size
        self.regions = self._regions(max(3, size // 200))
        self.towns = self._towns(size * 9 // 100)
        self.companies = self._companies(size * 11 // 100)
        novels, films = size * 9 // 100, size * 16 // 100
        events, notes = size * 7 // 100, size // 10
        series = -(-events // len(names.ORDINALS))
        made = sum(map(len, (self.regions, self.towns, self.companies)))
        self.people = self._people(size - made - novels - films - events - series - notes)
        self._works(novels, films)
        self._events(series, events)
        self._places_and_lives()
        self._firms()
        return self.block

    def _add(self, kind: str, name: str, bare: str = "", aliases: tuple[str, ...] = (), role: str = "") -> Entity:
        entity = Entity(len(self.block.entities), kind, name, bare or name, aliases, role)
        self.block.entities.append(entity)
        return entity

    def _state(self, relation: str, subject: Entity, value: Entity | int | str, known: float = _KNOWN) -> None:
        if self.rng.random() < known:
            self.block.facts[relation][subject.index] = value.index if isinstance(value, Entity) else value

    def _numbers(self, per_document: float, count: int) -> list[int]:
        """Numbers of names that belong to this block alone, in random order."""
        share = int(BLOCK_SIZE * per_document)
        numbers = list(range(self.block.number * share, (self.block.number + 1) * share))
        self.rng.shuffle(numbers)
        return numbers[:count]

    def _regions(self, count: int) -> list[Entity]:
        return [self._add("region", names.region_name(number)) for number in self._numbers(0.01, count)]

    def _towns(self, count: int) -> list[Entity]:
        numbers = self._numbers(0.18, 2 * count)
        towns: list[Entity] = []
        while len(towns) < count:
            base = names.town_name(numbers.pop())
            pair = self.rng.choice((("Upper", "Lower"), ("East", "West"), ("Old", "New")))
            twins = [f"{side} {base}" for side in pair] if self.rng.random() < 0.2 else [base]
            for name in twins[: count - len(towns)]:
                former = (names.town_name(numbers.pop()),) if self.rng.random() < 0.2 else ()
                towns.append(self._add("town", name, aliases=former))
        return towns

    def _people(self, count: int) -> list[Entity]:
        families = [names.family_name(number) for number in self._numbers(0.1, count // 4)]
        people: list[Entity] = []
        taken: set[str] = set()
        roles = itertools.cycle(_ROLES)
        while len(people) < count:
            family = self.rng.choice(families)
            bare = f"{self.rng.choice(names.FIRST_NAMES)} {family}"
            if bare in taken:
                continue
            taken.add(bare)
            role, other = next(roles) or self.rng.choice(_PROFESSIONS), self.rng.choice(_PROFESSIONS)
            namesakes = [role, other] if role != other and self.rng.random() < 0.08 else [role]
            for role in namesakes[: count - len(people)]:
                name = f"{bare} ({role})" if len(namesakes) > 1 else bare
                nickname = f"{self.rng.choice(names.NICKNAMES)} {family}"
                aliases: tuple[str, ...] = ()
                if self.rng.random() < 0.3 and nickname not in taken:
                    taken.add(nickname)
                    aliases = (nickname,)
                people.append(self._add("person", name, bare, aliases, role))
                self.years[people[-1].index] = self.rng.randint(1850, 1960)
        return people

    def _companies(self, count: int) -> list[Entity]:
        numbers = self._numbers(0.1, count)
        companies: list[Entity] = []
        while len(companies) < count:
            stem = names.family_name(numbers.pop())
            aliases: tuple[str, ...] = (f"{stem}ex",) if self.rng.random() < 0.3 else ()
            firms = self.rng.sample([(role, trade) for role, trades in _TRADES.items() for trade in trades], 3)
            if len(companies) < len(_TRADES):
                role = list(_TRADES)[len(companies)]
                firms = [(role, self.rng.choice(_TRADES[role]))]
            for role, trade in firms[: min(self.rng.randint(1, 3), count - len(companies))]:
                companies.append(self._add("company", f"{stem} {trade}", aliases=aliases, role=role))
                aliases = ()
        return companies

    def _works(self, novel_count: int, film_count: int) -> None:
        rng = self.rng
        titles = [names.work_title(number) for number in self._numbers(0.25, novel_count + film_count)]
        novel_titles, film_titles = titles[:novel_count], titles[novel_count:]
        sources: dict[int, int] = {}
        order = rng.sample(range(novel_count), novel_count)
        for film in range(film_count):
            if order and rng.random() < 0.4:
                novel = order.pop()
                if rng.random() < 0.75:
                    sources[film] = novel
                if film not in sources or rng.random() < 0.5:  # a namesake, adapted or not
                    film_titles[film] = novel_titles[novel]
        twins = set(novel_titles) & set(film_titles)
        novels = [self._add("novel", f"{title} (novel)" if title in twins else title, title) for title in novel_titles]
        films = [self._add("film", f"{title} (film)" if title in twins else title, title) for title in film_titles]
        writers, directors = self._makers("novelist", novel_count), self._makers("film director", film_count)
        actors = [person for person in self.people if person.role == "actor"]
        houses = [company for company in self.companies if company.role == "publisher"]
        studios = [company for company in self.companies if company.role == "film studio"]
        for novel_page in novels:
            writer = writers.pop()
            self.years[novel_page.index] = self.years[writer.index] + rng.randint(22, 60)
            self._state("author", novel_page, writer)
            self._state("novel_year", novel_page, self.years[novel_page.index])
            self._state("publisher", novel_page, rng.choice(houses))
        for number, film_page in enumerate(films):
            director = directors.pop()
            year = self.years[director.index] + rng.randint(24, 60)
            if number in sources:
                year = max(year, self.years[novels[sources[number]].index] + 1)
            self.years[film_page.index] = year
            self._state("director", film_page, director)
            self._state("film_year", film_page, self.years[film_page.index])
            self._state("studio", film_page, rng.choice(studios))
            self._state("lead", film_page, rng.choice(actors))
            if number in sources:
                self._state("source", film_page, novels[sources[number]], known=1.0)
        for relation in ("director", "author"):
            self._list(relation)

    def _makers(self, role: str, works: int) -> list[Entity]:
        """The people of a role, each as often as a list may be long (longer in tiny worlds only), in random order."""
        people = [person for person in self.people if person.role == role]
        made = people * max(_LONGEST_LIST, -(-works // len(people)))
        self.rng.shuffle(made)
        return made

    def _events(self, series_count: int, event_count: int) -> None:
        series = [self._add("series", names.series_name(number)) for number in self._numbers(0.02, series_count)]
        events: list[list[Entity]] = [[] for _ in series]
        for number in range(event_count):
            which, edition = number % series_count, number // series_count
            page = self._add("event", f"{names.ORDINALS[edition]} {series[which].name}")
            events[which].append(page)
            year = self.years[events[which][-2].index] if edition else self.rng.randint(1880, 1960)
            self.years[page.index] = year + self.rng.randint(1, 12)
            self._state("venue", page, self.rng.choice(self.towns))
            self._state("event_year", page, self.years[page.index])
            self._state("chair", page, self.rng.choice(self.people))
        for page, editions in zip(series, events, strict=True):
            self.block.lists[page.index] = tuple(event.index for event in editions)

    def _places_and_lives(self) -> None:
        rng = self.rng
        for region, town in zip(self.regions, rng.sample(self.towns, len(self.regions)), strict=True):
            self._state("capital", region, town)
        capitals = {town: region for region, town in self.block.facts["capital"].items()}
        rivers = [names.river_name(number) for number in self._numbers(0.02, len(self.towns) // 5 + 1)]
        for town in self.towns:
            if town.index in capitals:  # always stated: it follows from the region's page
                self._state("region", town, self.block.entities[capitals[town.index]], known=1.0)
            else:
                self._state("region", town, rng.choice(self.regions))
            self._state("town_year", town, rng.randint(900, 1700))
            self._state("river", town, rng.choice(rivers))
        places = {company.index: _LONGEST_LIST for company in self.companies}
        for person in self.people:
            year = self.years[person.index]
            self._state("born_in", person, rng.choice(self.towns))
            self._state("born_year", person, year)
            teacher = rng.choice(self.people)
            if self.years[teacher.index] + 15 <= year:
                self._state("mentor", person, teacher)
            firm = rng.choice(self.companies)
            if person.role in _PROFESSIONS and places[firm.index]:
                self._state("employer", person, firm)
                places[firm.index] -= 1
        self._list("employer")

    def _firms(self) -> None:
        rng = self.rng
        heads = [person for person in self.people if person.role in _PROFESSIONS]
        for company in self.companies:
            founded = rng.randint(1870, 1950)
            self._state("founder", company, rng.choice(self.people))
            self._state("company_year", company, founded)
            self._state("seat", company, rng.choice(self.towns))
            if rng.random() < 0.7:
                first, terms = founded + rng.randint(1, 8), []
                for person in rng.sample(heads, min(3, len(heads))):
                    last = first + rng.randint(5, 25)
                    terms.append(Term(person.index, first, last))
                    first = last + 1
                self.block.heads[company.index] = tuple(terms)

    def _list(self, relation: str) -> None:
        members: dict[int, list[int]] = {}
        for subject, value in self.block.facts[relation].items():
            members.setdefault(value, []).append(subject)
        for listed, pages in members.items():
            self.rng.shuffle(pages)
            self.block.lists[listed] = tuple(pages)
