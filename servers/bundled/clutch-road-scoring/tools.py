"""Statistics desk of a fictional basketball league: rosters, game logs and filtered player splits.

Schedules are drawn when the module loads. Box scores are drawn game by game when they are first asked
for, each from its own generator, so that they do not depend on the order of the questions.
"""

import random
from datetime import date, timedelta
from functools import lru_cache

SEASONS = {"2023-24": 2023, "2024-25": 2024, "2025-26": 2025}
DIVISIONS = {
    "Coast": ("Calder Bay Herons", "Port Ansel Tides", "Moray Lights", "Whitsand Gulls"),
    "Inland": ("Dunmere Foxes", "Altona Forge", "Prairie Gate Bisons", "Kessel Rams"),
    "Highland": ("Tarn Summits", "Corrie Eagles", "Strathmoor Stags", "Ben Ulla Thunder"),
}
TEAMS = {team: division for division, teams in DIVISIONS.items() for team in teams}
HOME_GAMES_PER_PAIR = 3
QUARTERS = ("q1", "q2", "q3", "q4")
# Mean of one quarter of a regular starter.
STAT_MEANS = {
    "points": 4.2,
    "rebounds": 1.6,
    "assists": 1.2,
    "steals": 0.35,
    "blocks": 0.25,
    "turnovers": 0.6,
    "fouls": 0.7,
    "three_pointers": 0.6,
    "free_throws": 1.0,
}
_FIRST_NAMES = (
    "Anders Bako Cillian Darnell Emre Farid Gareth Hamza Isko Jovan Kofi Lamar Matti Nico Oren Pavle "
    "Quentin Rasmus Sekou Tariq Uros Vasco Wendell Yannis"
).split()
_LAST_NAMES = (
    "Abara Brandvik Cassimere Dossou Eklund Fairweather Grebow Halloran Ilunga Jurkovic Kestrel Lindqvist "
    "Marchetti Nwadike Ostrander Pellegrin Quaye Rosendahl Sivertsen Tamura Ulvestad Vandermeer Wexford "
    "Yardley Zelenko Ashdown Birkholm"
).split()
ROSTER_SIZE = 9


def _sign_players(rng: random.Random) -> dict:
    """Give each team nine players with a role (share of a quarter played) and a talent per statistic."""
    names = [f"{first} {last}" for first in _FIRST_NAMES for last in _LAST_NAMES]
    players = {}
    for index, name in enumerate(rng.sample(names, ROSTER_SIZE * len(TEAMS))):
        players[name] = {
            "team": list(TEAMS)[index % len(TEAMS)],
            "number": rng.randint(0, 99),
            "role": rng.uniform(0.35, 0.85),
            "talent": {stat: rng.uniform(0.5, 1.7) for stat in STAT_MEANS},
        }
    for team in TEAMS:
        _balance([row for row in players.values() if row["team"] == team])
    return players


def _balance(roster: list) -> None:
    """Put five men on the floor, and let no team outscore the others in the long run."""
    on_floor = sum(row["role"] for row in roster)
    for row in roster:
        row["role"] *= 5 / on_floor
    scoring = sum(row["role"] * row["talent"]["points"] for row in roster)
    for row in roster:
        row["talent"]["points"] *= 5 / scoring


