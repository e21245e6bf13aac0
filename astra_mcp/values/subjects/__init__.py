"""What things of a trade are like: found by a noun and the words around it, and told of as one thing.

To read in this order: ``finding`` (the subject of a noun, by the tables in ``words/subjects``),
``plain_words`` (those that say little of a trade),
``portraits`` (one thing of it, whose members fit each other). Knows nouns, vocabulary and dice; whoever may
import ``astra_mcp.values`` may import it.
"""
