"""How often the confidence bands of simulated releases hold the true prediction."""
