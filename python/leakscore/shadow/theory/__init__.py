"""Laws of attacks with shadow models: how many are needed, and what needs none."""
