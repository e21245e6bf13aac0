"""How the families of look-ups ask: questions in English and in Chinese, in several wordings; texts alone."""
