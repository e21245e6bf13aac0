"""What the families of look-ups are about: nouns, units and sentences, in English and in Chinese; data alone."""
