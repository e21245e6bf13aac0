"""What the families of look-ups are about, and how they ask: nouns, units and sentences in English and in Chinese."""