def _schedule(rng: random.Random) -> dict:
    """Draw the games of all seasons: each team hosts each other team three times."""
    games = {}
    for season, year in SEASONS.items():
        pairs = [(h, a) for h in TEAMS for a in TEAMS if h != a] * HOME_GAMES_PER_PAIR
        rng.shuffle(pairs)
        for index, (home, away) in enumerate(pairs):
            day = date(year, 10, 14) + timedelta(days=index * 172 // len(pairs))
            game_id = f"G{year % 100}{index:04d}"
            games[game_id] = {"season": season, "date": str(day), "home": home, "away": away}
    return games


_rng = random.Random(3624)
PLAYERS = _sign_players(_rng)
GAMES = _schedule(_rng)
ROSTERS = {team: [p for p, row in PLAYERS.items() if row["team"] == team] for team in TEAMS}


def list_roster(team: str, sort_by: str = "number") -> dict:
    """List the players of a team with their numbers."""
    if team not in TEAMS:
        raise LookupError(f"no team {team!r}; give its full name, city and nickname")
    rows = [{"player": p, "number": PLAYERS[p]["number"]} for p in ROSTERS[team]]
    rows.sort(key=lambda row: row[sort_by])
    return {"team": team, "division": TEAMS[team], "players": rows}


def get_game_log(player: str, season: str, stat: str = "points", last_games: int = 5) -> dict:
    """List a player's most recent games of a season with one statistic of each."""
    team = _player(player)["team"]
    games = [g for g, row in GAMES.items() if row["season"] == season and _side(row, team)]
    lines = []
    for game_id in games[-last_games:]:
        game, quarters = GAMES[game_id], _box_score(game_id)[player]
        lines.append(
            {
                "game_id": game_id,
                "date": game["date"],
                "opponent": game["away" if game["home"] == team else "home"],
                "venue": _side(game, team),
                "minutes": round(sum(q["minutes"] for q in quarters.values()), 1),
                stat: sum(q[stat] for q in quarters.values()),
            }
        )
    return {"player": player, "team": team, "season": season, "games": lines}


def get_player_split(
    player: str,
    season: str,
    stat: str = "points",
    period: str = "game",
    venue: str = "any",
    opponent_division: str = "any",
    outcome: str = "any",
    max_margin: int = 60,
    rate: str = "per_game",
) -> dict:
    """Aggregate one statistic of a player over the games of a season that pass all filters."""
    team = _player(player)["team"]
    games, minutes, amount = 0, 0.0, 0
    for game_id, game in GAMES.items():
        side = _side(game, team)
        if game["season"] != season or not side or venue not in ("any", side):
            continue
        opponent = game["away" if side == "home" else "home"]
        if opponent_division not in ("any", TEAMS[opponent]):
            continue
        margin = _margin(game_id) * (1 if side == "home" else -1)
        if abs(margin) > max_margin or outcome not in ("any", "win" if margin > 0 else "loss"):
            continue
        quarters = _box_score(game_id)[player]
        chosen = quarters.values() if period == "game" else [quarters[period]]
        games += 1
        minutes += sum(q["minutes"] for q in chosen)
        amount += sum(q[stat] for q in chosen)
    if not games:
        raise LookupError(f"no game of {player} in {season} passes the filters; widen one of them")
    label = stat.replace("_", " ")
    values = {
        "total": f"{amount} {label}",
        "per_game": f"{amount / games:.2f} {label} per game",
        "per_36_minutes": f"{36 * amount / minutes:.2f} {label} per 36 minutes",
    }
    return {
        "player": player,
        "team": team,
        "season": season,
        "games": games,
        "minutes": round(minutes, 1),
        "value": values[rate],
    }


def _player(player: str) -> dict:
    if player not in PLAYERS:
        raise LookupError(f"no player {player!r}; list_roster gives the names of a team")
    return PLAYERS[player]


def _side(game: dict, team: str) -> str:
    return "home" if game["home"] == team else "away" if game["away"] == team else ""


@lru_cache(maxsize=1024)
def _box_score(game_id: str) -> dict:
    """Draw the line of every player of a game: quarter -> minutes and statistics."""
    game = GAMES[game_id]
    rng = random.Random(game_id)
    box = {}
    for team in (game["home"], game["away"]):
        form = rng.uniform(0.94, 1.06)
        for player in ROSTERS[team]:
            box[player] = {quarter: _line(rng, PLAYERS[player], form) for quarter in QUARTERS}
    return box


def _line(rng: random.Random, player: dict, form: float) -> dict:
    minutes = round(12 * min(1.0, player["role"] * rng.uniform(0.6, 1.3)), 1)
    load = form * minutes / 9
    line = {"minutes": minutes}
    for stat, mean in STAT_MEANS.items():
        expected = mean * player["talent"][stat] * load
        line[stat] = int(expected * rng.uniform(0.3, 1.7) + rng.random())
    return line


@lru_cache(maxsize=1024)
def _margin(game_id: str) -> int:
    """Points of the home team less those of the visitors; a tie goes to the home team by one."""
    game, box = GAMES[game_id], _box_score(game_id)
    home, away = (
        sum(q["points"] for p in ROSTERS[game[side]] for q in box[p].values())
        for side in ("home", "away")
    )
    return home - away or 1
